"""backup and restore: everything there is to a file, and from it."""

import asyncio
import fcntl
import os
import shutil
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from keepstone.cli.options import Json
from keepstone.cli.run import in_loop, quiet_settings, show
from keepstone.errors import Conflict, DiskFull, Invalid, Misconfigured
from keepstone.frames import FRAME, SHORTEST_PASSPHRASE, FrameReader, FrameWriter, written_whole
from keepstone.home import ensure_home, kept_secrets, refuse_other_secrets, staged_secrets
from keepstone.runtime import make_disk, open_postgres
from keepstone.settings import Settings
from keepstone.store.dump import Inventory, Snapshot, snapshot
from keepstone.store.load import Loaded, loaded, make_haste
from keepstone.store.migrate import migrate

_INVENTORY, _TABLE, _ROWS = b"i", b"t", b"r"
_STREAM = "-"
_CHECKING = "checking"  # a folder of the home, in which a backup is restored to see whether that works

_NO_ROOM_TO_WRITE = "The disk of the database is nearly full: write the backup to another. Nothing of it was kept."
_NO_ROOM_TO_RESTORE = "The disk is nearly full: make room, and restore once more. Nothing was restored."
_NO_ROOM_TO_CHECK = (
    "The disk of the data folder is nearly full: check the backup where there is room, with another KEEPSTONE_HOME."
)

app = typer.Typer()

Backup = Annotated[str, typer.Argument(metavar="FILE", help="- is standard output, or standard input.")]
PassphraseFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="Its first line is the passphrase; - is standard input. Else KEEPSTONE_BACKUP_PASSPHRASE."
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What is in the file, and whether it was restored to see that it can be."""

    file: str
    bytes: int
    tables: int
    rows: int
    encrypted: bool
    checked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """`indexes` of large spaces are made by jobs. `left_out` are tables that are none of Keepstone's."""

    made_at: str
    keepstone: str
    tables: int
    rows: int
    indexes: int
    secrets: list[str]
    left_out: list[str]


@app.command()
def backup(
    file: Backup,
    check: Annotated[bool, typer.Option("--check", help="Then restore it, elsewhere, and compare.")] = False,
    passphrase_file: PassphraseFile = None,
    as_json: Json = False,
) -> None:
    settings = quiet_settings()
    passphrase = _passphrase(settings, passphrase_file)
    if file == _STREAM:
        if check:
            raise Invalid("What goes to standard output can't be checked here: `keepstone restore --check` does it.")
        if sys.stdout.isatty():
            raise Invalid("A backup is nothing for a terminal: send it to a file or a program.")
        in_loop(_write(settings, sys.stdout.buffer, passphrase))
        return
    path = Path(file).expanduser().absolute()
    if not path.parent.is_dir() or (path.exists() and not path.is_file()):
        raise Misconfigured(f"{path} can't be written: name a file in a folder that is there, or - for a pipe.")
    with written_whole(path) as opened:
        inventory = in_loop(_write(settings, opened, passphrase, path.parent))
    if check:
        in_loop(_check(settings, path, passphrase))
    made = Made(
        file=str(path), bytes=path.stat().st_size, tables=len(inventory.tables), rows=inventory.rows,
        encrypted=passphrase is not None, checked=check,
    )  # fmt: skip
    if as_json:
        show(made, as_json=True)
        return
    typer.echo(
        f"{made.rows:,} rows of {made.tables} tables are in {path}, {made.bytes:,} bytes"
        f"{', encrypted' if made.encrypted else ''}{'; restored and found to be the same' if check else ''}."
    )


@app.command()
def restore(
    file: Backup,
    check: Annotated[bool, typer.Option("--check", help="Restore it elsewhere and compare; change nothing.")] = False,
    replace_all: Annotated[
        bool, typer.Option("--replace", help="Give up all that is there for what is in the backup.")
    ] = False,
    passphrase_file: PassphraseFile = None,
    as_json: Json = False,
) -> None:
    settings = quiet_settings()
    if file == _STREAM == passphrase_file:
        raise Invalid("Backup and passphrase can't both come from standard input: name a file for one of them.")
    passphrase = _passphrase(settings, passphrase_file)
    work = (
        _check(settings, file, passphrase) if check else _restore(settings, file, passphrase, replace_all=replace_all)
    )
    done = in_loop(work)
    if as_json:
        show(done, as_json=True)
        return
    typer.echo(
        f"{done.rows:,} rows of {done.tables} tables, as they were at {done.made_at} in Keepstone {done.keepstone}, "
        f"{'were restored elsewhere and are the same: the backup is good' if check else 'are restored'}."
    )
    if done.left_out:
        typer.secho(f"Left out, for they are none of Keepstone's: {', '.join(done.left_out)}.", err=True)
    if done.indexes and not check:
        typer.echo(f"{done.indexes} large spaces get their index from jobs; until then, searching them takes longer.")


# --- to a file --------------------------------------------------------------------------------------------------------


async def _write(settings: Settings, file: BinaryIO, passphrase: str | None, folder: Path | None = None) -> Inventory:
    async with (
        open_postgres(settings) as (conninfo, _),
        snapshot(conninfo, kept_secrets(settings.home)) as taken,
    ):
        require_room = _room(settings, folder, _NO_ROOM_TO_WRITE) if folder else lambda: None
        writer = await asyncio.to_thread(FrameWriter, file, passphrase)
        async for kind, content in _frames(taken):
            require_room()
            await asyncio.to_thread(writer.write, kind, content)
        await asyncio.to_thread(writer.finish)
        return taken.inventory


async def _frames(taken: Snapshot) -> AsyncGenerator[tuple[bytes, bytes]]:
    """The rows of a table in pieces that fit, whatever a row takes."""
    yield _INVENTORY, taken.inventory.as_json()
    for table in taken.inventory.tables:
        yield _TABLE, table.name.encode()
        waiting = bytearray()
        async for row in taken.rows_of(table):
            waiting += row
            while len(waiting) >= FRAME:
                yield _ROWS, bytes(waiting[:FRAME])
                del waiting[:FRAME]
        if waiting:
            yield _ROWS, bytes(waiting)


# --- from a file ------------------------------------------------------------------------------------------------------


@contextmanager
def _opened(file: str | Path) -> Generator[BinaryIO]:
    if file == _STREAM:
        yield sys.stdin.buffer
        return
    try:
        opened = Path(file).expanduser().open("rb")
    except OSError as fault:
        raise Misconfigured(f"{file} can't be read ({fault.strerror}).") from None
    with opened:
        yield opened


def _inventory(reader: FrameReader) -> Inventory:
    frame = reader.read()
    if frame is None or frame[0] != _INVENTORY:
        raise Invalid("This backup is damaged: it does not say what is in it.", code="damaged")
    return Inventory.parse(frame[1])


async def _pieces(reader: FrameReader, require_room: Callable[[], None]) -> AsyncIterator[tuple[str, bytes]]:
    """To the end of the file: whoever has them all has seen that it is whole."""
    table = ""
    while (frame := await asyncio.to_thread(reader.read)) is not None:
        kind, content = frame
        if kind == _TABLE:
            table = content.decode()
        elif kind == _ROWS:
            require_room()
            yield table, content
        else:
            raise Invalid("This backup is damaged: it has parts that are none.", code="damaged")


async def _restore(settings: Settings, file: str, passphrase: str | None, *, replace_all: bool) -> Restored:
    with _opened(file) as opened:
        reader = FrameReader(opened, passphrase)
        inventory = _inventory(reader)  # before anything is started
        ensure_home(settings.home)
        if not replace_all:
            refuse_other_secrets(settings.home, inventory.secrets)
        async with open_postgres(settings) as (conninfo, _):
            require_room = _room(settings, settings.home, _NO_ROOM_TO_RESTORE)
            with staged_secrets(settings.home, inventory.secrets, alone=replace_all) as take:
                async with loaded(conninfo, inventory, _pieces(reader, require_room), replace=replace_all) as done:
                    pass
                take()
            await migrate(conninfo, roles_url=settings.app_database_url)  # the roles can log in
    return _told(inventory, done)


async def _check(settings: Settings, file: str | Path, passphrase: str | None) -> Restored:
    """In an embedded Postgres of its own, which is gone afterwards."""
    with _opened(file) as opened:
        reader = FrameReader(opened, passphrase)
        inventory = _inventory(reader)
        ensure_home(settings.home)
        with _place_apart(settings.home / _CHECKING) as place:
            apart = replace(settings, home=place, database_url=None, app_database_url=None)
            require_room = _room(apart, place, _NO_ROOM_TO_CHECK)
            async with open_postgres(apart) as (conninfo, _):
                await make_haste(conninfo)
                async with loaded(conninfo, inventory, _pieces(reader, require_room)) as done:
                    pass
    return _told(inventory, done)


@contextmanager
def _place_apart(folder: Path) -> Generator[Path]:
    """An empty folder for one at a time. What one that was killed has left goes first."""
    folder.mkdir(mode=0o700, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict("Another backup is being checked: wait for it.") from None
        for left in folder.iterdir():
            shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(handle)


def _told(inventory: Inventory, done: Loaded) -> Restored:
    return Restored(
        made_at=inventory.made_at, keepstone=inventory.keepstone, tables=len(inventory.tables) - len(done.left_out),
        rows=inventory.rows, indexes=done.indexes, secrets=sorted(inventory.secrets), left_out=done.left_out,
    )  # fmt: skip


# --- both -------------------------------------------------------------------------------------------------------------


def _room(settings: Settings, folder: Path, told: str) -> Callable[[], None]:
    """On the disk of the database, what is kept back there is left alone."""
    disk = make_disk(settings)
    if folder.stat().st_dev != settings.home.stat().st_dev:
        return lambda: None

    def require() -> None:
        space = disk.look()  # None where the database is elsewhere
        if space is not None and space.state == "full":
            raise DiskFull(told)

    return require


def _passphrase(settings: Settings, file: str | None) -> str | None:
    if file is None:
        return settings.backup_passphrase
    try:
        text = sys.stdin.readline() if file == _STREAM else Path(file).expanduser().read_text()
    except (OSError, UnicodeDecodeError):
        raise Misconfigured(f"The passphrase in {file} can't be read.") from None
    passphrase = next(iter(text.splitlines()), "")
    if len(passphrase) < SHORTEST_PASSPHRASE:
        raise Invalid(f"A passphrase has at least {SHORTEST_PASSPHRASE} characters.")
    return passphrase
