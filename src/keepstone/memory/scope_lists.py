"""What scopes there are, and what was said in one: lists, page by page. What was said is never rewritten."""

from dataclasses import replace
from datetime import datetime

from keepstone.access.readscope import account_scope, space_scope
from keepstone.model.message import KeptMessage
from keepstone.model.page import Page, PageRequest, cut_page, number_in
from keepstone.model.principal import Principal
from keepstone.model.scope import Scope
from keepstone.services import Services
from keepstone.store import messages, spaces
from keepstone.store.db import enter


async def list_scopes(
    services: Services, principal: Principal, page: PageRequest, *, q: str | None = None
) -> Page[Scope]:
    """The caller's, the newest first; with `q`, those whose name has it in it."""
    number = number_in(page)
    after = (page.after[0], number) if page.after and number is not None else None
    async with services.db.transaction(account_scope(principal)) as conn:
        rows = await spaces.scopes(conn, principal.user_id, after=after, limit=page.limit + 1, named=q)
        await enter(conn, space_scope(principal, *(scope.space for scope in rows)))
        last = await messages.last_times(conn, [scope.space for scope in rows])
        people = await messages.speakers(conn, [scope.space for scope in rows])
    found = [replace(scope, last_at=last.get(scope.space), people=people.get(scope.space, 0)) for scope in rows]
    return cut_page(found, page, lambda scope: (scope.created_at, str(scope.space)))


async def list_messages(
    services: Services, principal: Principal, scope_id: str, page: PageRequest, *, speaker: str | None = None,
    since: datetime | None = None, until: datetime | None = None, at_message: str | None = None,
    latest_first: bool = False,
) -> Page[KeptMessage]:  # fmt: skip
    """In the order in which they were said, or backwards; of the same moment, in which they came. Of a scope in which
    nobody has said anything there are none. `at_message`: it and what follows, or backwards what was before it.
    """
    number = number_in(page)
    after = (page.after[0], number) if page.after and number is not None else None
    async with services.db.transaction(account_scope(principal)) as conn:
        space = await spaces.find(conn, kind="scope", name=scope_id, owner=principal.user_id)
        if space is None:
            return Page(items=[], next_cursor=None)
        await enter(conn, space_scope(principal, space))
        said = await messages.page(
            conn, space, after=after, limit=page.limit + 1, speaker=speaker, since=since, until=until,
            start=at_message, latest_first=latest_first,
        )  # fmt: skip
    return cut_page(said, page, lambda message: (message.at, str(message.seq)))
