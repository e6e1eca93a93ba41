"""An archive as it goes out: a zip that is written while it is read, of JSON or of Markdown, a few hundred kilobytes of
it in memory at a time.
"""

import asyncio
import json
import zipfile
from collections.abc import AsyncGenerator
from datetime import datetime
from typing import IO, Any, Literal, cast

from keepstone.access.audit import record as audit
from keepstone.access.readscope import account_scope, space_scope
from keepstone.access.require import require_user
from keepstone.memory.archive_markdown import Pages
from keepstone.memory.archive_out import file_name, head, records
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import archives

Form = Literal["json", "markdown"]
_ENOUGH = 256 * 1024  # bytes that are compressed, or handed on, together


async def export(services: Services, principal: Principal, form: Form) -> AsyncGenerator[bytes]:
    """The whole of it, piece by piece."""
    user_id = require_user(principal)
    begun = await head(services, principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        await audit(conn, principal, "archive.export", user_id, format=form)
    out = _ZipStream()
    made = _as_json(services, principal, out, begun) if form == "json" else _as_markdown(services, principal, out)
    async for _ in made:
        while len(out.held) >= _ENOUGH:
            yield out.take()
    await asyncio.to_thread(out.finish)
    yield out.take()


async def _as_json(
    services: Services, principal: Principal, out: "_ZipStream", begun: dict[str, Any]
) -> AsyncGenerator[None]:
    """`archive.json` says whose it is; then a file of lines for each kind of place; then what was uploaded."""
    await out.write("archive.json", to_json(begun).encode())
    files: list[tuple[int, str, int]] = []
    async for record in records(services, principal):
        if record.file is not None:
            files.append((record.space, *record.file))
        else:
            await out.write(f"{record.part}.jsonl", to_json(record.data).encode() + b"\n")
        yield
    for space, document_id, version in files:
        async with services.db.transaction(space_scope(principal, space)) as conn:
            data = await archives.original(conn, document_id, version)
        if data is not None:
            await out.write(file_name(document_id, version), data)
            yield


async def _as_markdown(services: Services, principal: Principal, out: "_ZipStream") -> AsyncGenerator[None]:
    """A file for each thing, to be read by a person; uploaded files beside them."""
    pages = Pages(me=require_user(principal))
    async for record in records(services, principal):
        if record.file is not None:
            document_id, version = record.file
            async with services.db.transaction(space_scope(principal, record.space)) as conn:
                data = await archives.original(conn, document_id, version)
            if data is not None:
                await out.write(pages.beside(document_id, version), data)
        else:
            for name, text in pages.of(record):
                await out.write(name, text.encode())
        yield


class _ZipStream:
    """A zip whose beginning is gone while its end is not yet written. Files come one after the other; what is written
    to one several times in a row is one file.
    """

    def __init__(self) -> None:
        self.held = bytearray()
        # A file, as far as a zip writes to it.
        self._zip = zipfile.ZipFile(cast("IO[bytes]", _Sink(self.held)), "w", zipfile.ZIP_DEFLATED)
        self._name = ""
        self._file: IO[bytes] | None = None
        self._waiting = bytearray()

    async def write(self, name: str, data: bytes) -> None:
        if name != self._name:
            await asyncio.to_thread(self._begin, name)
        self._waiting += data
        if len(self._waiting) >= _ENOUGH:
            await asyncio.to_thread(self._compress)

    def take(self) -> bytes:
        taken = bytes(self.held)
        self.held.clear()
        return taken

    def finish(self) -> None:
        self._end()
        self._zip.close()

    def _begin(self, name: str) -> None:
        self._end()
        self._name, self._file = name, self._zip.open(name, "w", force_zip64=True)

    def _compress(self) -> None:
        if self._file is not None:
            self._file.write(self._waiting)
        self._waiting.clear()

    def _end(self) -> None:
        self._compress()
        if self._file is not None:
            self._file.close()
            self._file = None


class _Sink:
    """What a zip is written to that can't be read or gone back in."""

    def __init__(self, held: bytearray) -> None:
        self._held = held

    def write(self, data: bytes) -> int:
        self._held += data
        return len(data)

    def flush(self) -> None:
        pass


def to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    raise TypeError(f"{type(value).__name__} has no place in an archive")
