"""Pages as strings. Everything that did not come from this code is escaped."""

from html import escape


def page(title: str, body: str, *, narrow: bool = False, lang: str = "en") -> str:
    """A whole page around a body that is already HTML."""
    kind = ' class="narrow"' if narrow else ""
    return (
        f'<!doctype html><html lang="{escape(lang)}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} · Cairn</title>"
        '<link rel="icon" href="/static/cairn.svg"><link rel="stylesheet" href="/static/cairn.css">'
        f'</head><body><main{kind}><img class="mark" src="/static/cairn.svg" alt="">{body}</main></body></html>'
    )


def text(value: object) -> str:
    return escape(str(value))
