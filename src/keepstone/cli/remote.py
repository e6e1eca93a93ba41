"""Keeping and finding from the command line: what anybody with a key may do, through the client."""

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from keepstone.cli.options import Json
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


app = typer.Typer()

Text = Annotated[str | None, typer.Argument(metavar="[TEXT]", help="Left out, or -: from standard input.")]
Scope = Annotated[str, typer.Argument(metavar="SCOPE", help="Which conversation.")]
Url = Annotated[str | None, typer.Option("--url", help="Of the server, instead of KEEPSTONE_URL.")]
ApiKey = Annotated[str | None, typer.Option("--key", help="Instead of KEEPSTONE_API_KEY, or of the owner's key.")]
OnBehalfOf = Annotated[str | None, typer.Option("--user", help="With a service key: for whom, by id or e-mail.")]


@app.command()
def save(
    text: Text = None,
    title: Annotated[str | None, typer.Option(help="Left out, one is made.")] = None,
    kind: Annotated[str, typer.Option(help="decision, thought, answer, note, or your own.")] = "note",
    tag: Annotated[list[str] | None, typer.Option(help="May be given several times.")] = None,
    url: Url = None,
    key: ApiKey = None,
    user: OnBehalfOf = None,
    as_json: Json = False,
) -> None:
    content = _given(text)
    with _client(url, key, user) as keepstone:
        kept = keepstone.capsules.create(content, title=title, kind=kind, tags=tag or [])
    if as_json:
        _print(kept)
    else:
        typer.echo(f"{kept.id}  {kept.title}")


@app.command()
def search(
    query: Annotated[str, typer.Argument(metavar="QUERY")],
    mode: Annotated[Mode, typer.Option(help="By words, by meaning, or both.")] = "hybrid",
    limit: Annotated[int, typer.Option(min=1, max=200)] = 10,
    min_relevance: Annotated[
        float | None, typer.Option(min=0, max=1, help="Leave out what is less relevant; 0 shows everything.")
    ] = None,
    url: Url = None,
    key: ApiKey = None,
    user: OnBehalfOf = None,
    as_json: Json = False,
) -> None:
    with _client(url, key, user) as keepstone:
        matches = keepstone.capsules.search(query, mode=mode, limit=limit, min_relevance=min_relevance)
    if as_json:
        _print(matches)
        return
    for hit in matches:
        typer.echo(_line(hit))
    if not matches.items:
        typer.echo("Nothing was found.", err=True)


@app.command()
def recall(
    scope: Scope,
    text: Text = None,
    speaker: Annotated[str, typer.Option(help="Who says it.")] = "user",
    limit: Annotated[int, typer.Option(min=1, max=100)] = 10,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="At most so long.")] = None,
    url: Url = None,
    key: ApiKey = None,
    user: OnBehalfOf = None,
    as_json: Json = False,
) -> None:
    said = _given(text)
    with _client(url, key, user) as keepstone:
        recalled = keepstone.scopes.recall(scope, said, speaker=speaker, limit=limit, max_tokens=max_tokens)
    if as_json:
        _print(recalled)
    elif recalled.evidence:
        typer.echo(recalled.context)
    else:
        typer.echo("Nothing bears on this.", err=True)


@app.command()
def ask(
    scope: Scope, question: Text = None, url: Url = None, key: ApiKey = None, user: OnBehalfOf = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    asked = _given(question)
    with _client(url, key, user) as keepstone:
        answered = keepstone.scopes.ask(scope, asked)
    if as_json:
        _print(answered)
        return
    if answered.abstained:
        typer.echo("Nothing that was said in this scope answers it.", err=True)
        return
    typer.echo(answered.answer)
    for item in answered.evidence:
        typer.echo(_quote(item))


@contextmanager
def _client(url: str | None, key: str | None, user: str | None) -> Generator[Keepstone]:
    """A client, and its errors as those of every other command. None: as the settings say."""
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
