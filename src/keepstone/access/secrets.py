"""Secrets that we hand out once and keep hashed: API keys, browser sessions, one-time links, invite links.

Each is a tag that says what it is, a public prefix that finds its row, and the secret itself, about 206 random bits.
That many need no slow hash; passwords do, and have one in `passwords`.
"""

import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Literal

from keepstone.model.ids import random_text

Tag = Literal["ck", "cs", "cl", "ci"]  # API key, browser session, one-time link, invite link

_PREFIX_LENGTH = 12
_SECRET_LENGTH = 40
_FORM = re.compile(rf"(ck|cs|cl|ci)_([a-z0-9]{{{_PREFIX_LENGTH}}})([a-z0-9]{{{_SECRET_LENGTH}}})")


@dataclass(frozen=True, slots=True)
class Secret:
    text: str
    prefix: str
    hash: bytes


def new_secret(tag: Tag) -> Secret:
    prefix, secret = random_text(_PREFIX_LENGTH), random_text(_SECRET_LENGTH)
    return Secret(f"{tag}_{prefix}{secret}", prefix, _hash(secret))


def parse_secret(tag: Tag, text: str) -> Secret | None:
    """What the caller showed, taken apart; None when it can't be one of ours."""
    parts = _FORM.fullmatch(text)
    if parts is None or parts[1] != tag:
        return None
    return Secret(text, parts[2], _hash(parts[3]))


def same_hash(first: bytes, other: bytes) -> bool:
    """Compares in a time that tells nothing."""
    return hmac.compare_digest(first, other)


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
