"""What a Postgres must have before Keepstone can live in it; each fault says what to install or to run."""

from keepstone.errors import Misconfigured
from keepstone.store.db import AnyConnection, fetch_value

OLDEST_SERVER = 150000
OLDEST_PGVECTOR = (0, 7)


def check_server_version(number: int) -> None:
    if number < OLDEST_SERVER:
        raise Misconfigured(
            f"This Postgres is version {number // 10000}; Keepstone needs 15 or newer. Upgrade it, or unset "
            "KEEPSTONE_DATABASE_URL to use the embedded one."
        )


def check_pgvector_version(version: str | None, *, server: int) -> None:
    if version is None:
        raise Misconfigured(
            f"This Postgres does not have the extension pgvector. {_install_pgvector(server)}, or unset "
            "KEEPSTONE_DATABASE_URL to use the embedded one."
        )
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_PGVECTOR:
        raise Misconfigured(
            f"This Postgres has pgvector {version}; Keepstone needs 0.7 or newer. {_install_pgvector(server)}. Then "
            "run in Keepstone's database: ALTER EXTENSION vector UPDATE;"
        )


def _install_pgvector(server: int) -> str:
    """Debian 12 has no package of it and Ubuntu 24.04 one that is too old; the repository of Postgres itself has it for
    every version, and where that is set up already, or the system has it, the last command is enough.
    """
    return (
        "Install it where the database server runs (Debian and Ubuntu: `apt install postgresql-common`, "
        "`/usr/share/postgresql-common/pgdg/apt.postgresql.org.sh -y`, which adds the repository of Postgres, and `apt "
        f"install postgresql-{server // 10000}-pgvector`; macOS: `brew install pgvector`; a hosted one: enable "
        "`vector`)"
    )


async def check_server(conn: AnyConnection) -> None:
    """Version, encoding and extension, the last installed in this database or ready to be."""
    server = conn.info.server_version
    check_server_version(server)
    encoding = conn.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise Misconfigured(
            f"This database is encoded in {encoding}; Keepstone needs UTF8. Make another: CREATE DATABASE keepstone "
            "ENCODING 'UTF8' TEMPLATE template0;"
        )
    check_pgvector_version(await pgvector_version(conn), server=server)


async def pgvector_version(conn: AnyConnection) -> str | None:
    return await fetch_value(
        conn,
        """
        SELECT coalesce(
            (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
            (SELECT default_version FROM pg_available_extensions WHERE name = 'vector'))
        """,
    )


def schema_not_allowed() -> Misconfigured:
    return Misconfigured(
        "The database user may not create a schema. As the owner of the database, run: GRANT CREATE ON DATABASE its "
        "name TO the user of KEEPSTONE_DATABASE_URL;"
    )


def extension_not_allowed() -> Misconfigured:
    return Misconfigured(
        "The database user may not create the extension pgvector. As a superuser, run in Keepstone's database: "
        "CREATE EXTENSION vector;"
    )
