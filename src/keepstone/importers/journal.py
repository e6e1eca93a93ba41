"""What has arrived, kept beside the data folder, so that an import that was cut off goes on where it was.

A line is written when the server has answered. Should the process be killed between the two, the same is sent again and
the server knows it by its id. Without the journal nothing comes twice either; it only takes longer, and what was
deleted in the meantime would come back.
"""

import sqlite3
from collections.abc import Iterable
from pathlib import Path


class Journal:
    def __init__(self, path: Path | None) -> None:
        if path is not None:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._conn = sqlite3.connect(path or ":memory:", timeout=30, isolation_level=None)
        # Whatever happens to the process, what is written stays; a power cut may cost the last lines, which is no harm.
        self._conn.execute("PRAGMA journal_mode = WAL")
        self._conn.execute("PRAGMA synchronous = NORMAL")
        self._conn.execute(
            "CREATE TABLE IF NOT EXISTS arrived (id TEXT PRIMARY KEY, digest TEXT NOT NULL) WITHOUT ROWID"
        )

    def digest(self, key: str) -> str | None:
        """Of what arrived under this id, if anything did."""
        row = self._conn.execute("SELECT digest FROM arrived WHERE id = ?", [key]).fetchone()
        return row[0] if row else None

    async def note(self, arrived: Iterable[tuple[str, str]]) -> None:
        """All of them or none."""
        self._conn.execute("BEGIN")
        self._conn.executemany("INSERT OR REPLACE INTO arrived VALUES (?, ?)", arrived)
        self._conn.execute("COMMIT")

    def close(self) -> None:
        self._conn.close()
