"""Migrations run while servers of the version before work: what would hold those up, or break them, is not let in."""

import json
from pathlib import Path

import pytest

from keepstone.store.steps import LEVEL, Migration, migrations, parse
from online import faults

RELEASED = {
    name
    for path in (Path(__file__).parent / "releases").glob("*.json")
    for name in json.loads(path.read_text())["migrations"]
}


def read(text: str) -> Migration:
    return parse("0999_new.sql", text)


def test_every_migration_since_the_last_release_runs_beside_servers_that_write() -> None:
    found = [fault for one in migrations() if not one.repeatable and one.name not in RELEASED for fault in faults(one)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "-- expand: whose it is\nALTER TABLE chats ADD COLUMN owner text;",
        "-- expand: n\nALTER TABLE chats ADD COLUMN n int NOT NULL DEFAULT 0, ADD seen timestamptz DEFAULT now();",
        "-- expand: new\nCREATE TABLE news (account int, id text CHECK (id <> ''), PRIMARY KEY (account, id));\n"
        "CREATE INDEX news_by_id ON news (id);\nALTER TABLE news ALTER id SET NOT NULL;",
        "-- expand, concurrently: lists\nCREATE INDEX CONCURRENTLY IF NOT EXISTS chats_new ON keepstone.chats (title);",
        "-- expand: no title is empty\nALTER TABLE chats ADD CONSTRAINT titled CHECK (title <> '') NOT VALID;",
        "-- expand: no title is empty\nALTER TABLE chats VALIDATE CONSTRAINT titled;",
        "-- expand, in batches: fills it\nUPDATE chats SET a = b WHERE id IN (SELECT id FROM chats LIMIT 9);",
        f"-- contract {LEVEL}: nobody reads it\nALTER TABLE chats DROP COLUMN title;",
        f"-- contract {LEVEL}, concurrently: nobody asks\nDROP INDEX CONCURRENTLY IF EXISTS keepstone.chats_old;",
    ],
)
def test_what_adds_without_holding_anybody_up_is_let_in(text: str) -> None:
    assert faults(read(text)) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("CREATE TABLE news (id int);", "begins with"),
        ("-- A table for news.\nCREATE TABLE news (id int);", "begins with"),
        ("-- expand: x\nALTER TABLE chats ALTER COLUMN title TYPE varchar(20);", "rewrites the table"),
        ("-- expand: x\nALTER TABLE chats ALTER title SET DATA TYPE text;", "rewrites the table"),
        ("-- expand: x\nALTER TABLE chats ALTER title SET NOT NULL;", "NOT VALID"),
        ("-- expand: x\nALTER TABLE chats DROP COLUMN title;", "for a contract"),
        ("-- expand: x\nDROP TABLE chats;", "for a contract"),
        ("-- expand: x\nALTER TABLE chats RENAME COLUMN title TO name;", "for a contract"),
        ("-- expand: x\nCREATE INDEX chats_new ON chats (title);", "CONCURRENTLY"),
        ("-- expand: x\nCREATE UNIQUE INDEX CONCURRENTLY a ON keepstone.chats (title);", "outside of a transaction"),
        ("-- expand, concurrently: x\nCREATE INDEX CONCURRENTLY a ON chats (title);", "IF NOT EXISTS"),
        ("-- expand: x\nALTER TABLE chats ADD CONSTRAINT titled CHECK (title <> '');", "say NOT VALID"),
        ("-- expand: x\nALTER TABLE chats ADD FOREIGN KEY (account) REFERENCES accounts;", "say NOT VALID"),
        ("-- expand: x\nALTER TABLE chats ADD CONSTRAINT one UNIQUE (account, title);", "USING INDEX"),
        (
            "-- expand: x\nALTER TABLE chats ADD CONSTRAINT t CHECK (title <> '') NOT VALID;\n"
            "ALTER TABLE chats VALIDATE CONSTRAINT t;",
            "in a file of its own",
        ),
        ("-- expand: x\nALTER TABLE chats ADD COLUMN owner text NOT NULL;", "give it a default"),
        ("-- expand: x\nALTER TABLE chats ADD COLUMN uid uuid DEFAULT gen_random_uuid();", "rewrites the table"),
        ("-- expand: x\nALTER TABLE chats ADD owner text REFERENCES users;", "with a constraint"),
        ("-- expand: x\nUPDATE chats SET title = '';", "in batches"),
        ("-- expand: x\nDELETE FROM chats;", "in batches"),
        ("-- expand: x\nALTER TABLE chats ADD a int; ALTER TABLE rooms ADD a int;", "one table a file"),
        ("-- expand: x\nLOCK TABLE chats;", "locks it"),
        (f"-- contract {LEVEL + 1}: x\nDROP TABLE chats;", "there are 2 to"),
        (f"-- contract {LEVEL}: x\nDROP INDEX chats_old;", "DROP INDEX CONCURRENTLY"),
    ],
)
def test_what_would_hold_up_writers_or_break_the_version_before_is_refused(text: str, why: str) -> None:
    assert any(why in fault for fault in faults(read(text))), faults(read(text))
