"""Pages as strings. Everything that did not come from this code is escaped."""

from html import escape


def page(title: str, body: str, *, narrow: bool = False, lang: str = "en") -> str:
    """A whole page around a body that is already HTML."""
    kind = ' class="narrow"' if narrow else ""
    return (
        f'<!doctype html><html lang="{escape(lang)}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} · Keepstone</title>"
        '<link rel="icon" href="/static/keepstone.svg"><link rel="stylesheet" href="/static/keepstone.css">'
        f'</head><body><main{kind}><img class="mark" src="/static/keepstone.svg" alt="">{body}</main></body></html>'
    )


def text(value: object) -> str:
    return escape(str(value))
