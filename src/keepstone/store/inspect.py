"""Looks at a database from outside, for `keepstone doctor`."""

from keepstone.store.db import AnyConnection, fetch_column, fetch_rows, fetch_value
from keepstone.store.servers import Neighbours, neighbours


async def unguarded_tables(conn: AnyConnection) -> list[str]:
    """Tables of Keepstone's on which row-level security is off, for others or for their owner, or no policy stands."""
    return await fetch_column(
        conn,
        """
        SELECT c.relname FROM pg_class c
         WHERE c.relnamespace = to_regnamespace('keepstone') AND c.relkind IN ('r', 'p')
           AND (NOT c.relrowsecurity OR NOT (c.relforcerowsecurity OR keepstone.is_distributed(c.oid))
                OR NOT EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid))
         ORDER BY 1
        """,
    )


async def role_is_held(conn: AnyConnection, role: str) -> bool:
    """Whether this role, which the server logs in as, is one that row-level security applies to, and can't become
    another.
    """
    return bool(
        await fetch_value(
            conn,
            """
            SELECT NOT rolsuper AND NOT rolbypassrls
                   AND NOT EXISTS (SELECT 1 FROM pg_auth_members m WHERE m.member = r.oid)
                   AND NOT EXISTS (SELECT 1 FROM pg_class c
                                    WHERE c.relnamespace = to_regnamespace('keepstone') AND c.relowner = r.oid)
              FROM pg_roles r WHERE rolname = %(role)s
            """,
            {"role": role},
        )
    )


async def failed_jobs(conn: AnyConnection) -> int:
    return await fetch_value(conn, "SELECT count(*) FROM keepstone.procrastinate_jobs WHERE status = 'failed'")


async def servers(conn: AnyConnection, secret: bytes | None) -> Neighbours:
    """Those that run now; `secret` is the fingerprint of what they should have, if that is known."""
    async with conn.transaction():
        await conn.execute("SET LOCAL keepstone.owner = 'on'")
        return await neighbours(conn, secret)


async def filling(conn: AnyConnection) -> list[tuple[str, int, int]]:
    """Models whose vectors are being made beside those that serve: accounts, and passages that are left."""
    async with conn.transaction():
        await conn.execute("SET LOCAL keepstone.owner = 'on'")
        return await fetch_rows(conn, "SELECT * FROM keepstone.filling_models()")
