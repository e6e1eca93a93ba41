"""What keeps a migration from running while servers of the version before write: read from its text."""

import re
from collections.abc import Iterator

from keepstone.store.scripts import statements_of
from keepstone.store.steps import LEVEL, Migration

_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_HEAD = re.compile(r"-- (?:expand|contract \d+)(?:, (?:concurrently|in batches))?: \S")
_TABLE = r"(?:IF EXISTS )?(?:ONLY )?(?:keepstone\.)?\"?(\w+)"
_OWN = re.compile(r"^CREATE TABLE (?:IF NOT EXISTS )?(?:keepstone\.)?\"?(\w+)", re.IGNORECASE)
_ALTERED = re.compile(rf"^ALTER TABLE {_TABLE}", re.IGNORECASE)
_INDEXED = re.compile(r"^CREATE (?:UNIQUE )?INDEX .*? ON (?:ONLY )?(keepstone\.)?\"?(\w+)", re.IGNORECASE)
_WRITTEN = re.compile(r"^(?:WITH .*)?\b(?:UPDATE|DELETE FROM) (?:ONLY )?(?:keepstone\.)?\"?(\w+)", re.IGNORECASE)

# What a server of the version before may still use. In a contract it goes.
_REMOVES = [
    (re.compile(r"\bDROP (?:TABLE|COLUMN|FUNCTION|VIEW|TYPE|SEQUENCE|SCHEMA)\b"), "removes what is there"),
    (re.compile(r"\bRENAME\b"), "renames what is there"),
    (re.compile(r"^TRUNCATE\b"), "empties a table"),
    (re.compile(r"\bDROP DEFAULT\b"), "takes away a default"),
]
# What locks a table for as long as it takes to read or write all of it, in whatever kind of file.
_LOCKS = [
    (re.compile(r"\bALTER (?:COLUMN )?\S+ (?:SET DATA )?TYPE\b"), "rewrites the table: add a column, and fill it"),
    (
        re.compile(r"\bSET NOT NULL\b"),
        "reads the whole table: ADD CONSTRAINT ... CHECK (... IS NOT NULL) NOT VALID, and VALIDATE it in another file",
    ),
    (
        re.compile(r"\bADD (?:CONSTRAINT \S+ )?(?:CHECK|FOREIGN KEY)\b(?!.*\bNOT VALID\b)"),
        "reads the whole table: say NOT VALID, and VALIDATE it in another file",
    ),
    (
        re.compile(r"\bADD (?:CONSTRAINT \S+ )?(?:PRIMARY KEY|UNIQUE|EXCLUDE)\b(?!.*\bUSING INDEX\b)"),
        "makes an index: make it concurrently in another file, and say USING INDEX",
    ),
    (
        re.compile(r"^(?:LOCK|CLUSTER|VACUUM FULL)\b|^REINDEX (?!.*CONCURRENTLY)|\bSET (?:LOGGED|UNLOGGED)\b"),
        "locks it",
    ),
    (re.compile(r"^DROP INDEX (?!CONCURRENTLY)"), "waits for all who use the table: DROP INDEX CONCURRENTLY"),
]
_COLUMN = re.compile(
    r"\bADD (?:COLUMN )?(?!CONSTRAINT|CHECK|FOREIGN|PRIMARY|UNIQUE|EXCLUDE)(?:IF NOT EXISTS )?\w+ [^,]*"
)
_STEADY = re.compile(r"\bNOW\(\)|\bCURRENT_TIMESTAMP\b|'(?:[^']|'')*'(?:::[\w\[\]]+)?")


def faults(migration: Migration) -> list[str]:
    """What to do instead, for each statement that would hold up writers or break the version before."""
    return [f"{migration.name}: {fault}" for fault in _faults(migration)]


def _faults(migration: Migration) -> Iterator[str]:
    if not _HEAD.match(migration.text):
        yield "begins with `-- expand: what for` or `-- contract LEVEL: what for` (CONTRIBUTING, Adding a migration)"
    if migration.contract is not None and not 1 < migration.contract <= LEVEL:
        yield f"is a contract of level {migration.contract}; there are 2 to {LEVEL}"
    statements = [" ".join(_COMMENT.sub("", one).split()) for one in statements_of(migration.text)]
    own = {found[1] for found in map(_OWN.match, statements) if found}
    touched = {found[1] for found in map(_ALTERED.match, statements) if found} - own
    if len(touched) > 1:
        yield f"alters {' and '.join(sorted(touched))}: one table a file, as it locks all of them until its end"
    if (migration.concurrently or migration.in_batches) and len(statements) > 1:
        yield "is marked as one that has one statement, and has more"
    for statement in statements:
        for fault in _faults_of(statement, migration, own):
            yield f"{fault}: {statement[:80]}"
    if len(statements) > 1 and any("VALIDATE CONSTRAINT" in one.upper() for one in statements):
        yield "VALIDATE reads the whole table: in a file of its own, so that nothing else is locked meanwhile"


def _faults_of(statement: str, migration: Migration, own: set[str]) -> Iterator[str]:
    upper = statement.upper()
    altered, indexed, written = (known.match(statement) for known in (_ALTERED, _INDEXED, _WRITTEN))
    if altered and altered[1] in own:
        return
    if migration.contract is None:
        yield from (f"{why}, which is for a contract" for known, why in _REMOVES if known.search(upper))
    yield from (why for known, why in _LOCKS if known.search(upper))
    if indexed and indexed[2] not in own:
        if " CONCURRENTLY " not in upper:
            yield "makes an index on a table that is written to: CREATE INDEX CONCURRENTLY, in a file of its own"
        elif not migration.concurrently:
            yield "runs outside of a transaction: begin the file with `-- expand, concurrently: what for`"
        elif "IF NOT EXISTS" not in upper or not indexed[1]:
            yield "may be tried again, on a bare connection: say IF NOT EXISTS, and `keepstone.` before the table"
    if written and written[1] not in own and not migration.in_batches:
        yield "changes all rows at once: `-- expand, in batches: what for` with a LIMIT, or a job"
    if altered:
        yield from _faults_of_columns(upper)


def _faults_of_columns(upper: str) -> Iterator[str]:
    for found in _COLUMN.finditer(upper):
        column = _STEADY.sub("", found[0])
        if "NOT NULL" in column and "DEFAULT" not in column:
            yield "adds a column that the version before leaves out: give it a default"
        if re.search(r"\bDEFAULT\b[^,]*\(|\bGENERATED\b|\bSERIAL\b|\bBIGSERIAL\b", column):
            yield "gives each row a value of its own, and so rewrites the table: fill the column in batches"
        if re.search(r"\bREFERENCES\b|\bUNIQUE\b|\bPRIMARY KEY\b|\bCHECK\b", column):
            yield "adds a column with a constraint, for which the table is read: add that NOT VALID, by itself"
