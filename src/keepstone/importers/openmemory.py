"""OpenMemory's database, SQLite or Postgres: memories with their app, categories and states."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from keepstone.errors import Invalid
from keepstone.importers.items import Item, LeftOut, Note, Reading
from keepstone.importers.tables import SourceTables, open_tables
from keepstone.importers.text import clean, cleaned, first_line, labels, moment, packed_fields, titled, wire_time


def read(reading: Reading) -> Iterator[Item]:
    with open_tables(reading.path) as tables:
        if "memories" not in tables.names("id", "content", "state"):
            raise Invalid("There is no table of memories with a content and a state: is it OpenMemory's database?")
        present = set(tables.names("id"))
        users = {_key(row["id"]): row for row in tables.rows("users")} if "users" in present else {}
        apps = {_key(row["id"]): str(row.get("name") or "") for row in tables.rows("apps")} if "apps" in present else {}
        categories = _categories(tables, present)
        states = _states(tables, present)
        for row in tables.rows("memories"):
            key, user = _key(row["id"]), users.get(_key(row.get("user_id")), {})
            whose = str(user.get("user_id") or user.get("email") or _key(row.get("user_id")))
            state, content = _state(row.get("state")), str(row.get("content") or "")
            if reading.of and reading.of not in {whose, str(user.get("email")), str(user.get("name"))}:
                yield LeftOut(reason="of another user", what=key)
            elif state == "deleted":
                yield LeftOut(reason="deleted there", what=key)
            elif not content.strip():
                yield LeftOut(reason="without a text", what=key)
            else:
                app = apps.get(_key(row.get("app_id")), "")
                given = packed_fields(row.get("metadata"))
                about = {"source": "openmemory", "id": key, "user": clean(whose), "app": clean(app), "state": state}
                yield Note(
                    id=key, title=titled(first_line(content), "Memory"), content_md=clean(content), kind="memory",
                    tags=labels(*categories[key], app, None if state == "active" else state),
                    created_at=moment(row.get("created_at")), updated_at=moment(row.get("updated_at")),
                    metadata=about
                    | ({"metadata": cleaned(given)} if given else {})
                    | ({"states": states[key]} if states[key] else {}),
                )  # fmt: skip


def _categories(tables: SourceTables, present: set[str]) -> defaultdict[str, list[str]]:
    categories: defaultdict[str, list[str]] = defaultdict(list)
    if "categories" not in present:
        return categories
    names = {_key(row["id"]): str(row.get("name") or "") for row in tables.rows("categories")}
    if "memory_categories" in tables.names("memory_id", "category_id"):
        for row in tables.rows("memory_categories", order="memory_id"):
            categories[_key(row["memory_id"])].append(names.get(_key(row["category_id"]), ""))
    return categories


def _states(tables: SourceTables, present: set[str]) -> defaultdict[str, list[dict[str, Any]]]:
    """What became of each memory, the earliest first."""
    changes: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    if "memory_status_history" in present:
        for row in tables.rows("memory_status_history", order="changed_at"):
            at = moment(row.get("changed_at"))
            change = {"from": _state(row.get("old_state")), "to": _state(row.get("new_state"))}
            changes[_key(row["memory_id"])].append(change | ({"at": wire_time(at)} if at else {}))
    return changes


def _key(value: Any) -> str:
    """SQLite has ids without their dashes."""
    try:
        return str(UUID(str(value)))
    except ValueError:
        return str(value)


def _state(value: Any) -> str:
    return str(value or "active").rsplit(".", 1)[-1]
