"""Imports: a file that somebody uploads becomes what they remember, as a job that can be watched and cancelled.

The bytes lie in the database until it is over, so that whichever process has the job can read them. A job that is cut
off begins again: what has arrived is noted, and what is sent twice is there once.
"""

import asyncio
import re
import shutil
import tempfile
import time
import zipfile
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from keepstone.access.audit import record
from keepstone.access.principals import worker_for
from keepstone.access.readscope import account_scope
from keepstone.access.require import require_found, require_user
from keepstone.errors import Conflict, Invalid, KeepstoneError, Malformed, NotFound, TooLarge, Unavailable
from keepstone.importers.archive import whose
from keepstone.importers.bundle import open_bundle
from keepstone.importers.delivery import Delivery, Into
from keepstone.importers.detect import check_source, source_of
from keepstone.importers.items import ArchivedRecord, Gauge, Item, Reading
from keepstone.importers.report import Report
from keepstone.importers.sources import SOURCES
from keepstone.memory.archive_forms import FORMS, checked
from keepstone.memory.archive_in import ArchiveReader
from keepstone.memory.import_target import Arrived, OwnTarget
from keepstone.memory.projects import require_project
from keepstone.model.ids import new_id
from keepstone.model.importing import Import, ImportOptions
from keepstone.model.page import Page, PageRequest
from keepstone.model.plan import Rate
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import imports as store
from keepstone.store import users

AT_ONCE = 3  # imports of one user that wait or run
RECORDS = 100  # of an archive that count as one write
PART = 1024 * 1024  # bytes of an upload that go to the database together
LARGEST_FILE = 256 * 1024 * 1024  # bytes of an uploaded file in an archive
LARGEST_ELEMENT = 32 * 1024 * 1024  # characters of one conversation, or whatever stands alone in a file
_TELL_EVERY = 0.5  # seconds after which the database is told how far it is, and asked whether to go on
_MISSING = "There is no such import."
_UNSAFE = re.compile(r"[^\w .,()+-]")
# What a reader stumbles over in a file that has another form than it should.
_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, OSError, EOFError,
               zipfile.BadZipFile)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class NewImport:
    """`pieces` are the bytes of the file. Without a source it is found out from what is in them."""

    pieces: AsyncIterable[bytes]
    name: str
    source: str | None = None
    dry_run: bool = False
    options: ImportOptions = field(default_factory=ImportOptions)


async def create(services: Services, principal: Principal, new: NewImport) -> Import:
    """Take the file and add the job. What is no file of such a source is refused at once, as far as its beginning shows
    it.
    """
    user_id = require_user(principal)
    if new.source is not None and new.source not in SOURCES:
        raise _malformed("source", f"is one of {', '.join(SOURCES)}, or left out")
    try:
        Into.parse(new.options.into)
    except Invalid as fault:
        raise _malformed("into", fault.message) from None
    async with services.db.transaction(account_scope(principal)) as conn:
        await require_project(conn, principal, new.options.project_id)
        _require_turn(await store.unfinished(conn, user_id))
    import_id = new_id("imp")
    rate = {"by_key": principal.rate.by_key, "by_account": principal.rate.by_account}
    async with _folder(services) as folder:
        path = folder / _plain_name(new.name)
        size = await _receive(services, new.pieces, path)
        source = await asyncio.to_thread(_detected, path, new.source)
        async with services.db.transaction(account_scope(principal)) as conn:
            services.disk.require_room()
            _require_turn(await store.unfinished(conn, user_id))
            await store.insert(
                conn, import_id, user_id=user_id, source=source, name=path.name, size_bytes=size, dry_run=new.dry_run,
                options=asdict(new.options) | rate,
            )  # fmt: skip
            with path.open("rb") as file:
                part = 0
                while data := await asyncio.to_thread(file.read, PART):
                    await store.add_part(conn, import_id, part, data)
                    part += 1
            await services.queue.add(
                conn, "run_import", account=principal.account, one_by_one=f"import {user_id}", user_id=user_id,
                import_id=import_id,
            )  # fmt: skip
            await record(conn, principal, "import.create", import_id, source=source, dry_run=new.dry_run)
            return require_found(await store.get(conn, user_id, import_id), _MISSING)


async def get(services: Services, principal: Principal, import_id: str) -> Import:
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        return require_found(await store.get(conn, user_id, import_id), _MISSING)


async def list_imports(services: Services, principal: Principal, page: PageRequest) -> Page[Import]:
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        return await store.page(conn, user_id, page)


async def cancel(services: Services, principal: Principal, import_id: str) -> Import:
    """What was brought in until then stays. One that is over is as it was."""
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        require_found(await store.get(conn, user_id, import_id), _MISSING)
        if await store.finish(conn, import_id, "cancelled"):
            await record(conn, principal, "import.cancel", import_id)
        return require_found(await store.get(conn, user_id, import_id), _MISSING)


# ------------------------------------------------------------------------------------------------ the job


class _Cancelled(Exception):
    pass


async def run(
    services: Services, account: int, user_id: str, import_id: str, *, tell_every: float = _TELL_EVERY
) -> None:
    """Bring it in, from the beginning or from where it was cut off."""
    principal = worker_for(account, user_id)
    async with services.db.transaction(account_scope(account)) as conn:
        wanted = await store.begin(conn, import_id, user_id)
        reader = await users.get(conn, user_id)
    if wanted is None:
        return
    options = ImportOptions(**wanted.options)
    principal = replace(principal, rate=Rate(by_key=options.by_key, by_account=options.by_account))
    report, gauge = Report(), Gauge(largest=LARGEST_ELEMENT)
    told = time.monotonic()

    async def tick(*, now: bool = False) -> None:
        nonlocal told
        if now or time.monotonic() - told >= tell_every:
            told = time.monotonic()
            async with services.db.transaction(account_scope(account)) as conn:
                if not await store.tell(conn, import_id, report.as_json(), gauge.done, gauge.total):
                    raise _Cancelled

    outcome, fault = "done", None
    try:
        async with _folder(services) as folder:
            path = folder / _plain_name(wanted.name)
            await _fetch(services, account, import_id, path)
            reading = Reading(
                path=str(path), me=options.me, tools=options.tools, of=options.of, dates=options.dates, gauge=gauge,
                language=reader.language if reader else "en", zone=reader.timezone if reader else "UTC",
            )  # fmt: skip
            await _bring(services, principal, wanted, options, reading, report, tick)
            await tick(now=True)
    except _Cancelled:
        outcome = "cancelled"
    except Unavailable:
        raise  # it goes on when that is there again
    except KeepstoneError as raised:
        outcome, fault = "failed", raised
    async with services.db.transaction(account_scope(account)) as conn:
        await store.finish(
            conn, import_id, outcome, code=fault.code if fault else None, error=fault.message if fault else None,
            report=report.as_json(),
        )  # fmt: skip
        await record(conn, principal, f"import.{outcome}", import_id, written=report.written.total())


async def _bring(
    services: Services, principal: Principal, wanted: Import, options: ImportOptions, reading: Reading, report: Report,
    tick: Callable[[], Awaitable[None]],
) -> None:  # fmt: skip
    into = Into.parse(options.into)
    delivery: Delivery | None = None
    target = OwnTarget(services, principal)
    if not wanted.dry_run:
        delivery = Delivery(
            server=target,
            journal=await Arrived.load(services, principal, wanted.source, into.place or "", into.name),
            report=report, source=wanted.source, whose=require_user(principal), into=into,
            project_id=options.project_id,
        )  # fmt: skip
    archive: ArchiveReader | None = None
    async for item in _items(SOURCES[wanted.source](reading), wanted.source):
        if delivery is None:
            report.count(item)
            report.sample(item)
        elif isinstance(item, ArchivedRecord):
            report.count(item)
            if report.read.total() % RECORDS == 1:  # as many as others write with one request
                await target.turn()
            archive = archive or await _archive(services, principal, reading, report)
            await _take_record(archive, item, report)
        else:
            await delivery.take(item)
        await tick()
    if archive is not None:
        await archive.flush()
    if delivery is not None:
        await delivery.finish()


async def _archive(services: Services, principal: Principal, reading: Reading, report: Report) -> ArchiveReader:
    def read(name: str) -> bytes | None:
        with open_bundle(reading.file) as bundle:
            if bundle.sizes.get(name, LARGEST_FILE + 1) > LARGEST_FILE:
                return None
            with bundle.open(name) as file:
                return file.read()

    def whose_it_is() -> str:
        with open_bundle(reading.file) as bundle:
            return whose(bundle)

    async def open_file(name: str) -> bytes | None:
        return await asyncio.to_thread(read, name)

    return ArchiveReader(services, principal, report, await asyncio.to_thread(whose_it_is), open_file)


async def _take_record(archive: ArchiveReader, item: ArchivedRecord, report: Report) -> None:
    """What is not as it should be is left out, with the reason; a full quota ends the import."""
    kind = str(item.data["record"])
    try:
        if kind == "part":
            await archive.enter_part(str(item.data.get("of") or ""))
        elif kind in FORMS:
            await archive.take(kind, checked(FORMS[kind], item.data))
    except (Invalid, TooLarge, NotFound, Conflict) as fault:
        report.leave(f"refused: {fault.message}", item.place)


async def _items(items: Iterator[Item], source: str) -> AsyncGenerator[Item]:
    """Read in a thread of its own, always the same one: SQLite wants that."""
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="import") as thread:
        while True:
            try:
                item = await loop.run_in_executor(thread, next, items, None)
            except _UNREADABLE:
                raise Invalid(f"This can't be read as {source}: it has another form, or is damaged.") from None
            if item is None:
                return
            yield item


# ------------------------------------------------------------------------------------------------ files


@asynccontextmanager
async def _folder(services: Services) -> AsyncGenerator[Path]:
    """For one file, which is gone with it."""
    uploads = services.settings.home / "uploads"
    uploads.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, dir=uploads))
    try:
        yield folder
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def forget_files(home: Path, *, before: float) -> None:
    """What a process that was killed has left behind."""
    for folder in (home / "uploads").glob("*"):
        if folder.stat().st_mtime < before:
            shutil.rmtree(folder, ignore_errors=True)


async def _receive(services: Services, pieces: AsyncIterable[bytes], path: Path) -> int:
    most, size = services.settings.max_import_bytes, 0
    with path.open("wb") as file:
        async for piece in pieces:
            size += len(piece)
            if size > most:
                raise TooLarge("The file is larger than this server imports at once (KEEPSTONE_MAX_IMPORT_BYTES).")
            await asyncio.to_thread(file.write, piece)
    if not size:
        raise _malformed("file", "is empty: send the export as the body, or as the part `file` of a form")
    return size


async def _fetch(services: Services, account: int, import_id: str, path: Path) -> None:
    with path.open("wb") as file:
        part = 0
        while True:
            async with services.db.transaction(account_scope(account)) as conn:
                data = await store.part(conn, import_id, part)
            if data is None:
                return
            await asyncio.to_thread(file.write, data)
            part += 1


def _detected(path: Path, source: str | None) -> str:
    try:
        if source is None:
            return source_of(path)
        check_source(path, source)
    except _UNREADABLE:
        raise Invalid("This file can't be read: it is damaged, or no export.") from None
    return source


def _plain_name(name: str) -> str:
    """To be read, and never more than the name of a file in its folder."""
    plain = _UNSAFE.sub("_", name.replace("\\", "/").rpartition("/")[2]).strip(" .")
    return plain[-100:].strip(" .") or "upload"


def _require_turn(unfinished: int) -> None:
    if unfinished >= AT_ONCE:
        raise Conflict(f"{AT_ONCE} imports of yours are on their way: wait for one to end, or cancel it.")


def _malformed(name: str, problem: str) -> Malformed:
    return Malformed(f"{name} {problem}.".replace("..", "."), fields={name: problem})
