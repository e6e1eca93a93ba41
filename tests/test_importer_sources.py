"""Each source in its real form: what becomes of it, and what is left out for which reason."""

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from bench import citus
from psycopg.types.json import Jsonb

import exports
from exports import Tree, text
from keepstone.errors import Invalid, NotFound, Unauthenticated
from keepstone.importers.items import Conversation, Item, LeftOut, Note, Reading
from keepstone.importers.sources import SOURCES
from keepstone.importers.text import clean, moment
from servers import LocalServer


def read(source: str, path: Path | str, **more: Any) -> list[Item]:
    return list(SOURCES[source](Reading(path=str(path), **more)))


def talks(items: list[Item]) -> list[Conversation]:
    return [item for item in items if isinstance(item, Conversation)]


def notes(items: list[Item]) -> list[Note]:
    return [item for item in items if isinstance(item, Note)]


def left(items: list[Item]) -> Counter[str]:
    found: Counter[str] = Counter()
    for item in items:
        if isinstance(item, LeftOut):
            found[item.reason] += item.count
    return found


def chatgpt(tmp_path: Path, *trees: Tree, **more: Any) -> list[Item]:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([tree.export() for tree in trees]))
    return read("chatgpt", path, **more)


# ------------------------------------------------------------------------------------------------------ ChatGPT


def test_of_a_tree_the_branch_that_is_shown_is_read_and_the_others_are_told(tmp_path: Path) -> None:
    tree = Tree(1, "Ferries")
    asked = tree.say("user", "When does the ferry leave?")
    tree.say("assistant", "At eight.")
    tree.say("user", "Are you sure?")
    tree.say("assistant", "At nine.", below=asked, metadata={"model_slug": "gpt-4o"})
    items = chatgpt(tmp_path, tree)
    (talk,) = talks(items)
    assert [(turn.speaker, turn.text) for turn in talk.turns] == [
        ("user", "When does the ferry leave?"),
        ("ChatGPT", "At nine."),
    ]
    assert left(items) == {"on a branch that was not gone on with": 2}
    answer = talk.turns[1]
    assert answer.reply_to == talk.turns[0].id
    assert answer.metadata["model"] == "gpt-4o"
    assert answer.metadata["session_id"] == talk.id == tree.id
    assert answer.at == datetime.fromtimestamp(tree.begun + 40, UTC)


def test_what_no_reader_saw_is_left_out_with_its_reason(tmp_path: Path) -> None:
    tree = Tree(1)
    tree.say("system", "You are ChatGPT.", metadata={"is_visually_hidden_from_conversation": True})
    tree.say(
        "user", {"content_type": "user_editable_context", "user_profile": "I am Ada.", "user_instructions": "Be brief."}
    )
    tree.say(
        "user",
        {
            "content_type": "multimodal_text",
            "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"}, "What is this?"],
        },
    )
    tree.say("assistant", {"content_type": "thoughts", "thoughts": []})
    tree.say("assistant", {"content_type": "code", "language": "python", "text": "1 + 1"}, recipient="python")
    tree.say("tool", {"content_type": "execution_output", "text": "2"}, name="python")
    tree.say(
        "tool",
        {"content_type": "tether_quote", "url": "u", "domain": "d", "text": "quoted", "title": "t"},
        name="browser",
    )
    tree.say("assistant", text(""))
    tree.say("assistant", "hidden", metadata={"is_visually_hidden_from_conversation": True})
    tree.say(
        "assistant",
        {
            "content_type": "multimodal_text",
            "parts": [
                {"content_type": "audio_transcription", "text": "A ferry."},
                {"content_type": "audio_asset_pointer"},
            ],
        },
    )
    tree.say("user", "thanks", metadata={"attachments": [{"id": "f", "name": "plan.pdf"}]})
    items = chatgpt(tmp_path, tree)
    assert [turn.text for turn in talks(items)[0].turns] == ["What is this?", "A ferry.", "thanks"]
    assert left(items) == {
        "system message": 1,
        "image": 1,
        "reasoning": 1,
        "said to a tool": 1,
        "said by a tool": 2,
        "empty message": 1,
        "hidden message": 1,
        "sound or video": 1,
        "attachment": 1,
    }
    (note,) = notes(items)
    assert (note.kind, note.content_md) == ("instruction", "I am Ada.\n\nBe brief.")
    with_tools = talks(chatgpt(tmp_path, tree, tools=True))[0].turns
    assert [(turn.speaker, turn.text) for turn in with_tools[1:4]] == [
        ("ChatGPT", "```python\n1 + 1\n```"),
        ("python", "2"),
        ("browser", "t\nu\nquoted"),
    ]


def test_missing_times_and_pointers_are_made_good(tmp_path: Path) -> None:
    tree = Tree(3)
    tree.say("user", "first", at=None)
    tree.say("assistant", "second", at=tree.begun + 100)
    tree.say("user", "third", at=None)
    whole = tree.export() | {"current_node": None}
    (tmp_path / "conversations.json").write_text(json.dumps([whole, {"title": "no tree"}, whole | {"mapping": {}}]))
    items = read("chatgpt", tmp_path)
    (talk,) = talks(items)
    assert [turn.text for turn in talk.turns] == ["first", "second", "third"]
    begun = datetime.fromtimestamp(tree.begun, UTC)
    assert [(turn.at - begun).total_seconds() for turn in talk.turns if turn.at] == [0, 100, 100]
    assert left(items) == {"no conversation": 2}


def test_a_tree_that_bites_its_tail_ends(tmp_path: Path) -> None:
    tree = Tree(4)
    first = tree.say("user", "round")
    last = tree.say("assistant", "and round")
    tree.mapping[first]["parent"] = last
    (talk,) = talks(chatgpt(tmp_path, tree))
    assert len(talk.turns) == 2


def test_half_a_surrogate_pair_and_a_nul_do_not_stop_an_import(tmp_path: Path) -> None:
    tree = Tree(5)
    tree.say("user", "cut \ud83d off\0")
    (talk,) = talks(chatgpt(tmp_path, tree))
    assert talk.turns[0].text == "cut \ufffd off"


@pytest.mark.parametrize("shards", [0, 3])
def test_the_whole_export_as_a_zip_in_one_file_or_in_several(tmp_path: Path, shards: int) -> None:
    items = read("chatgpt", exports.chatgpt_zip(tmp_path / "export.zip", 20, shards=shards), me="Ada")
    assert [talk.id for talk in talks(items)] == [exports.key("conversation", number) for number in range(20)]
    assert {turn.speaker for talk in talks(items) for turn in talk.turns} == {"Ada", "ChatGPT"}
    assert left(items) == {"on a branch that was not gone on with": 20}
    assert sum(len(talk.turns) for talk in talks(items)) == 200


# ------------------------------------------------------------------------------------------------------- Claude


def test_claudes_export_with_its_blocks_attachments_projects_and_memories(tmp_path: Path) -> None:
    said, message = exports.said, exports.claude_message
    attached = [
        {"file_name": "paste.txt", "file_size": 4, "file_type": "txt", "extracted_content": "pasted words"},
        {"file_name": "photo.jpg", "file_size": 4, "file_type": "jpg", "extracted_content": ""},
    ]
    talk = exports.claude_conversation(
        1,
        message("t", 1, "human", said("Look at this."), attachments=attached, files=[{"file_name": "image.png"}]),
        message(
            "t",
            2,
            "assistant",
            {"type": "thinking", "thinking": "hm"},
            said("I see."),
            {"type": "tool_use", "name": "search", "input": {"q": "x"}},
            {"type": "tool_result", "name": "search", "content": [{"type": "text", "text": "found"}]},
            said("Done."),
            text="I see.\n```\nThis block is not supported on your current device yet.\n```",
        ),
        message("t", 3, "human"),
    )
    old = exports.claude_conversation(2, message("o", 1, "human") | {"content": [], "text": "an old one"})
    project = {
        "uuid": "p1",
        "name": "House",
        "description": "About the house",
        "prompt_template": "Be practical.",
        "is_starter_project": False,
        "created_at": "2025-01-01T00:00:00Z",
        "updated_at": "2025-01-02T00:00:00Z",
        "docs": [
            {"uuid": "d1", "filename": "roof.md", "content": "The roof leaks.", "created_at": "2025-01-03T00:00:00Z"}
        ],
    }
    memories = [
        {
            "conversations_memory": "Ada builds engines.",
            "project_memories": {"p1": "The roof is next."},
            "account_uuid": "a",
        }
    ]
    path = exports.claude_zip(
        tmp_path / "claude.zip",
        [talk, old],
        [project, {"uuid": "s", "name": "Start", "is_starter_project": True}],
        memories,
    )
    items = read("claude", path)
    first, second = talks(items)
    assert [(turn.speaker, turn.text) for turn in first.turns] == [
        ("Ada Lovelace", "Look at this."),
        ("Ada Lovelace", "paste.txt:\n\npasted words"),
        ("Claude", "I see.\n\nDone."),
    ]
    assert first.turns[0].at == datetime(2025, 3, 1, 1, 0, 0, 123456, tzinfo=UTC)
    assert [turn.text for turn in second.turns] == ["an old one"]
    assert left(items) == {
        "attachment": 2,
        "reasoning": 1,
        "said to a tool": 1,
        "said by a tool": 1,
        "empty message": 1,
        "example project": 1,
    }
    assert [(note.kind, note.content_md, note.tags) for note in notes(items)] == [
        ("note", "About the house", ["claude", "House"]),
        ("instruction", "Be practical.", ["claude", "House"]),
        ("document", "The roof leaks.", ["claude", "House"]),
        ("memory", "Ada builds engines.", ["claude"]),
        ("memory", "The roof is next.", ["claude", "House"]),
    ]


def test_of_claudes_branches_the_last_is_read(tmp_path: Path) -> None:
    said, message, root = exports.said, exports.claude_message, "00000000-0000-4000-8000-000000000000"
    first, again = exports.key("b", 1), exports.key("b", 3)
    talk = exports.claude_conversation(
        1,
        message("b", 1, "human", said("first"), parent_message_uuid=root),
        message("b", 2, "assistant", said("refused"), parent_message_uuid=first),
        message("b", 3, "assistant", said("better"), parent_message_uuid=first),
        message("b", 4, "human", said("thanks"), parent_message_uuid=again),
    )
    items = read("claude", exports.claude_zip(tmp_path / "c.zip", [talk], [], []))
    assert [turn.text for turn in talks(items)[0].turns] == ["first", "better", "thanks"]
    assert left(items) == {"on a branch that was not gone on with": 1}


# ----------------------------------------------------------------------------------- mem0, OpenMemory and Letta


MEMORIES: list[dict[str, Any]] = [
    {
        "id": exports.key("mem0", number),
        "memory": f"Ada likes number {number}.",
        "user_id": "ada" if number % 2 else "bob",
        "hash": "h",
        "metadata": {"origin": "chat"},
        "categories": ["numbers"],
        "created_at": "2025-04-01T00:00:00-07:00",
        "updated_at": "2025-04-02T00:00:00-07:00",
    }
    for number in range(250)
]


def platform(path: str, body: bytes) -> tuple[int, bytes]:
    """The present listing: by pages, with filters in the body."""
    if not path.startswith("/v3/memories/"):
        return 404, b"{}"
    filters = json.loads(body)["filters"]
    mine = [one for one in MEMORIES if "OR" in filters or one["user_id"] == filters["AND"][0]["user_id"]]
    page = int(path.split("page=")[1].split("&", maxsplit=1)[0])
    some = mine[(page - 1) * 100 : page * 100]
    following = "next page" if page * 100 < len(mine) else None
    return 200, json.dumps({"count": len(mine), "next": following, "previous": None, "results": some}).encode()


def own_server(path: str, _body: bytes) -> tuple[int, bytes]:
    if not path.startswith("/memories?"):
        return 404, b'{"detail": "Not Found"}'
    return 200, json.dumps(
        {"results": [one for one in MEMORIES if "user_id=ada" not in path or one["user_id"] == "ada"]}
    ).encode()


@pytest.mark.parametrize("answer", [platform, own_server])
def test_mem0_is_read_over_its_api_page_by_page(answer: Any) -> None:
    server = LocalServer(answer)
    try:
        everything = read("mem0", server.url, token="m0-x")
        of_ada = read("mem0", server.url, token="m0-x", of="ada")
    finally:
        server.stop()
    assert [note.id for note in notes(everything)] == [one["id"] for one in MEMORIES]
    assert len(notes(of_ada)) == 125
    note = notes(everything)[1]
    assert (note.content_md, note.tags, note.kind) == ("Ada likes number 1.", ["mem0", "numbers"], "memory")
    assert note.created_at == datetime(2025, 4, 1, 7, tzinfo=UTC)
    assert note.metadata["user_id"] == "ada"
    assert note.metadata["metadata"] == {"origin": "chat"}


@pytest.mark.parametrize(("status", "fault"), [(401, Unauthenticated), (400, Invalid), (404, NotFound)])
def test_mem0_that_refuses_is_told(status: int, fault: type[Exception]) -> None:
    server = LocalServer(lambda _path, _body: (status, b'{"detail": "no"}'))
    try:
        with pytest.raises(fault):
            read("mem0", server.url)
    finally:
        server.stop()
    with pytest.raises(Invalid):
        read("mem0", "somewhere")


@pytest.mark.skipif(bool(citus.PROGRAMS), reason="another's database, which lies on one Postgres")
async def test_mem0_is_read_out_of_its_postgres(empty_database: str) -> None:
    async with await psycopg.AsyncConnection.connect(empty_database, autocommit=True) as conn:
        await conn.execute("CREATE EXTENSION vector")
        for table in ("mem0", "mem0_entities"):
            await conn.execute(f"CREATE TABLE {table} (id UUID PRIMARY KEY, vector vector(3), payload JSONB)")  # pyright: ignore[reportArgumentType, reportCallIssue]
        for one in MEMORIES:
            payload = {
                "data": one["memory"],
                "hash": "h",
                "user_id": one["user_id"],
                "created_at": one["created_at"],
                "topic": "maths",
            }
            await conn.execute("INSERT INTO mem0 VALUES (%s, '[1,2,3]', %s)", [one["id"], Jsonb(payload)])
        await conn.execute("INSERT INTO mem0 VALUES (gen_random_uuid(), '[1,2,3]', '{}')")
    items = read("mem0", empty_database)
    assert {note.id: note.content_md for note in notes(items)} == {one["id"]: one["memory"] for one in MEMORIES}
    assert notes(items)[0].metadata["metadata"] == {"topic": "maths"}
    assert left(items) == {"without a text": 1}
    assert len(notes(read("mem0", empty_database, of="ada"))) == 125
    with pytest.raises(Invalid):
        read("mem0", empty_database, table="nothing")


def check_openmemory(items: list[Item]) -> None:
    by_text = {note.content_md: note for note in notes(items)}
    assert set(by_text) == {"Ada prefers tea.", "Ada lived in Ockham."}
    assert by_text["Ada prefers tea."].tags == ["preferences", "cursor"]
    assert by_text["Ada prefers tea."].metadata["metadata"] == {"from": "chat"}
    archived = by_text["Ada lived in Ockham."]
    assert archived.tags == ["cursor", "archived"]
    assert archived.metadata["states"] == [{"from": "active", "to": "archived", "at": "2025-05-01T08:00:00Z"}]
    assert archived.created_at == datetime(2025, 5, 1, 8, tzinfo=UTC)
    assert left(items) == {"deleted there": 1, "of another user": 1}


def test_openmemory_is_read_out_of_its_sqlite(tmp_path: Path) -> None:
    path = exports.openmemory_sqlite(tmp_path / "openmemory.db")
    check_openmemory(read("openmemory", path, of="ada"))
    assert len(notes(read("openmemory", path))) == 3
    (tmp_path / "other.db").write_bytes(b"no database, but long enough to be looked at" * 100)
    for wrong, fault in ((tmp_path / "other.db", Invalid), (tmp_path / "nothing.db", NotFound)):
        with pytest.raises(fault):
            read("openmemory", wrong)


@pytest.mark.skipif(bool(citus.PROGRAMS), reason="another's database, which lies on one Postgres")
async def test_openmemory_is_read_out_of_its_postgres(empty_database: str) -> None:
    async with await psycopg.AsyncConnection.connect(empty_database, autocommit=True) as conn:
        await conn.execute(exports.OPENMEMORY)  # pyright: ignore[reportArgumentType]
        for table, rows in exports.openmemory_rows().items():
            for row in rows:
                marks = ", ".join(["%s"] * len(row))
                await conn.execute(f"INSERT INTO {table} VALUES ({marks})", row)  # pyright: ignore[reportArgumentType, reportCallIssue]
    check_openmemory(read("openmemory", empty_database, of="ada"))


def test_a_postgres_that_is_not_there_is_told_without_its_password() -> None:
    with pytest.raises(Invalid) as told:
        read("openmemory", "postgresql://ada:hidden@127.0.0.1:1/nothing")
    assert "hidden" not in told.value.message


def test_an_agent_file_gives_its_blocks_passages_files_and_what_was_said(tmp_path: Path) -> None:
    items = read("letta", exports.agent_file(tmp_path / "anna.af"), me="Ada")
    assert [(note.kind, note.content_md) for note in notes(items)] == [
        ("memory", "Name: Ada. Likes poems."),
        ("memory", "Ada met Babbage in 1833."),
        ("document", "The engine weaves patterns."),
    ]
    (talk,) = talks(items)
    assert [(turn.speaker, turn.text) for turn in talk.turns] == [
        ("Ada", "My cat is called Byron."),
        ("Anna", "Hello, Ada!"),
        ("Ada", "And my dog is called Shelley."),
        ("Anna", "Lovely names."),
    ]
    assert left(items) == {
        "empty memory block": 1,
        "system prompt": 1,
        "system message": 2,
        "said by a tool": 1,
        "said to a tool": 1,
        "tool": 1,
    }
    former = {
        "name": "Old",
        "core_memory": [{"label": "human", "value": "Old Ada."}],
        "messages": [{"role": "user", "text": "hi"}],
    }
    (tmp_path / "old.af").write_text(json.dumps(former))
    assert [note.content_md for note in notes(read("letta", tmp_path / "old.af"))] == ["Old Ada."]
    (tmp_path / "wrong.af").write_text("{}")
    with pytest.raises(Invalid):
        read("letta", tmp_path / "wrong.af")


# -------------------------------------------------------------------------------------------------------- notes


def test_a_vault_is_a_note_a_file_with_its_folders_and_tags(tmp_path: Path) -> None:
    items = read("markdown", exports.vault(tmp_path / "vault"))
    by_id = {note.id: note for note in notes(items)}
    assert list(by_id) == [
        "Broken.md",
        "MEMORY.md#People",
        "MEMORY.md#Places",
        "Daily/2025-01-02.md",
        "Recipes/Bread.md",
    ]
    daily = by_id["Daily/2025-01-02.md"]
    assert daily.tags == ["daily", "work/meetings", "people/ben", "Daily"]
    assert daily.created_at == datetime(2025, 1, 2, 9, 30, tzinfo=UTC)
    assert daily.content_md == "Met Ben. #people/ben and `#not-a-tag`"
    assert daily.metadata["aliases"] == ["second"]
    assert by_id["Recipes/Bread.md"].tags == ["baking", "Recipes"]
    assert by_id["Recipes/Bread.md"].title == "Bread"
    assert by_id["Broken.md"].content_md.endswith("Still worth keeping.")
    assert (by_id["MEMORY.md#People"].kind, by_id["MEMORY.md#People"].content_md) == (
        "memory",
        "## People\n\nBen likes tea.",
    )
    assert left(items) == {"no Markdown": 1, "empty file": 1, "front matter that is no YAML, kept as text": 1}


def test_a_note_larger_than_a_capsule_is_cut_at_its_headings_and_loses_nothing(tmp_path: Path) -> None:
    sections = [f"# Part {number}\n\n" + f"word{number} ünd " * 30_000 + "\n" for number in range(4)]
    whole = "".join(sections) + "# Long\n" + "x" * 1_000_000
    (tmp_path / "large.md").write_text(whole)
    parts = notes(read("markdown", tmp_path / "large.md"))
    assert len(parts) > 3
    assert all(len(part.content_md.encode()) <= 800 * 1024 for part in parts)
    assert "".join(part.content_md for part in parts) == whole
    assert parts[0].content_md.startswith("# Part 0")
    assert parts[1].content_md.startswith("# Part ")


def test_front_matter_that_would_explode_is_kept_as_text(tmp_path: Path) -> None:
    bomb = "a: &a [x,x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)},*{chr(97 + n)}]\n" for n in range(20)
    )
    (tmp_path / "bomb.md").write_text(f"---\n{bomb}---\ntext\n")
    (note,) = notes(read("markdown", tmp_path / "bomb.md"))
    assert note.content_md.startswith("---")


def test_a_transcript_takes_the_names_that_others_use(tmp_path: Path) -> None:
    lines = [
        '{"speaker": "Ada", "text": "hello", "ts": "2025-01-01T10:00:00Z", "id": "1", "channel": "x"}',
        '{"role": "assistant", "content": [{"type": "text", "text": "hi"}], "timestamp": 1735725601000,'
        ' "reply_to": "1"}',
        '{"role": "user", "content": "yes"}',
        '{"role": "user", "content": "yes"}',
        "no json",
        "[]",
        '{"role": "user", "content": ""}',
        "",
    ]
    (tmp_path / "talk.jsonl").write_text("\n".join(lines))
    items = read("jsonl", tmp_path / "talk.jsonl", me="Ben")
    (talk,) = talks(items)
    assert [(turn.speaker, turn.text) for turn in talk.turns] == [
        ("Ada", "hello"),
        ("assistant", "hi"),
        ("Ben", "yes"),
        ("Ben", "yes"),
    ]
    assert len({turn.id for turn in talk.turns}) == 4
    assert talk.turns[1].reply_to == talk.turns[0].id
    assert talk.turns[1].at == datetime(2025, 1, 1, 10, 0, 1, tzinfo=UTC)
    assert talk.turns[0].metadata == {"channel": "x"}
    assert left(items) == {"line that is no JSON": 1, "line that is no object": 1, "line without a text": 1}


@pytest.mark.parametrize("source", ["chatgpt", "claude", "letta", "markdown", "jsonl", "keepstone", "openmemory"])
def test_a_path_that_is_not_there_is_told(source: str, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read(source, tmp_path / "nothing")


@pytest.mark.parametrize("source", ["chatgpt", "claude", "letta", "markdown", "jsonl", "keepstone"])
def test_a_folder_without_an_export_is_told(source: str, tmp_path: Path) -> None:
    with pytest.raises(Invalid):
        read(source, tmp_path)


@pytest.mark.parametrize("value", [None, True, "yesterday", 1e300, -1e300, float("nan"), [], {}])
def test_what_is_no_time_is_none(value: Any) -> None:
    assert moment(value) is None


@pytest.mark.parametrize(
    "value", [1735689600, 1735689600000, "1735689600.0", "2025-01-01", "2025-01-01T01:00:00+01:00"]
)
def test_a_time_is_read_in_the_forms_that_are_about(value: Any) -> None:
    assert moment(value) == datetime(2025, 1, 1, tzinfo=UTC)


def test_a_text_without_faults_stays_as_it_is() -> None:
    assert clean("ü 🙂 \n\t 选型") == "ü 🙂 \n\t 选型"
