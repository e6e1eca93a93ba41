"""Who is calling, and what they may see now."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, get_args

from keepstone.errors import Forbidden
from keepstone.model.plan import Rate

Via = Literal["key", "session", "jwt", "cli", "job", "webhook"]
Role = Literal["owner", "member"]
Visibility = Literal["public", "shared", "private"]
Permission = Literal["read", "write"]
# What a key can be limited to: the ways in, by what is kept behind them.
KeySurface = Literal[
    "capsules", "workspaces", "openai", "rooms", "projects", "facts", "graphs", "scopes", "stores", "mem0", "traces",
    "account",
]  # fmt: skip
KEY_SURFACES: tuple[KeySurface, ...] = get_args(KeySurface)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How far a credential reaches of what its user may; without limits, all of it.

    `spaces` are the numbers of those that it was limited to, with their parts.
    """

    permission: Permission = "write"
    surfaces: frozenset[KeySurface] | None = None
    spaces: frozenset[int] | None = None

    @property
    def whole(self) -> bool:
        return self == Reach()

    @property
    def nothing(self) -> bool:
        """Of an owner or admin who has yet to set up the second factor that this server asks of them."""
        return self.surfaces is not None and not self.surfaces

    def require_write(self) -> None:
        if self.permission != "write":
            raise Forbidden("This key may only read: use one that may write.", code="read_only_key")


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
    reach: Reach = Reach()
    timezone: str = "UTC"  # of the account: in which dates are told
    credential_expires_at: datetime | None = None  # of a key, or of a token that was minted with one

    @property
    def reader(self) -> str:
        """As whom they read traces: themselves; without a user, the account."""
        return self.user_id or self.account_id

    @property
    def by_service_key(self) -> bool:
        """The service key itself, which can name anybody of the account. A token that it minted for somebody is theirs
        and no more.
        """
        return self.acting and self.via == "key"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadScope:
    """The account, the spaces in it and the visibilities that a transaction may touch.

    `access.readscope` makes it, the store hands it to the database, and row-level security holds every statement to
    it. Without spaces it reaches the account's own records and no memory. `within` is what a key is limited to: spaces
    that are not in it, or part of one that is, are not there. None is no limit. `reader` is whose traces are there: a
    user, or the account by its id.
    """

    account: int
    spaces: tuple[int, ...] = ()
    visibilities: tuple[Visibility, ...] = ()
    within: frozenset[int] | None = None
    reader: str | None = None

    @property
    def bare(self) -> "ReadScope":
        """The account's own records, and nothing of its spaces."""
        return replace(self, spaces=(), visibilities=(), within=None, reader=None)

    @property
    def whole(self) -> "ReadScope":
        """All that is in these spaces, whoever may see it: to read or make their numbers, never to show their texts."""
        return replace(self, visibilities=get_args(Visibility), within=None)
