"""The schema of a database as text, out of the catalogue, so that a fresh one can be compared with a recorded one.

`make schema` writes `schema.txt` anew. A change of it is reviewed together with the migration that makes it.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

import psycopg

from keepstone.home import ensure_home
from keepstone.postgres.cluster import open_cluster
from keepstone.postgres.supervisor import Supervisor
from keepstone.store.migrate import migrate

RECORDED = Path(__file__).with_name("schema.txt")

# Each answers with lines of text, in no order. What procrastinate makes is its own; only the rights on it are ours.
_PARTS = {
    "columns": """
        SELECT format('%I.%I %s%s%s%s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
                      CASE WHEN a.attcollation <> t.typcollation THEN ' COLLATE ' || o.collname END,
                      CASE WHEN a.attnotnull THEN ' NOT NULL' END,
                      ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid),
                      CASE WHEN a.attidentity <> '' THEN ' IDENTITY' END,
                      CASE WHEN a.attstorage <> t.typstorage THEN ' STORAGE ' || a.attstorage::text END)
          FROM pg_attribute a JOIN ours c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid
          LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
          LEFT JOIN pg_collation o ON o.oid = a.attcollation
         WHERE c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
    """,
    "constraints": """
        SELECT format('%I %I %s', c.relname, k.conname, pg_get_constraintdef(k.oid))
          FROM pg_constraint k JOIN ours c ON c.oid = k.conrelid WHERE k.contype <> 'n'
    """,
    "indexes": """
        SELECT pg_get_indexdef(i.indexrelid)
          FROM pg_index i JOIN ours c ON c.oid = i.indrelid
         WHERE NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype <> 'f')
    """,
    "triggers": """
        SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN ours c ON c.oid = t.tgrelid WHERE NOT t.tgisinternal
    """,
    "tables": """
        SELECT format('%I%s%s%s', c.relname, ' WITH ' || c.reloptions::text,
                      CASE WHEN c.relrowsecurity THEN ' ROW SECURITY' END,
                      CASE WHEN c.relforcerowsecurity THEN ' FORCED' END)
          FROM pg_class c WHERE c.relnamespace = 'keepstone'::regnamespace AND c.relkind = 'r'
    """,
    "policies": """
        SELECT format('%I %I %s TO %s USING %s WITH CHECK %s', tablename, policyname, cmd,
                      array_replace(roles, o.name, 'the owner'), qual, with_check)
          FROM pg_policies, (SELECT pg_get_userbyid(nspowner) AS name FROM pg_namespace WHERE nspname = 'keepstone') o
         WHERE schemaname = 'keepstone'
    """,
    "functions": """
        SELECT format('%s(%s) RETURNS %s %s%s%s', p.proname, pg_get_function_identity_arguments(p.oid),
                      pg_get_function_result(p.oid),
                      CASE p.provolatile WHEN 'i' THEN 'IMMUTABLE' WHEN 's' THEN 'STABLE' ELSE 'VOLATILE' END,
                      CASE WHEN p.prosecdef THEN ' SECURITY DEFINER' END, ' SET ' || p.proconfig::text)
          FROM pg_proc p
         WHERE p.pronamespace = 'keepstone'::regnamespace AND p.proname NOT LIKE 'procrastinate%'
           AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
    """,
    "rights": """
        SELECT format('%s ON %s TO %s', string_agg(g.privilege_type, ', ' ORDER BY g.privilege_type),
                      g.object, g.grantee::regrole)
          FROM (SELECT c.relname::text AS object, a.* FROM pg_class c, aclexplode(c.relacl) a
                 WHERE c.relnamespace = 'keepstone'::regnamespace
                UNION ALL
                SELECT c.relname || '.' || t.attname, a.*
                  FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid, aclexplode(t.attacl) a
                 WHERE c.relnamespace = 'keepstone'::regnamespace
                UNION ALL
                SELECT format('%s(%s)', p.proname, pg_get_function_identity_arguments(p.oid)), a.*
                  FROM pg_proc p, aclexplode(p.proacl) a
                 WHERE p.pronamespace = 'keepstone'::regnamespace AND p.proname NOT LIKE 'procrastinate%'
                   AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')) g
         WHERE g.grantee <> (SELECT nspowner FROM pg_namespace WHERE nspname = 'keepstone')
         GROUP BY g.object, g.grantee
    """,
    "contents": "SELECT to_jsonb(p)::text FROM plans p",
}


async def describe(conninfo: str) -> str:
    """Tables, constraints, indexes, triggers, policies, functions and rights, each a line, in a fixed order."""
    parts: list[str] = []
    async with await psycopg.AsyncConnection.connect(conninfo) as conn:
        await conn.execute("SET search_path = keepstone, public; SET keepstone.owner = 'on'")
        for title, query in _PARTS.items():
            ours = """
                WITH ours AS (SELECT * FROM pg_class WHERE relnamespace = 'keepstone'::regnamespace
                                 AND relkind IN ('r', 'S') AND relname NOT LIKE 'procrastinate%')
            """
            rows = await (await conn.execute((ours + query).encode())).fetchall()
            parts += [f"# {title}", *sorted(line for (line,) in rows), ""]
    return "\n".join(parts)


async def _record() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        ensure_home(home)
        supervisor = Supervisor(open_cluster(home))
        await supervisor.start()
        try:
            await migrate(supervisor.conninfo)
            sys.stdout.write(await describe(supervisor.conninfo))
        finally:
            await supervisor.stop()
            supervisor.close()


if __name__ == "__main__":
    asyncio.run(_record())
