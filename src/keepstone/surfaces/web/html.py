"""Pages as strings. Everything that did not come from this code is escaped."""

from collections.abc import Mapping
from html import escape
from types import SimpleNamespace

from fastapi import Request


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


def spoken(request: Request, words: Mapping[str, tuple[str, str]]) -> SimpleNamespace:
    """Words in English and in Chinese, as the browser asks for: Chinese, if it names that before anything else."""
    first = request.headers.get("accept-language", "").split(",")[0].strip().lower()
    return SimpleNamespace(**{name: both[first.startswith("zh")] for name, both in words.items()})
