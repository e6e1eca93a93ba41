"""What a database says of its own schema: which migrations it has had, and which Keepstones can work on it.

`migrations` has a row for each that runs once. `schema_level` has one row: the highest level of those that have
migrated it, the lowest that can still work on it, and the files that run again, as they were when they last did.
Version 0.1.0 knows only the first, and has its own files in there; it finds them as it left them, and so goes on.
"""

from dataclasses import dataclass, field

from psycopg import sql

from keepstone.store.db import AnyConnection, fetch_dict, fetch_rows, fetch_value
from keepstone.store.steps import LEVEL, Migration

_FIRST_LEVEL = 1  # of version 0.1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaRecord:
    """The defaults are those of a database that has no schema yet."""

    applied: frozenset[str] = frozenset()
    level: int = 0
    serves_since: int = 0
    repeatable: dict[str, str] = field(default_factory=dict[str, str])


async def read_record(conn: AnyConnection) -> SchemaRecord:
    """Works for any role that may connect."""
    if await fetch_value(conn, "SELECT to_regclass('keepstone.migrations')") is None:
        return SchemaRecord()
    applied = frozenset(await fetch_dict(conn, "SELECT name, sha256 FROM keepstone.migrations"))
    if await fetch_value(conn, "SELECT to_regclass('keepstone.schema_level')") is None:
        return SchemaRecord(applied=applied, level=_FIRST_LEVEL, serves_since=_FIRST_LEVEL)
    for level, serves_since, repeatable in await fetch_rows(
        conn, "SELECT level, serves_since, repeatable FROM keepstone.schema_level"
    ):
        return SchemaRecord(applied=applied, level=level, serves_since=serves_since, repeatable=repeatable)
    return SchemaRecord(applied=applied, level=_FIRST_LEVEL, serves_since=_FIRST_LEVEL)


async def make_record(conn: AnyConnection) -> None:
    """The tables, and the level of this Keepstone, before anything of it is applied: one of the level before that
    starts now leaves all of it alone. Tables that were given to another owner are that one's, whom their policies do
    not name yet.
    """
    for table, owner in await fetch_rows(
        conn,
        """
        SELECT c.relname, pg_get_userbyid(c.relowner) FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
         WHERE c.oid IN (to_regclass('keepstone.migrations'), to_regclass('keepstone.schema_level'))
           AND p.polname = 'owner' AND c.relowner <> ALL (p.polroles)
        """,
    ):
        await conn.execute(
            sql.SQL("ALTER POLICY owner ON {} TO {}").format(sql.Identifier(table), sql.Identifier(owner))
        )
    await conn.execute(
        "CREATE TABLE IF NOT EXISTS migrations"
        " (name text PRIMARY KEY, sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"
    )
    await conn.execute(
        "CREATE TABLE IF NOT EXISTS schema_level"
        " (one boolean PRIMARY KEY DEFAULT true CHECK (one), level int NOT NULL, serves_since int NOT NULL,"
        " repeatable jsonb NOT NULL DEFAULT '{}')"
    )
    await conn.execute(
        "INSERT INTO schema_level (level, serves_since) VALUES (%(level)s, %(first)s)"
        " ON CONFLICT (one) DO UPDATE SET level = greatest(schema_level.level, excluded.level)",
        {"level": LEVEL, "first": _FIRST_LEVEL},
    )


async def note_applied(conn: AnyConnection, migration: Migration) -> None:
    await conn.execute(
        "INSERT INTO migrations (name, sha256) VALUES (%(name)s, %(sha256)s) ON CONFLICT (name) DO NOTHING",
        {"name": migration.name, "sha256": migration.sha256},
    )
    if migration.contract is not None:
        await conn.execute(
            "UPDATE schema_level SET serves_since = greatest(serves_since, %(level)s)", {"level": migration.contract}
        )


async def note_repeatable(conn: AnyConnection, migrations: list[Migration]) -> None:
    await conn.execute(
        "UPDATE schema_level SET repeatable = jsonb_object(%(names)s::text[], %(digests)s::text[])",
        {"names": [one.name for one in migrations], "digests": [one.sha256 for one in migrations]},
    )
