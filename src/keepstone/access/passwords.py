"""Passwords: argon2id, in a thread and few at a time, because hashing is slow on purpose."""

import asyncio
import threading
import unicodedata

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from keepstone.errors import Invalid

SHORTEST, LONGEST = 8, 1024

_at_once = threading.BoundedSemaphore(2)  # 19 MB each

# Verified when there is no such user, so that the answer takes as long.
_NOBODY = "$argon2id$v=19$m=19456,t=2,p=1$j6kanJTKxE6Br8lbKDuSvg$Q0WpBP/l+wpcKM/HdSerYG3S5sVWlraqb35/mSOlSCs"


async def hash_password(hasher: PasswordHasher, password: str) -> str:
    if not SHORTEST <= len(password) <= LONGEST:
        raise Invalid(f"A password has {SHORTEST} to {LONGEST} characters.")
    return await asyncio.to_thread(_hash, hasher, _normal(password))


async def verify_password(hasher: PasswordHasher, stored: str | None, password: str) -> bool:
    """Whether it is the one; without a stored one the answer is no, after the same time."""
    return await asyncio.to_thread(_verify, hasher, stored, _normal(password))


def _hash(hasher: PasswordHasher, password: str) -> str:
    with _at_once:
        return hasher.hash(password)


def _verify(hasher: PasswordHasher, stored: str | None, password: str) -> bool:
    try:
        with _at_once:
            return hasher.verify(stored or _NOBODY, password) and stored is not None
    except (VerificationError, InvalidHashError):
        return False


def _normal(password: str) -> str:
    return unicodedata.normalize("NFKC", password)
