"""Entities: for each combination of user, agent, app and run that a caller names, the space of its memories."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import LiteralString

from psycopg import sql

from keepstone.model.entity import Entity, EntityType, Filter, Ids, ids_alone
from keepstone.store.db import Connection, fetch_all, fetch_column, fetch_dict, fetch_value, insert_new_row
from keepstone.store.entity_filters import condition

KIND = "entity"
_COLUMNS: dict[EntityType, LiteralString] = {
    "user": "user_id", "agent": "agent_id", "app": "app_id", "run": "run_id",
}  # fmt: skip


_OWNED: LiteralString = "s.account = %(account)s AND s.kind = 'entity' AND s.owner IS NOT DISTINCT FROM %(owner)s"


async def describe(conn: Connection, space: int, ids: Ids) -> None:
    """Whose this space is."""
    await insert_new_row(conn, "entities", {**asdict(ids), "space": space})


async def matching(conn: Connection, owner: str | None, wanted: Filter) -> list[int]:
    """The spaces in which there can be something that passes the filter."""
    params: dict[str, object] = {"owner": owner}
    query = sql.SQL(
        f"""
        SELECT e.space FROM entities e JOIN spaces s USING (account, space)
         WHERE {_OWNED} AND s.deleted_at IS NULL AND {{condition}}
         ORDER BY e.space
        """
    ).format(condition=condition(ids_alone(wanted), params))
    return await fetch_column(conn, query, params)


async def holding(conn: Connection, owner: str | None, memory_ids: Sequence[str]) -> dict[str, int]:
    """In which of this owner's spaces each of these memories lies, whatever its state; those that are elsewhere are
    left out.
    """
    places = await fetch_dict(
        conn, "SELECT memory_id, space FROM entity_places(%(account)s, %(ids)s)", {"ids": list(memory_ids)}
    )
    theirs = await fetch_column(
        conn,
        f"SELECT s.space FROM spaces s WHERE {_OWNED} AND s.space = ANY (%(places)s) AND s.deleted_at IS NULL",
        {"places": list(places.values()), "owner": owner},
    )
    return {memory_id: space for memory_id, space in places.items() if space in theirs}


async def known(conn: Connection, owner: str | None) -> list[Entity]:
    """Everybody for whom there are memories, the newest first."""
    return await fetch_all(
        conn,
        Entity,
        f"""
        SELECT each.type, each.name, sum(s.memory_count)::bigint AS memories, min(s.created_at) AS created_at,
               max(s.changed_at) AS changed_at
          FROM entities e JOIN spaces s USING (account, space)
               CROSS JOIN LATERAL (VALUES ('user', e.user_id), ('agent', e.agent_id), ('app', e.app_id),
                                          ('run', e.run_id)) AS each (type, name)
         WHERE {_OWNED} AND s.deleted_at IS NULL
           AND s.memory_count > 0 AND each.name IS NOT NULL
         GROUP BY each.type, each.name
         ORDER BY min(s.created_at) DESC, each.type, each.name
        """,
        {"owner": owner},
    )


async def of_entity(conn: Connection, owner: str | None, kind: EntityType, name: str) -> list[int]:
    """The spaces that are also this one's, empty ones too."""
    column = _COLUMNS[kind]
    return await fetch_column(
        conn,
        f"""
        SELECT e.space FROM entities e JOIN spaces s USING (account, space)
         WHERE {_OWNED} AND e.{column} = %(name)s
         ORDER BY e.space
        """,
        {"owner": owner, "name": name},
    )


async def purge(conn: Connection) -> int:
    """Entities of which nothing is left, not even in the trash; of all accounts. Needs no scope."""
    return await fetch_value(conn, "SELECT purge_entities()")
