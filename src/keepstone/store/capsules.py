"""What is asked of capsules alone: by tag, kind, project and date; their vault, tags and timeline."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal, LiteralString

from keepstone.model.capsule import Capsule
from keepstone.model.page import Page, PageRequest, Position
from keepstone.store import leftovers, memories
from keepstone.store.db import Connection, fetch_all, fetch_column, fetch_dict, fetch_one, fetch_rows

SHAPE = memories.Shape(
    kind="capsule", row=Capsule, columns=", project.title AS project_name",
    # A capsule is the vault's owner's alone: it is in a project while they are.
    joins="""
        LEFT JOIN spaces project ON project.account = m.account AND project.kind = 'project' AND project.owner IS NULL
              AND project.name = m.project_id AND project.deleted_at IS NULL
              AND EXISTS (SELECT 1 FROM members i
                           WHERE i.account = %(account)s AND i.space = project.space AND i.user_id = s.owner)""",
)  # fmt: skip
CountedBy = Literal["month", "kind", "project", "tag"]
_COUNTED = 5_000  # months, kinds, projects or tags
_LIVE: LiteralString = f"""
    m.account = %(account)s AND m.space = %(space)s AND m.kind = 'capsule' {memories.LIVE}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """One that went into another at that moment."""

    id: str
    title: str
    at: datetime
    deleted_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CapsuleFilter:
    """Which capsules: all conditions hold together, and all tags are on each. `outside` are projects whose capsules are
    not meant.
    """

    tags: tuple[str, ...] = ()
    kind: str | None = None
    project_id: str | None = None
    outside: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None

    @property
    def anything(self) -> bool:
        return self == CapsuleFilter()


WANTED: LiteralString = """
    AND (cardinality(%(tags)s::text[]) = 0 OR m.tags @> %(tags)s::text[])
    AND (%(kind)s::text IS NULL OR m.type = %(kind)s)
    AND (%(project_id)s::text IS NULL OR m.project_id = %(project_id)s)
    AND (m.project_id IS NULL OR NOT m.project_id = ANY (%(outside)s::text[]))
    AND (%(since)s::timestamptz IS NULL OR m.created_at >= %(since)s)
    AND (%(until)s::timestamptz IS NULL OR m.created_at < %(until)s)
"""


def params_of(wanted: CapsuleFilter) -> dict[str, Any]:
    return asdict(wanted) | {"tags": list(wanted.tags), "outside": list(wanted.outside)}


_MEANT: LiteralString = f"AND m.space = %(space)s {memories.LIVE} {WANTED}"


async def page(
    conn: Connection, space: int, wanted: CapsuleFilter, page: PageRequest, *, ids: Sequence[str] | None = None
) -> Page[Capsule]:
    """The newest first; with `ids` only those."""
    where: LiteralString = f"{memories.LIVE} {WANTED} AND (%(ids)s::text[] IS NULL OR m.id = ANY(%(ids)s))"
    params = params_of(wanted) | {"ids": None if ids is None else list(ids)}
    return await memories.page(conn, SHAPE, [space], page, where=where, params=params)


async def place_of(conn: Connection, space: int, wanted: CapsuleFilter, number: int) -> Position | None:
    """Where the so-manyth of them stands, the newest first; None when there are fewer."""
    # Of the index alone: what is skipped is not read.
    query: LiteralString = f"""
        SELECT m.created_at, m.id FROM memories m WHERE {_LIVE} {WANTED}
         ORDER BY m.created_at DESC, m.id DESC OFFSET %(before)s LIMIT 1
    """
    found = await fetch_rows(conn, query, {**params_of(wanted), "space": space, "before": number - 1})
    return found[0] if found else None


async def passages_of(conn: Connection, space: int, wanted: CapsuleFilter, *, most: int) -> tuple[int, ...] | None:
    """The passages of all capsules that are meant; None when those are more capsules than that."""
    params = {**params_of(wanted), "space": space}
    return await memories.passages_of(conn, SHAPE, _MEANT, params, most=most)


async def which_pass(conn: Connection, space: int, wanted: CapsuleFilter, passages: Sequence[int]) -> set[int]:
    """Those of these passages that are of capsules that are meant."""
    params = {**params_of(wanted), "space": space}
    return await memories.which_pass(conn, SHAPE, _MEANT, params, spaces=[space], passages=passages)


async def ids_of(conn: Connection, space: int, wanted: CapsuleFilter) -> list[str]:
    """The newest first."""
    query: LiteralString = f"""
        SELECT m.id FROM memories m WHERE {_LIVE} {WANTED} ORDER BY m.created_at DESC, m.id DESC
    """
    return await fetch_column(conn, query, {**params_of(wanted), "space": space})


async def cold(conn: Connection, space: int, page: PageRequest, *, since: datetime) -> Page[Capsule]:
    """What was moved to the cold tier since then, and from there not to the trash; the latest first."""
    where: LiteralString = "AND m.cold_at >= %(since)s AND m.deleted_at IS NULL"
    return await memories.page(conn, SHAPE, [space], page, when="m.cold_at", where=where, params={"since": since})


async def titles(conn: Connection, space: int, ids: Sequence[str] | None = None) -> dict[str, str]:
    """Of every capsule that is there, by its id; or of these."""
    return await fetch_dict(
        conn,
        f"SELECT m.id, m.title FROM memories m WHERE {_LIVE} AND (%(ids)s::text[] IS NULL OR m.id = ANY(%(ids)s))",
        {"space": space, "ids": None if ids is None else list(ids)},
    )


async def least_read(conn: Connection, space: int, *, limit: int) -> list[Capsule]:
    """Those that nobody has read for longest."""
    return await fetch_all(
        conn,
        Capsule,
        f"{SHAPE.select} AND m.space = %(space)s {memories.LIVE} ORDER BY m.accessed_at, m.id LIMIT %(limit)s",
        {"space": space, "limit": limit},
    )


async def tags(conn: Connection, space: int) -> list[tuple[str, int]]:
    """Each tag with the number of capsules that have it, the most used first."""
    return await fetch_rows(
        conn,
        f"""
        SELECT tag, count(*) FROM memories m, unnest(m.tags) AS tag WHERE {_LIVE}
         GROUP BY tag ORDER BY count(*) DESC, tag
        """,
        {"space": space},
    )


_GROUPS: Mapping[CountedBy, LiteralString] = {
    "month": "to_char(m.created_at AT TIME ZONE %(zone)s, 'YYYY-MM')",
    "kind": "m.type",
    "project": "coalesce(m.project_id, '')",
    "tag": "unnest(m.tags)",
}


async def count_by(
    conn: Connection, space: int, wanted: CapsuleFilter, by: CountedBy, *, zone: str
) -> list[tuple[str, int]]:
    """How many of them are of each month in this time zone, the latest first; or of each kind, in each project ('' is
    none), under each tag, the most first.
    """
    order: LiteralString = "value DESC" if by == "month" else "count(*) DESC, value"
    return await fetch_rows(
        conn,
        f"""
        SELECT value, count(*)
          FROM (SELECT {_GROUPS[by]} AS value FROM memories m WHERE {_LIVE} {WANTED}) AS grouped
         GROUP BY value ORDER BY {order} LIMIT %(most)s
        """,
        {**params_of(wanted), "space": space, "zone": zone, "most": _COUNTED},
    )


async def merges(conn: Connection, space: int, capsule_id: str) -> list[Merged]:
    """What was merged into it and is still in the trash for that, with the moment at which it was."""
    return await fetch_all(
        conn,
        Merged,
        """
        SELECT m.id, m.title, v.changed_at AS at, m.deleted_at
          FROM memories m
          JOIN memory_versions v ON v.account = m.account AND v.memory_id = m.id AND v.version = m.version
         WHERE m.account = %(account)s AND m.space = %(space)s AND m.kind = 'capsule' AND m.superseded_by = %(id)s
           AND m.deleted_at IS NOT NULL AND v.change = 'merged'
         ORDER BY m.created_at, m.id
        """,
        {"space": space, "id": capsule_id},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    """Where a user's capsules lie, and what it holds. The revision is another with every change of a capsule."""

    space: int
    size_bytes: int
    memory_count: int
    revision: int
    leftover: bool


async def enter_vault(conn: Connection, user_id: str, *, hold: bool = False) -> Vault | None:
    """From here on the transaction reaches what is in it, in the same call. With `hold` nobody else changes it
    until the transaction ends; what is left of what was in it is gone then.
    """
    vault = await fetch_one(
        conn, Vault, "SELECT * FROM enter_vault(%(account)s, %(user)s, %(hold)s)", {"user": user_id, "hold": hold}
    )
    if hold and vault is not None and vault.leftover:
        await leftovers.clear(conn, vault.space)
    return vault


async def count_put_away(conn: Connection, space: int, since: datetime) -> tuple[int, int]:
    """In the trash, and in the cold tier, since then."""
    [counts] = await fetch_rows(
        conn,
        """
        SELECT count(*) FILTER (WHERE deleted_at IS NOT NULL), count(*) FILTER (WHERE deleted_at IS NULL)
          FROM memories
         WHERE account = %(account)s AND space = %(space)s AND kind = 'capsule'
           AND coalesce(deleted_at, cold_at) >= %(since)s
        """,
        {"space": space, "since": since},
    )
    return counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Dated:
    start: str
    count: int
    titles: list[str]
    tags: list[str]


async def by_date(conn: Connection, space: int, bucket: str, timezone: str, *, titles: int) -> list[Dated]:
    """Capsules by day, week or month of their making in this time zone, with their most used tags, and the titles of so
    many in all.
    """
    return await fetch_all(
        conn,
        Dated,
        f"""
        WITH dated AS MATERIALIZED (
            SELECT date_trunc(%(bucket)s, m.created_at AT TIME ZONE %(zone)s) AS start, m.title, m.tags
              FROM memories m WHERE {_LIVE}
        ), spans AS MATERIALIZED (
            SELECT start, count(*) AS count, array_agg(title) AS titles FROM dated GROUP BY start
        ), tagged AS (
            SELECT start, tag, count(*) AS number FROM dated, unnest(tags) AS tag GROUP BY start, tag
        ), used AS (
            SELECT start, (array_agg(tag ORDER BY number DESC, tag))[1:5] AS tags FROM tagged GROUP BY start
        )
        SELECT to_char(s.start, 'YYYY-MM-DD') AS start, s.count,
               s.titles[1:greatest(1, %(titles)s / (SELECT count(*) FROM spans)::int)] AS titles,
               coalesce(u.tags, '{{}}') AS tags
          FROM spans s LEFT JOIN used u USING (start) ORDER BY s.start
        """,
        {"space": space, "bucket": bucket, "zone": timezone, "titles": titles},
    )
