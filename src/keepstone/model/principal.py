"""Who is calling, and what they may see now."""

from dataclasses import dataclass
from typing import Literal

from keepstone.model.plan import Rate

Via = Literal["key", "session", "jwt", "cli", "job", "webhook"]
Role = Literal["owner", "member"]
Visibility = Literal["public", "shared", "private"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The one thing operations know about the caller.

    `user_id` is None for a service key that named no user: it then speaks for the account alone. And for work that
    nobody in particular caused.

    `acting`: a service key that named the user. It may what is a user's with their memories, and no more: neither
    their place in the account or on the server comes with the name, nor the right to change how they sign in.
    """

    account: int
    account_id: str
    user_id: str | None
    role: Role = "member"
    is_admin: bool = False
    acting: bool = False
    via: Via
    credential_id: str | None = None
    rate: Rate = Rate()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadScope:
    """The account, the spaces in it and the visibilities that a transaction may touch.

    `access.readscope` makes it, the store hands it to the database, and row-level security holds every statement to
    it. Without spaces it reaches the account's own records and no memory.
    """

    account: int
    spaces: tuple[int, ...] = ()
    visibilities: tuple[Visibility, ...] = ()
