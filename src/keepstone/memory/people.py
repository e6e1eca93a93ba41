"""What is known of people in a scope, looked at and corrected: listed with the message it was read out of, changed,
taken back and brought back, each change a version and a line in the audit trail.

Messages stay as they were said. What somebody corrected or took back is not read out of the same message again, and
what said the same before goes with it: it would come up again from there.
"""

from collections.abc import Mapping
from typing import Any

from keepstone.access.audit import record_each
from keepstone.access.readscope import account_scope, space_scope
from keepstone.access.require import require_found
from keepstone.engine.people.statements import statements
from keepstone.engine.quotation import own_words
from keepstone.errors import Malformed
from keepstone.model.memory import restorable, restorable_since
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import Principal
from keepstone.model.statement import KnownStatement, StatementVersion
from keepstone.services import Services
from keepstone.store import spaces
from keepstone.store import statements as store
from keepstone.store.db import Connection, enter

_MISSING = "There is no such statement in this scope."


async def list_statements(
    services: Services, principal: Principal, scope_id: str, page: PageRequest, *, speaker: str | None = None,
    superseded: bool = False, deleted: bool = False,
) -> Page[KnownStatement]:  # fmt: skip
    """What is known of whom, said last first; or what can be brought back, taken back last first."""
    async with services.db.transaction(account_scope(principal)) as conn:
        space = await _enter(conn, principal, scope_id)
        if space is None:
            return Page(items=[], next_cursor=None)
        if deleted:
            since = restorable_since(services.clock())
            return await store.trash(conn, space, page, subject=speaker, since=since)
        return await store.page(conn, space, page, subject=speaker, superseded=superseded)


async def get(services: Services, principal: Principal, scope_id: str, statement_id: str) -> KnownStatement:
    async with services.db.transaction(account_scope(principal)) as conn:
        _, statement = await _find(conn, principal, scope_id, statement_id)
        return _live(statement)


async def history(
    services: Services, principal: Principal, scope_id: str, statement_id: str
) -> list[StatementVersion]:  # fmt: skip
    """Every version, the latest first; also of what is in the trash."""
    async with services.db.transaction(account_scope(principal)) as conn:
        await _find(conn, principal, scope_id, statement_id)
        return await store.versions(conn, statement_id)


async def change(
    services: Services, principal: Principal, scope_id: str, statement_id: str, changes: Mapping[str, Any]
) -> KnownStatement:
    """`text`: what is so instead. `speaker`: whom it is about. What is as before is no change."""
    async with services.db.transaction(account_scope(principal)) as conn:
        space, statement = await _find(conn, principal, scope_id, statement_id, hold=True)
        _live(statement)
        given = {name: value for name, value in changes.items() if value is not None}
        text = _own(given["text"]) if "text" in given else statement.text
        subject = given.get("speaker", statement.subject)
        if (text, subject) == (statement.text, statement.subject):
            return statement
        kind, key = _read_as(statement, subject, text)
        columns = {"text": text, "subject": subject, "kind": kind, "key": key}
        return await _rewrite(conn, principal, space, statement, "update", columns)


async def delete(services: Services, principal: Principal, scope_id: str, statement_id: str) -> None:
    """Into the trash, for 30 days."""
    async with services.db.transaction(account_scope(principal)) as conn:
        space, statement = await _find(conn, principal, scope_id, statement_id, hold=True)
        await _rewrite(conn, principal, space, _live(statement), "delete", {"deleted_at": services.clock()})


async def restore(services: Services, principal: Principal, scope_id: str, statement_id: str) -> KnownStatement:
    """Out of the trash, with those that went there with it."""
    async with services.db.transaction(account_scope(principal)) as conn:
        space, statement = await _find(conn, principal, scope_id, statement_id, hold=True)
        found = statement if restorable(statement.deleted_at, services.clock()) else None
        return await _rewrite(
            conn, principal, space, require_found(found, _MISSING), "restore", {"deleted_at": None}
        )  # fmt: skip


_CHANGES = {"update": "updated", "delete": "deleted", "restore": "restored"}


async def _rewrite(
    conn: Connection, principal: Principal, space: int, statement: KnownStatement, verb: str,
    columns: Mapping[str, object],
) -> KnownStatement:  # fmt: skip
    ids = await store.same(conn, space, statement)
    await store.rewrite(conn, ids, _CHANGES[verb], principal.user_id, columns)
    await record_each(conn, principal, f"statement.{verb}", ids)
    return require_found(await store.get(conn, space, statement.id), _MISSING)


def _own(text: str) -> str:
    kept = " ".join(own_words(text).split())
    if not kept:
        fault = "says nothing of its own: give what is so, in words that were not only recalled"
        raise Malformed(f"text {fault}. Nothing was changed.", fields={"text": fault})
    return kept


def _read_as(statement: KnownStatement, subject: str, text: str) -> tuple[str, str]:
    """Its kind, and the key under which a newer one takes its place: as the rules read the new text of this person, or
    if they make nothing of it, as before.
    """
    read = next((other for other in statements(subject, text) if other.subject == subject), None)
    return (read.kind, read.key) if read else (statement.kind, statement.key)


def _live(statement: KnownStatement) -> KnownStatement:
    return require_found(statement if statement.deleted_at is None else None, _MISSING)


async def _find(
    conn: Connection, principal: Principal, scope_id: str, statement_id: str, *, hold: bool = False
) -> tuple[int, KnownStatement]:
    """In the caller's scope of this name, whatever its state. With `hold` nobody else reads or corrects anything there
    until the transaction ends.
    """
    space = require_found(await _enter(conn, principal, scope_id), _MISSING)
    if hold:
        await spaces.lock(conn, [space])
    return space, require_found(await store.get(conn, space, statement_id), _MISSING)


async def _enter(conn: Connection, principal: Principal, scope_id: str) -> int | None:
    space = await spaces.find(conn, kind="scope", name=scope_id, owner=principal.user_id)
    if space is not None:
        await enter(conn, space_scope(principal, space))
    return space
