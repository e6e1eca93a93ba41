"""How many capsules there are: in all, by month, kind, project and tag, among those that are meant."""

from collections.abc import Sequence
from dataclasses import dataclass

from keepstone.access.readscope import account_scope
from keepstone.access.require import require_user
from keepstone.memory.capsule_words import NO_PROJECT, meant
from keepstone.memory.capsules import look_into_vault
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import capsules as store
from keepstone.store import projects, users


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    value: str
    count: int


async def count_by(
    services: Services, principal: Principal, by: store.CountedBy, wanted: store.CapsuleFilter
) -> list[Counted]:
    """By month (2026-11, of the user's time zone), the latest first; else the most first. What is in no project of
    theirs is in `none`.
    """
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        wanted = await meant(conn, principal, wanted)
        user = await users.get(conn, user_id)
        own = await projects.ids_of(conn, user_id) if by == "project" else []
        vault = await look_into_vault(conn, principal)
        zone = user.timezone if user else "UTC"
        counted = await services.views.at(
            (principal.account, vault.space, "counts", by, zone, wanted), vault.revision,
            lambda: store.count_by(conn, vault.space, wanted, by, zone=zone),
            size=lambda counts: 200 * len(counts) + 500,
        )  # fmt: skip
    if by == "project":
        counted = _in_projects(counted, own)
    return [Counted(value=value, count=count) for value, count in counted]


async def ids_of(services: Services, principal: Principal, wanted: store.CapsuleFilter) -> list[str]:
    """Of all that are meant, the newest first."""
    async with services.db.transaction(account_scope(principal)) as conn:
        wanted = await meant(conn, principal, wanted)
        return await store.ids_of(conn, (await look_into_vault(conn, principal)).space, wanted)


def _in_projects(counted: Sequence[tuple[str, int]], own: Sequence[str]) -> list[tuple[str, int]]:
    inside = [(project, count) for project, count in counted if project in own]
    outside = sum(count for project, count in counted if project not in own)
    return [*inside, (NO_PROJECT, outside)] if outside else inside
