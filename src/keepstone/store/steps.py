"""What brings a database to the schema of this Keepstone, as files: those that run once, those that run again when they
have changed, and the queue's own. Knows no database.

The first line of a file that runs once says how it may run beside servers of the version before: CONTRIBUTING, "Adding
a migration".
"""

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from procrastinate.schema import SchemaManager

# Of this Keepstone's schema: a release whose migrations or functions differ from those of the one before has the next.
LEVEL = 2
# The newest of the queue's migrations that the release before had.
_QUEUE_BEFORE = "queue/03.04.00_50_post_add_retry_failed_job_procedure.sql"

_LANGUAGE = "CREATE EXTENSION IF NOT EXISTS plpgsql WITH SCHEMA pg_catalog;"

_HEAD = re.compile(r"-- (?:expand|contract (?P<contract>\d+))(?:, (?P<how>concurrently|in batches))?: \S")
_INDEX = re.compile(r"\bINDEX CONCURRENTLY (?:IF (?:NOT )?EXISTS )?(?:keepstone\.)?(\w+)")


@dataclass(frozen=True, slots=True)
class Migration:
    """`contract` is the level from which on no server needs what it removes; None, where it removes nothing that one of
    the version before needs.
    """

    name: str
    text: str
    repeatable: bool = False
    contract: int | None = None

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def concurrently(self) -> bool:
        """One statement, on an index, that holds up nobody and can't run in a transaction."""
        return self._how == "concurrently"

    @property
    def in_batches(self) -> bool:
        """One statement that is run again until it changes nothing more, each time in a transaction of its own."""
        return self._how == "in batches"

    @property
    def index(self) -> str:
        """The one that it makes or drops concurrently."""
        found = _INDEX.search(self.text)
        if not found:
            raise ValueError(f"{self.name} names no index after CONCURRENTLY")
        return found[1]

    @property
    def in_a_transaction(self) -> str:
        """The same for a database that nobody uses yet."""
        return self.text.replace(" CONCURRENTLY", "") if self.concurrently else self.text

    @property
    def _how(self) -> str | None:
        found = _HEAD.match(self.text)
        return found["how"] if found else None

    def is_due(self, *, finish: bool) -> bool:
        """Whether it may run: servers of one level before may be working."""
        return self.contract is None or self.contract < LEVEL or finish


@cache
def migrations() -> list[Migration]:
    """Keepstone's own, in the order in which they run."""
    return [*_folder("migrations"), *_folder("repeatable", repeatable=True)]


@cache
def queue_migrations() -> list[Migration]:
    """Procrastinate's. Those that it calls `post` want all of its workers to be new. Without the language that every
    Postgres has: a cluster would make it on machines where we may not.
    """
    folder = Path(SchemaManager.get_migrations_path())
    found = [(f"queue/{path.name}", path.read_text().replace(_LANGUAGE, "")) for path in sorted(folder.glob("*.sql"))]
    return [
        Migration(name, text, contract=LEVEL - (name <= _QUEUE_BEFORE) if "_post_" in name else None)
        for name, text in found
    ]


def whole_queue() -> str:
    """What all of the queue's migrations come to."""
    return SchemaManager.get_schema()


def _folder(name: str, *, repeatable: bool = False) -> list[Migration]:
    items = [item for item in files("keepstone.store").joinpath(name).iterdir() if item.name.endswith(".sql")]
    return [parse(item.name, item.read_text(), repeatable) for item in sorted(items, key=lambda item: item.name)]


def parse(name: str, text: str, repeatable: bool = False) -> Migration:
    """A file, by its text."""
    found = None if repeatable else _HEAD.match(text)
    contract = int(found["contract"]) if found and found["contract"] else None
    return Migration(name, text, repeatable, contract)
