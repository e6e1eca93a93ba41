"""What a key's owner has kept, taken out: the JSON archive as the server streams it, or a folder of Markdown files."""

import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import httpx2

from keepstone.errors import Conflict, Unauthenticated, Unavailable
from keepstone.importers.archive import ARRAYS, names_of
from keepstone.importers.front import written
from keepstone.importers.stream import members
from keepstone.importers.text import fields

_PATH = "/v1/memory/export"


async def export_json(client: httpx2.AsyncClient, key: str, path: Path) -> int:
    """Whole or not at all. Returns its size in bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    size = 0
    try:
        async with client.stream("GET", _PATH, headers={"Authorization": f"Bearer {key}"}) as answer:
            if answer.status_code == 401:
                raise Unauthenticated("The server does not take this key.")
            if answer.status_code != 200:
                raise Unavailable(f"The server answers {answer.status_code} to {_PATH}.")
            part.touch(mode=0o600)
            with part.open("wb") as file:
                async for piece in answer.aiter_bytes():
                    size += file.write(piece)
    except httpx2.TransportError as fault:
        part.unlink(missing_ok=True)
        raise Unavailable(f"The export broke off ({type(fault).__name__}): run it again.") from None
    part.replace(path)
    return size


async def export_markdown(client: httpx2.AsyncClient, key: str, folder: Path) -> int:
    """A file for each capsule, those of the trash and the cold tier in folders of their own. Returns how many."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Conflict(f"{folder} is there and not empty: name a new folder.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        archive_path = part / "archive.json"
        await export_json(client, key, archive_path)
        count = _unpack(archive_path, part / "capsules")
        if folder.exists():
            folder.rmdir()
        (part / "capsules").rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return count


def _unpack(archive: Path, folder: Path) -> int:
    folder.mkdir(mode=0o700)
    count, projects = 0, dict[str, str]()
    with archive.open("rb") as file:
        for name, value in members(file, archive.name, ARRAYS):
            if name == "projects":
                projects = names_of(value)
            if name not in ARRAYS:
                continue
            capsule = fields(value)
            place = folder / _place(capsule)
            place.mkdir(exist_ok=True)
            text = written(capsule, projects.get(str(capsule.get("project_id"))))
            (place / _file_name(capsule)).write_bytes(text.encode())
            count += 1
    return count


def _place(capsule: dict[str, Any]) -> str:
    return "trash" if capsule.get("deleted_at") else "cold" if capsule.get("cold_at") else ""


def _file_name(capsule: dict[str, Any]) -> str:
    """To be read, and never that of another: the end of the id is part of it."""
    words = re.sub(r"[^\w-]+", "-", str(capsule.get("title") or "")).strip("-.").lower()
    return f"{words[:60].encode()[:150].decode(errors='ignore') or 'capsule'}-{str(capsule['id'])[-8:]}.md"
