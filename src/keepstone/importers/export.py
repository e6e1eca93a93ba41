"""What a key's owner has, taken out: the archive of everything as the server streams it, or a folder of Markdown."""

import shutil
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

import httpx2

from keepstone.errors import Conflict, Unauthenticated, Unavailable

_PATH = "/v1/export"


async def export_json(client: httpx2.AsyncClient, key: str, path: Path, *, form: str = "json") -> int:
    """Whole or not at all. Returns its size in bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    size = 0
    try:
        headers = {"Authorization": f"Bearer {key}"}
        async with client.stream("GET", _PATH, headers=headers, params={"format": form}) as answer:
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
    """A folder for each place, a file for each thing. Returns how many files."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Conflict(f"{folder} is there and not empty: name a new folder.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        packed = part / "archive.zip"
        await export_json(client, key, packed, form="markdown")
        count = _unpack(packed, part / "pages")
        if folder.exists():
            folder.rmdir()
        (part / "pages").rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return count


def _unpack(packed: Path, folder: Path) -> int:
    """Below the folder and nowhere else, whatever a server calls its files."""
    folder.mkdir(mode=0o700)
    with zipfile.ZipFile(packed) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        for name in names:
            place = folder.joinpath(*(part for part in PurePosixPath(name).parts if part not in {"/", "..", "."}))
            place.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(name) as source, place.open("wb") as target:
                shutil.copyfileobj(source, target)
    return len(names)
