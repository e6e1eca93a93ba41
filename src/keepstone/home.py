"""`KEEPSTONE_HOME`: the one folder with everything that is Keepstone's, and the secrets in it.

The folder is 0700 and each secret 0600. Nothing outside it is touched, and no parent's mode is changed.
"""

import hmac
import os
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from keepstone.errors import Conflict, Misconfigured
from keepstone.model.ids import random_text

# What belongs to the database and not to the machine: it goes with it wherever it is restored.
SECRETS = ("jwt-secret", "owner-key", "providers-key")

_MARKS = {"postgres-password", "jwt-secret"}  # by them we know a home of Keepstone's


def running_as_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def ensure_home(home: Path) -> None:
    """Make the folder, or make sure that the one there is ours and private."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make_private(home)
    except (FileExistsError, NotADirectoryError):
        raise Misconfigured(f"KEEPSTONE_HOME is {home}, which is not a folder: name another.") from None
    except OSError as fault:
        raise Misconfigured(
            f"KEEPSTONE_HOME is {home}, and this user may not write there ({fault.strerror}): set KEEPSTONE_HOME to a "
            "folder of your own, or run as the user who made it."
        ) from None


def secret(home: Path, name: str, *, length: int = 48) -> str:
    """The secret of this name, made on first use. Of two processes that make it at once, both get the first's."""
    try:
        return (home / name).read_text().strip()
    except FileNotFoundError:
        keep_secret(home, name, random_text(length), replace=False)
        return (home / name).read_text().strip()
    except PermissionError:
        raise Misconfigured(f"{home / name} belongs to another user: run Keepstone as the user who made it.") from None


def fingerprint(secret: str) -> bytes:
    """What may be seen of a secret by whoever compares it with another."""
    return hmac.digest(secret.encode(), b"keepstone fingerprint", "sha256")[:16]


def keep_secret(home: Path, name: str, value: str, *, replace: bool = True) -> Path:
    """Write `value` to a file of mode 0600, whole or not at all."""
    path = home / name
    handle, temporary = tempfile.mkstemp(dir=home, prefix=f".{name}.")  # mode 0600 from the start
    try:
        with os.fdopen(handle, "w") as file:
            file.write(value + "\n")
            file.flush()
            os.fsync(file.fileno())
        _like_home(home, temporary)
        if replace:
            Path(temporary).replace(path)
        else:
            try:
                path.hardlink_to(temporary)
            except FileExistsError:
                return path
        return path
    finally:
        Path(temporary).unlink(missing_ok=True)


def kept_secrets(home: Path) -> dict[str, str]:
    """Those of the home that belong to its database."""
    try:
        return {name: (home / name).read_text().strip() for name in SECRETS if (home / name).exists()}
    except PermissionError as fault:
        raise Misconfigured(
            f"{fault.filename} belongs to another user: run Keepstone as the user who made it."
        ) from None


def refuse_other_secrets(home: Path, secrets: Mapping[str, str]) -> None:
    """Those of another database would be lost."""
    for name, value in kept_secrets(home).items():
        if secrets.get(name, value) != value:
            raise Conflict(
                f"{home} has a {name} of another Keepstone: name another KEEPSTONE_HOME, or give up what is in this "
                "one (--replace)."
            )


@contextmanager
def staged_secrets(home: Path, secrets: Mapping[str, str], *, alone: bool = False) -> Generator[Callable[[], None]]:
    """They are on the disk, and what this gives puts them in their places. With `alone` those of the home that are not
    among them go.
    """
    staged = {name: f"{name}.restored" for name in SECRETS if name in secrets}

    def take() -> None:
        for name, beside in staged.items():
            (home / beside).replace(home / name)
        for name in SECRETS:
            if alone and name not in staged:
                (home / name).unlink(missing_ok=True)

    try:
        for name, beside in staged.items():
            keep_secret(home, beside, secrets[name])
        yield take
    finally:
        for beside in staged.values():
            (home / beside).unlink(missing_ok=True)


def _make_private(home: Path) -> None:
    """Close a folder that is empty or Keepstone's already. Any other is in use: nobody shall be locked out of /srv."""
    if home.stat().st_mode & 0o777 == 0o700:
        return
    there = {path.name for path in home.iterdir()} - {"lost+found"}
    if there and there.isdisjoint(_MARKS):
        raise Misconfigured(
            f"KEEPSTONE_HOME is {home}, where other things are and others may look: name a folder of its own. If this "
            f"one is for Keepstone alone, chmod 700 {home}."
        )
    home.chmod(0o700)


def _like_home(home: Path, path: str) -> None:
    """What root writes into somebody's home stays readable to them."""
    if running_as_root():
        owner = home.stat()
        os.chown(path, owner.st_uid, owner.st_gid)
