"""What the operator has set of providers: one document of the whole server. Nothing here needs a scope."""

from psycopg.types.json import Jsonb

from keepstone.model.provider import ProviderSettings, settings_of
from keepstone.store.db import Connection, fetch_rows, fetch_value


async def revision(conn: Connection) -> int:
    """How often they were changed: for whoever wants to know whether they are others."""
    return await fetch_value(conn, "SELECT provider_revision()")


async def read(conn: Connection) -> ProviderSettings:
    """On a connection of the server's."""
    rows = await fetch_rows(conn, "SELECT revision, document FROM read_provider_settings()")
    return settings_of(*rows[0]) if rows else ProviderSettings()


async def put(conn: Connection, settings: ProviderSettings, *, after: int) -> int | None:
    """On a connection of the server's; the new revision, or None if the last one is another than `after`."""
    return await fetch_value(
        conn,
        "SELECT put_provider_settings(%(after)s, %(document)s)",
        {"after": after, "document": Jsonb(settings.document())},
    )
