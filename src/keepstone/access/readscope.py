"""The one place where a read scope comes from. The database accepts nothing else and checks it again."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Concatenate, ParamSpec, TypeVar

from keepstone.model.principal import Principal, ReadScope, Visibility
from keepstone.services import Services
from keepstone.store.db import Connection

P = ParamSpec("P")
Place = TypeVar("Place")


def account_scope(caller: Principal | int) -> ReadScope:
    """The account's own records (users, keys, audit), and no memory at all; of its spaces those that the caller's key
    reaches. By its number for the server's own work, which nobody's key holds back.
    """
    if isinstance(caller, int):
        return ReadScope(account=caller)
    return ReadScope(account=caller.account, within=caller.reach.spaces)


def space_scope(principal: Principal, *spaces: int) -> ReadScope:
    """Spaces that the caller's own name, or their being a member, led to."""
    return _of(principal, spaces, ("public", "shared", "private"))


def audience_scope(principal: Principal, spaces: Sequence[int], *, private: bool) -> ReadScope:
    """What an agent may read to answer the caller: in a room what is public or shared, alone with one user also what is
    private to the two, but nothing that is public elsewhere.
    """
    seen: tuple[Visibility, ...] = ("private", "shared") if private else ("public", "shared")
    return _of(principal, spaces, seen)


def job_scope(account: int, *spaces: int) -> ReadScope:
    """One space, or one with its parts, for background work on what is in it."""
    return ReadScope(account=account, spaces=spaces, visibilities=("public", "shared", "private"))


def _of(principal: Principal, spaces: Sequence[int], visibilities: tuple[Visibility, ...]) -> ReadScope:
    """Of these spaces the ones that the caller's key reaches, whatever led to them."""
    within = principal.reach.spaces
    reached = tuple(space for space in spaces if within is None or space in within)
    return ReadScope(account=principal.account, spaces=reached, visibilities=visibilities, within=within)


@asynccontextmanager
async def inside(
    services: Services, principal: Principal, find: Callable[Concatenate[Connection, Principal, P], Awaitable[Place]],
    *named: P.args, **more: P.kwargs,
) -> AsyncGenerator[tuple[Connection, Place]]:  # fmt: skip
    """A transaction in what `find` finds for the caller: a room, a chat, a vault. Refused where `find` refuses."""
    async with services.db.transaction(account_scope(principal)) as conn:
        yield conn, await find(conn, principal, *named, **more)
