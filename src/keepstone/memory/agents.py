"""Agents: who they are, how much they read at once, and what they are told. They are the account's."""

from typing import Any

from keepstone.access.audit import record
from keepstone.access.readscope import account_scope
from keepstone.access.require import may_change, require_maker
from keepstone.errors import Conflict, Forbidden, NotFound
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import Principal
from keepstone.model.room import Agent
from keepstone.services import Services
from keepstone.store import agents as store
from keepstone.store.db import Connection


async def create(
    services: Services, principal: Principal, *, slug: str, name: str, context_window: int, instructions: str
) -> Agent:
    now = services.clock()
    agent = Agent(
        slug=slug, name=name, context_window=context_window, instructions=instructions, created_by=principal.user_id,
        created_at=now, updated_at=now,
    )  # fmt: skip
    async with services.db.transaction(account_scope(principal)) as conn:
        gone = await store.get(conn, slug, deleted=True)
        if gone is not None and not may_change(services, principal, gone.created_by):
            raise Conflict(f"{slug} was an agent that somebody else made and that may come back: take another slug.")
        if not await store.insert(conn, agent):
            raise Conflict(f"There is an agent {slug} in this account already: change it, or take another slug.")
        await record(conn, principal, "agent.create", slug)
    return agent


async def list_agents(services: Services, principal: Principal, page: PageRequest) -> Page[Agent]:
    async with services.db.transaction(account_scope(principal)) as conn:
        return await store.page(conn, page)


async def get(services: Services, principal: Principal, slug: str) -> Agent:
    async with services.db.transaction(account_scope(principal)) as conn:
        return await find_agent(conn, slug)


async def update(services: Services, principal: Principal, slug: str, changes: dict[str, Any]) -> Agent:
    """By whoever made it, or an owner of the account."""
    async with services.db.transaction(account_scope(principal)) as conn:
        require_maker(services, principal, (await find_agent(conn, slug)).created_by)
        known = {name: value for name, value in changes.items() if value is not None}
        if known:
            await store.update(conn, slug, **known, changed_by=principal.user_id, updated_at=services.clock())
            await record(conn, principal, "agent.update", slug, fields=",".join(sorted(known)))
        return await find_agent(conn, slug)


async def delete(services: Services, principal: Principal, slug: str) -> None:
    """It answers nowhere any more. What it remembered stays where it is; made again, it is there again."""
    async with services.db.transaction(account_scope(principal)) as conn:
        require_maker(services, principal, (await find_agent(conn, slug)).created_by)
        await store.update(conn, slug, deleted_at=services.clock())
        await record(conn, principal, "agent.delete", slug)


async def find_agent(conn: Connection, slug: str) -> Agent:
    agent = await store.get(conn, slug)
    if agent is None:
        raise NotFound("There is no such agent in this account.")
    return agent


def require_voice(services: Services, principal: Principal, agent: Agent) -> None:
    """Who speaks as an agent: whoever made it, owners of the account and admins, and a service key, as the program that
    runs the agent.
    """
    allowed = principal.is_admin or principal.by_service_key or may_change(services, principal, agent.created_by)
    if not allowed:
        raise Forbidden(
            "Only whoever made this agent, or an owner of the account, speaks as it; a program does with a service key."
        )
