"""Keeping and finding from the command line: what anybody with a key may do, through the client."""

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING

import typer

from keepstone.cli.reach import MAKE_A_KEY, address_of, key_of
from keepstone.errors import KeepstoneError, Misconfigured
from keepstone.settings import read_settings
from keepstone_client import ConnectionFailed, Keepstone, Unauthorized
from keepstone_client import KeepstoneError as Refused
from keepstone_client.capsules import Hit, Mode
from keepstone_client.scopes import Evidence

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_LONGEST_LINE = 200


# Its address, a key, and on whose behalf, as the options say; None: as the settings do.
Server = tuple[str | None, str | None, str | None]


def save(*, server: Server, text: str | None, title: str | None, kind: str, tags: list[str], as_json: bool) -> None:
    content = _given(text)
    with _client(server) as keepstone:
        kept = keepstone.capsules.create(content, title=title, kind=kind, tags=tags)
    if as_json:
        _print(kept)
    else:
        typer.echo(f"{kept.id}  {kept.title}")


def search(*, server: Server, query: str, mode: Mode, limit: int, as_json: bool) -> None:
    with _client(server) as keepstone:
        matches = keepstone.capsules.search(query, mode=mode, limit=limit)
    if as_json:
        _print(matches)
        return
    for hit in matches:
        typer.echo(_line(hit))
    if not matches.items:
        typer.echo("Nothing was found.", err=True)


def recall(
    *, server: Server, scope_id: str, text: str | None, speaker: str, limit: int, max_tokens: int | None, as_json: bool
) -> None:
    said = _given(text)
    with _client(server) as keepstone:
        recalled = keepstone.scopes.recall(scope_id, said, speaker=speaker, limit=limit, max_tokens=max_tokens)
    if as_json:
        _print(recalled)
    elif recalled.evidence:
        typer.echo(recalled.context)
    else:
        typer.echo("Nothing bears on this.", err=True)


def ask(*, server: Server, scope_id: str, question: str | None, as_json: bool) -> None:
    asked = _given(question)
    with _client(server) as keepstone:
        answered = keepstone.scopes.ask(scope_id, asked)
    if as_json:
        _print(answered)
        return
    typer.echo(answered.answer)
    for item in () if answered.abstained else answered.evidence:
        typer.echo(_quote(item))


@contextmanager
def _client(server: Server) -> Generator[Keepstone]:
    """A client, and its errors as those of every other command."""
    url, key, user = server
    if url and not url.startswith(("http://", "https://")):
        raise Misconfigured(f"--url is {url}: give an address such as http://127.0.0.1:8420.")
    settings = read_settings()
    settings = replace(settings, url=url or settings.url, api_key=key or settings.api_key)
    address = address_of(settings)
    try:
        with Keepstone(base_url=address, api_key=key_of(settings), on_behalf_of=user) as keepstone:
            yield keepstone
    except ConnectionFailed:
        raise KeepstoneError(
            f"No Keepstone answers at {address}: start it with `keepstone serve`, or say with --url or KEEPSTONE_URL "
            "where it runs."
        ) from None
    except Unauthorized as fault:
        raise KeepstoneError(
            f"{fault.message} Give a good key with KEEPSTONE_API_KEY or --key: {MAKE_A_KEY}."
        ) from None
    except Refused as fault:
        raise KeepstoneError(fault.message, code=fault.code) from None


def _given(text: str | None) -> str:
    """What stands on the command line, or what is piped in."""
    if text is not None and text != "-":
        return text
    if text is None and sys.stdin.isatty():
        raise KeepstoneError("There is no text: give it as an argument, or pipe it in.")
    read = sys.stdin.read().strip()
    if not read:
        raise KeepstoneError("There is no text on standard input.")
    return read


def _print(value: "DataclassInstance") -> None:
    typer.echo(json.dumps(asdict(value), default=_time, ensure_ascii=False))


def _time(value: object) -> str:
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else str(value)


def _line(hit: Hit) -> str:
    relevance = "" if hit.relevance is None else f"{hit.relevance:.2f}  "
    return f"{hit.id}  {relevance}{hit.title}"


def _quote(item: Evidence) -> str:
    line = " ".join(item.text.split())
    cut = line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…"
    return f"  {item.ts:%Y-%m-%d}  {item.speaker}: {cut}"
