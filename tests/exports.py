"""Makers of exports in the forms that other systems write, as large as a test wants them."""

import json
import sqlite3
import uuid
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

BEGUN = 1_700_000_000.0
SUBJECTS = ("the ferry to Naxos", "sourdough", "a trip to Lisbon", "Postgres indexes", "the garden", "a birthday")


def key(*parts: Any) -> str:
    """An id as these systems have them, the same for the same parts."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join(map(str, parts))))


# ------------------------------------------------------------------------------------------------------ ChatGPT


def chatgpt_message(node: str, role: str, content: dict[str, Any], at: float | None, **more: Any) -> dict[str, Any]:
    """A message with the fields of the export, also those that say nothing."""
    return {
        "id": node,
        "author": {"role": role, "name": more.pop("name", None), "metadata": {}},
        "create_time": at,
        "update_time": None,
        "content": content,
        "status": "finished_successfully",
        "end_turn": True,
        "weight": 1.0,
        "metadata": more.pop("metadata", {}),
        "recipient": more.pop("recipient", "all"),
        "channel": None,
    }


def text(*parts: Any) -> dict[str, Any]:
    return {"content_type": "text", "parts": list(parts)}


class Tree:
    """A conversation as a tree: each message below the one before, or below another."""

    def __init__(self, number: int | str, title: str | None = None) -> None:
        self.id = key("conversation", number)
        self.title = title or f"About {SUBJECTS[int(number) % len(SUBJECTS)] if str(number).isdigit() else number}"
        self.begun = BEGUN + (int(number) * 4000 if str(number).isdigit() else 0)
        self.mapping: dict[str, Any] = {}
        self.at = self.add(None, None)

    def add(self, message: dict[str, Any] | None, parent: str | None) -> str:
        node = str(message["id"]) if message else key(self.id, "root")
        self.mapping[node] = {"id": node, "message": message, "parent": parent, "children": []}
        if parent:
            self.mapping[parent]["children"].append(node)
        self.at = node
        return node

    def say(self, role: str, content: dict[str, Any] | str, *, below: str | None = None, **more: Any) -> str:
        node = key(self.id, len(self.mapping))
        content = text(content) if isinstance(content, str) else content
        at = more.pop("at", self.begun + 10 * len(self.mapping))
        return self.add(chatgpt_message(node, role, content, at, **more), below or self.at)

    def export(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "create_time": self.begun,
            "update_time": self.begun + 10 * len(self.mapping),
            "mapping": self.mapping,
            "moderation_results": [],
            "current_node": self.at,
            "plugin_ids": None,
            "conversation_id": self.id,
            "conversation_template_id": None,
            "gizmo_id": None,
            "is_archived": False,
            "safe_urls": [],
            "default_model_slug": "gpt-4o",
            "id": self.id,
        }


def chatgpt_conversation(number: int, turns: int = 5) -> Tree:
    """Hidden system message and root as in every export, questions with answers, and one answer that was made anew."""
    tree = Tree(number)
    tree.say("system", "", at=None, metadata={"is_visually_hidden_from_conversation": True})
    for turn in range(turns):
        subject = SUBJECTS[(number + turn) % len(SUBJECTS)]
        asked = tree.say("user", f"Question {turn} of conversation {number}: what about {subject}? 🙂")
        if turn == 0:
            tree.say("assistant", "A first answer that nobody liked.")
        model = {"model_slug": "gpt-4o"}
        said = f"Answer {turn} of conversation {number}, on {subject}. " + f"It takes {number % 97} steps. " * 6
        tree.say("assistant", said, below=asked, metadata=model)
    return tree


def write_array(file: IO[bytes], items: Iterator[Any]) -> None:
    file.write(b"[")
    for number, item in enumerate(items):
        file.write((b"," if number else b"") + json.dumps(item).encode())
    file.write(b"]")


def chatgpt_zip(path: Path, count: int, *, shards: int = 0, turns: int = 5) -> Path:
    """The export of somebody with so many conversations; written as it will be read, one at a time."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "user.json", json.dumps({"id": "user-x", "email": "ada@example.org", "chatgpt_plus_user": True})
        )
        archive.writestr("chat.html", "<html></html>")
        each = -(-count // shards) if shards else count
        for shard in range(shards or 1):
            name = f"conversations-{shard:03}.json" if shards else "conversations.json"
            numbers = range(shard * each, min(count, (shard + 1) * each))
            with archive.open(name, "w", force_zip64=True) as file:
                write_array(file, (chatgpt_conversation(number, turns).export() for number in numbers))
    return path


# ------------------------------------------------------------------------------------------------------- Claude


def claude_message(talk: str, number: int, sender: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    at = f"2025-03-{1 + number // 24:02}T{number % 24:02}:00:00.123456Z"
    return {
        "uuid": key(talk, number),
        "text": "\n".join(block["text"] for block in blocks if block.get("type") == "text"),
        "content": [{"start_timestamp": at, "stop_timestamp": at, "citations": [], **block} for block in blocks],
        "sender": sender,
        "created_at": at,
        "updated_at": at,
        "attachments": [],
        "files": [],
        **more,
    }


def said(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def claude_conversation(number: int, *messages: dict[str, Any]) -> dict[str, Any]:
    return {
        "uuid": key("claude", number),
        "name": f"Talk {number}",
        "summary": "",
        "created_at": "2025-03-01T00:00:00.000000Z",
        "updated_at": "2025-03-02T00:00:00.000000Z",
        "account": {"uuid": key("account")},
        "chat_messages": list(messages),
    }


def claude_zip(path: Path, conversations: list[dict[str, Any]], projects: list[Any], memories: list[Any]) -> Path:
    users = [{"uuid": key("account"), "full_name": "Ada Lovelace", "email_address": "ada@example.org"}]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (
            ("users.json", users),
            ("conversations.json", conversations),
            ("projects.json", projects),
            ("memories.json", memories),
        ):
            archive.writestr(name, json.dumps(content, ensure_ascii=False))
    return path


# -------------------------------------------------------------------------------------------- Letta, OpenMemory


def agent_file(path: Path) -> Path:
    def message(number: int, role: str, content: Any, **more: Any) -> dict[str, Any]:
        return {
            "type": "message", "id": f"message-{number}", "role": role, "content": content, "name": None,
            "agent_id": "agent-0", "tool_calls": None, "tool_call_id": None,
            "created_at": f"2025-09-01T10:00:{number:02}+00:00", **more,
        }  # fmt: skip

    call = {
        "id": "call-1",
        "type": "function",
        "function": {"name": "send_message", "arguments": '{"message": "Hello, Ada!"}'},
    }
    other = {"id": "call-2", "type": "function", "function": {"name": "memory_insert", "arguments": "{}"}}
    packed = json.dumps({"type": "user_message", "message": "My cat is called Byron.", "time": "2025-09-01 10:00:02"})
    whole = {
        "agents": [
            {
                "id": "agent-0", "name": "Anna", "system": "You are Anna.", "block_ids": ["block-0", "block-1"],
                "tool_ids": ["tool-0"], "messages": [
                    message(0, "system", [said("You are Anna.")]),
                    message(1, "user", [said('{"type": "login", "time": "now"}')]),
                    message(2, "user", [said(packed)]),
                    message(3, "assistant", [said("They want a greeting.")], tool_calls=[call]),
                    message(4, "tool", [said('{"status": "OK"}')], tool_call_id="call-1"),
                    message(5, "user", [said("And my dog is called Shelley.")]),
                    message(6, "assistant", [said("I note it.")], tool_calls=[other]),
                    message(7, "assistant", [said("Lovely names.")]),
                ],
            }
        ],
        "groups": [], "sources": [], "mcp_servers": [], "tools": [{"id": "tool-0", "name": "send_message"}],
        "blocks": [
            {"id": "block-0", "label": "human", "value": "Name: Ada. Likes poems.", "limit": 20000, "description": "d"},
            {"id": "block-1", "label": "persona", "value": "", "limit": 20000, "description": "p"},
        ],
        "files": [{"id": "file-0", "file_name": "notes.txt", "content": "The engine weaves patterns."}],
        "archival_memory": [
            {"id": "passage-0", "text": "Ada met Babbage in 1833.", "created_at": "2025-08-01T00:00:00Z"}
        ],
        "metadata": {"revision_id": "x"}, "created_at": "2025-09-02T00:00:00+00:00",
    }  # fmt: skip
    path.write_text(json.dumps(whole))
    return path


OPENMEMORY = """
CREATE TABLE users (id CHAR(32) PRIMARY KEY, user_id VARCHAR NOT NULL, name VARCHAR, email VARCHAR, metadata JSON);
CREATE TABLE apps (id CHAR(32) PRIMARY KEY, owner_id CHAR(32) NOT NULL, name VARCHAR NOT NULL, is_active BOOLEAN);
CREATE TABLE memories (id CHAR(32) PRIMARY KEY, user_id CHAR(32) NOT NULL, app_id CHAR(32) NOT NULL,
  content VARCHAR NOT NULL, vector VARCHAR, metadata JSON, state VARCHAR(8), created_at TIMESTAMP, updated_at TIMESTAMP,
  archived_at TIMESTAMP, deleted_at TIMESTAMP);
CREATE TABLE categories (id CHAR(32) PRIMARY KEY, name VARCHAR NOT NULL, description VARCHAR);
CREATE TABLE memory_categories (memory_id CHAR(32) NOT NULL, category_id CHAR(32) NOT NULL);
CREATE TABLE memory_status_history (id CHAR(32) PRIMARY KEY, memory_id CHAR(32) NOT NULL, changed_by CHAR(32) NOT NULL,
  old_state VARCHAR(8) NOT NULL, new_state VARCHAR(8) NOT NULL, changed_at TIMESTAMP);
"""


def openmemory_rows() -> dict[str, list[tuple[Any, ...]]]:
    def plain(*parts: Any) -> str:
        return key(*parts).replace("-", "")

    made = "2025-05-01 08:00:00.000000"
    ada, bob, app = plain("ada"), plain("bob"), plain("app")
    return {
        "users": [(ada, "ada", "Ada", "ada@example.org", None), (bob, "bob", "Bob", None, None)],
        "apps": [(app, ada, "cursor", True)],
        "memories": [
            (plain("m", 1), ada, app, "Ada prefers tea.", None, '{"from": "chat"}', "active", made, made, None, None),
            (plain("m", 2), ada, app, "Ada lived in Ockham.", None, None, "archived", made, made, made, None),
            (plain("m", 3), ada, app, "Ada disliked tea.", None, None, "deleted", made, made, None, made),
            (plain("m", 4), bob, app, "Bob prefers coffee.", None, None, "active", made, made, None, None),
        ],
        "categories": [(plain("c", 1), "preferences", None)],
        "memory_categories": [(plain("m", 1), plain("c", 1))],
        "memory_status_history": [(plain("h", 1), plain("m", 2), ada, "active", "archived", made)],
    }


def openmemory_sqlite(path: Path) -> Path:
    conn = sqlite3.connect(path)
    conn.executescript(OPENMEMORY)
    for table, rows in openmemory_rows().items():
        conn.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    conn.commit()
    conn.close()
    return path


# -------------------------------------------------------------------------------------------------------- notes


def vault(folder: Path) -> Path:
    """A small Obsidian vault."""
    files = {
        "Daily/2025-01-02.md": (
            "---\ntags: [daily, work/meetings]\ncreated: 2025-01-02T09:30:00\naliases:\n- second\n---\n"
            "Met Ben. #people/ben and `#not-a-tag`\n"
        ),
        "Recipes/Bread.md": "# Bread\n\nFlour, water, salt. #baking\n\n```sh\n# no heading, no #tag\n```\n",
        "Broken.md": "---\ntags: [a\n---\nStill worth keeping.\n",
        "Empty.md": "---\ntags: []\n---\n\n",
        "MEMORY.md": "# Memory\n\n## People\n\nBen likes tea.\n\n## Places\n\nThe office is in Naxos.\n\n## Nothing\n",
        ".obsidian/app.json": "{}",
    }
    for name, words in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(words)
    (folder / "Daily" / "photo.png").write_bytes(b"\x89PNG")
    return folder
