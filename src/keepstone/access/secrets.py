"""Secrets that we hand out once and keep hashed: API keys, browser sessions, one-time links, invite links.

Each is a tag that says what it is, a public prefix that finds its row, and the secret itself, about 206 random bits.
That many need no slow hash; passwords do, and have one in `passwords`.

The prefix also says in which account the row is, so that nobody has to look for it in all of them: on a distributed
database they lie on different machines. Not in plain sight, so that nobody reads off how many accounts there are.
"""

import hashlib
import hmac
import re
import string
from dataclasses import dataclass
from typing import Literal

from keepstone.model.ids import random_text

Tag = Literal["ck", "cs", "cl", "ci"]  # API key, browser session, one-time link, invite link

_PREFIX_LENGTH = 12
_ACCOUNT_LENGTH = 7  # digits of an account's number in base 36
_DIGITS = string.digits + string.ascii_lowercase
_NUMBERS = 2**32
_SCATTER = 2_654_435_761  # odd, so that each number has another that leads back to it
_GATHER = pow(_SCATTER, -1, _NUMBERS)
_SECRET_LENGTH = 40
_FORM = re.compile(rf"(ck|cs|cl|ci)_([a-z0-9]{{{_PREFIX_LENGTH}}})([a-z0-9]{{{_SECRET_LENGTH}}})")


@dataclass(frozen=True, slots=True)
class Secret:
    text: str
    prefix: str
    hash: bytes


def new_secret(tag: Tag, account: int) -> Secret:
    prefix = random_text(_PREFIX_LENGTH - _ACCOUNT_LENGTH) + mark_of(account)
    secret = random_text(_SECRET_LENGTH)
    return Secret(f"{tag}_{prefix}{secret}", prefix, _hash(secret))


def parse_secret(tag: Tag, text: str) -> Secret | None:
    """What the caller showed, taken apart; None when it can't be one of ours."""
    parts = _FORM.fullmatch(text)
    if parts is None or parts[1] != tag:
        return None
    return Secret(text, parts[2], _hash(parts[3]))


def account_in(text: str) -> int | None:
    """Of which account the mark is that a text ends with. Secrets of the first edition have none: what stands there is
    any number, or none.
    """
    try:
        number = int(text[-_ACCOUNT_LENGTH:], len(_DIGITS)) * _GATHER % _NUMBERS
    except ValueError:
        return None
    return number if number < _NUMBERS // 2 else None


def same_hash(first: bytes, other: bytes) -> bool:
    """Compares in a time that tells nothing."""
    return hmac.compare_digest(first, other)


def mark_of(account: int) -> str:
    """What says to us, and to nobody else at a glance, which account it is."""
    number, digits = account * _SCATTER % _NUMBERS, ""
    for _ in range(_ACCOUNT_LENGTH):
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
