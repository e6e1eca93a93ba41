"""Ids: a prefix that says what it is, and 24 random letters and digits."""

import re
import secrets
import string
from typing import Literal, get_args

Kind = Literal[
    "acct", "usr", "key", "cap", "mem", "node", "edge", "msg", "chat", "ws", "proj", "graph", "room", "thr", "fact",
    "sum", "lmk", "doc", "art", "qry", "ses", "aud", "spc", "item", "stmt", "trc", "inv", "imp", "lnk",
]  # fmt: skip

KINDS: tuple[Kind, ...] = get_args(Kind)
_ALPHABET = string.ascii_lowercase + string.digits
# The letter that each random byte stands for. Those beyond the last whole alphabet would make some letters likelier.
_BEYOND = bytes(range(256 - 256 % len(_ALPHABET), 256))
_LETTERS = bytes(ord(_ALPHABET[byte % len(_ALPHABET)]) for byte in range(256))
_BODY = r"[a-z0-9]{24}"


def random_text(length: int) -> str:
    """Unguessable text of the alphabet that ids and secrets share: 5.17 bits a character."""
    letters = b""
    while len(letters) < length:  # once, but for one time in millions
        letters += secrets.token_bytes(length + 8).translate(_LETTERS, _BEYOND)
    return letters[:length].decode()


def new_id(kind: Kind) -> str:
    return f"{kind}_{random_text(24)}"


def pattern(kind: Kind) -> str:
    """The regular expression of this kind's ids, without anchors."""
    return f"{kind}_{_BODY}"


def is_any_id(text: str) -> bool:
    return re.fullmatch(rf"(?:{'|'.join(KINDS)})_{_BODY}", text) is not None


def is_id(kind: Kind, text: str) -> bool:
    return re.fullmatch(pattern(kind), text) is not None
