"""Where groups talk, Slack and WhatsApp, and Open WebUI: what becomes of their exports, and what is left out."""

import json
import tracemalloc
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import exports
import talk_exports as talk
from keepstone.errors import Invalid
from keepstone.importers.detect import check_source, source_of
from keepstone.importers.items import Conversation, Reading, Remark
from keepstone.importers.sources import SOURCES
from test_importer_sources import left, notes, read, talks


def test_slacks_channels_are_scopes_with_names_times_threads_and_edits(tmp_path: Path) -> None:
    items = read("slack", talk.slack_zip(tmp_path / "slack.zip"))
    by_scope = {conversation.scope: conversation for conversation in reversed(talks(items))}
    assert set(by_scope) == {"slack:general", "slack:Ada (ada), Ben Ito", "slack:Ada (ada), Ada (ada2), Ben Ito"}
    general = by_scope["slack:general"].turns
    assert by_scope["slack:general"].title == "#general"
    assert [(turn.speaker, turn.text) for turn in general] == [
        (
            "Ada (ada)",
            "@Ben Ito the ferry leaves at 9 <sharp> & early, see [the timetable](https://example.org/ferry) and "
            "#travel @here",
        ),
        ("Ben Ito", "Nine it is."),
        ("Ada (ada2)", "I come too."),
        ("Timetable", "The ferry is *late*."),
    ]
    assert general[0].at == datetime(2024, 3, 1, 8, 0, 0, 100, tzinfo=UTC)
    assert [turn.reply_to for turn in general] == [None, general[0].id, None, None]
    assert general[1].metadata["edited_at"] == "2024-03-01T08:02:00Z"
    assert general[3].metadata["bot"] is True
    assert left(items) == {"told by Slack itself, such as who joined": 2, "attachment": 1}


def test_a_busy_day_of_slack_takes_no_more_memory_than_a_quiet_one(tmp_path: Path) -> None:
    busy = [talk.slack_message(f"1709280{n:06}.000100", "U01ADA", f"message {n} " * 20) for n in range(20_000)]
    reading = Reading(path=str(talk.slack_zip(tmp_path / "busy.zip", busy)))
    busy.clear()
    tracemalloc.start()
    said = sum(len(item.turns) for item in talks_of(reading))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert said == 20_003
    assert most < 16 * 1024 * 1024


def talks_of(reading: Reading) -> Iterator[Conversation]:
    return (item for item in SOURCES["slack"](reading) if isinstance(item, Conversation))


@pytest.mark.parametrize(
    ("name", "text", "chat", "said", "gone"),
    [
        (
            "_chat.txt", talk.IOS_GERMAN, "Familie",
            [
                ("Anna", "Die Fähre fährt um neun.\nWirklich: um neun!", "2024-03-12T13:05:40"),
                ("Ben Ito", "Kommt ihr?", "2024-03-12T13:06:02"), ("Anna", "Ja.", "2024-03-12T13:07:00"),
                ("Anna", "ok", "2024-03-13T08:00:00"), ("Anna", "ok", "2024-03-13T08:00:00"),
            ],
            {"told by": 2, "attachment": 1, "deleted there": 1},
        ),
        (
            "WhatsApp Chat with Trip to Naxos (1).txt", talk.ANDROID_AMERICAN, "Trip to Naxos",
            [
                ("Ada", "The ferry leaves at 9: sharp", "2024-03-09T13:06:00"),
                ("Ben", "the pier", "2024-03-09T23:01:00"), ("+44 7700 900123", "hello", "2024-04-02T05:00:00"),
            ],
            {"told by": 2, "attachment": 2},
        ),
        (
            "与小明的WhatsApp聊天.txt", talk.ANDROID_CHINESE, "小明",
            [("小明", "渡轮九点开。", "2024-03-12T13:05:00"), ("小红", "好的", "2024-03-12T13:06:00")], {},
        ),
    ],
)  # fmt: skip
def test_whatsapps_chats_are_read_as_phones_of_many_languages_write_them(
    tmp_path: Path, name: str, text: str, chat: str, said: list[tuple[str, str, str]], gone: dict[str, int]
) -> None:
    (tmp_path / name).write_text(text, newline="")
    items = read("whatsapp", tmp_path / name, zone="Europe/Berlin")
    (conversation,) = talks(items)
    assert (conversation.title, conversation.scope) == (chat, f"whatsapp:{chat}")
    assert [(turn.speaker, turn.text, turn.at.isoformat()[:19]) for turn in conversation.turns if turn.at] == said
    assert {next(short for short in gone if reason.startswith(short)): n for reason, n in left(items).items()} == gone
    assert len({turn.id for turn in conversation.turns}) == len(said)
    assert not [item for item in items if isinstance(item, Remark)]
    assert source_of(tmp_path / name) == "whatsapp"


def test_a_day_that_could_be_a_month_is_read_as_told_and_if_nobody_tells_it_is_said(tmp_path: Path) -> None:
    def read_as(text: str, **more: Any) -> tuple[list[int], list[str]]:
        path = tmp_path / "WhatsApp Chat with Ben.txt"
        path.write_text(text)
        items = read("whatsapp", path, **more)
        days = [turn.at.month for one in talks(items) for turn in one.turns if turn.at]
        return days, [item.text for item in items if isinstance(item, Remark)]

    months, remarks = read_as(talk.UNSURE)
    assert months == [4, 4]
    assert "dates=mdy" in remarks[0]
    assert read_as(talk.UNSURE, dates="mdy") == ([3, 3], [])
    american = talk.UNSURE.replace("14:0", "2:0").replace(" -", " PM -")
    assert read_as(american)[0] == [3, 3]
    assert read_as(american, language="zh")[0] == [4, 4]
    # Time does not go backwards: of the third of December and the first of April, March and April remain.
    assert read_as("3/12/24, 14:05 - Ada: one\n4/1/24, 14:06 - Ada: two\n") == ([3, 4], [])
    assert read_as("03.04.24, 14:05 - Ada: one\n") == ([4], [])
    assert read_as("2024-04-03, 14:05 - Ada: one\n99/99/99, 14:05 - Ada: none\n")[0] == [4]


def test_a_zip_of_whatsapps_is_called_as_its_chat_and_tells_its_pictures(tmp_path: Path) -> None:
    path = tmp_path / "WhatsApp Chat - Trip.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_chat.txt", "[12/03/2024, 14:05:33] Ada: hello\n[13/03/2024, 14:05:33] Ada: bye\n")
        archive.writestr("00000012-PHOTO.jpg", b"jpg")
    items = read("whatsapp", path)
    assert talks(items)[0].scope == "whatsapp:Trip"
    assert left(items) == {"attached file": 1}
    assert source_of(path) == "whatsapp"


def test_open_webuis_chats_are_read_on_the_branch_that_is_shown_without_thoughts(tmp_path: Path) -> None:
    path = tmp_path / "chat-export-1720000000.json"
    path.write_text(json.dumps(talk.openwebui_chats() + talk.OPENWEBUI_MEMORIES))
    items = read("openwebui", path, me="Ada")
    (conversation,) = talks(items)
    assert [(turn.speaker, turn.text) for turn in conversation.turns] == [
        ("Ada", "When does the ferry leave?"),
        ("Qwen 3", "At nine.\n\n<details><summary>More</summary>It is blue.</details>"),
        ("Ada", "Thanks."),
    ]
    assert conversation.turns[1].metadata["tags"] == ["travel"]
    assert [(note.kind, note.content_md) for note in notes(items)] == [("memory", "Ada likes ferries.")]
    assert left(items) == {"on a branch that was not gone on with": 1, "attachment": 1, "reasoning": 1}
    assert source_of(path) == "openwebui"


def samples(folder: Path) -> dict[str, Path]:
    """A file of each source whose file can be taken for another's."""
    chat = exports.claude_conversation(1, exports.claude_message("t", 1, "human", exports.said("hello")))
    (folder / "chats.json").write_text(json.dumps(talk.openwebui_chats()))
    (folder / "_chat.txt").write_text(talk.IOS_GERMAN)
    (folder / "notes.md").write_text("# A note\n\ntext")
    (folder / "talk.jsonl").write_text('{"speaker": "Ada", "text": "hello"}\n')
    (folder / "mem0.json").write_text('{"results": [{"id": "m1", "memory": "Likes tea"}]}')
    return {
        "chatgpt": exports.chatgpt_zip(folder / "chatgpt.zip", 1),
        "claude": exports.claude_zip(folder / "claude.zip", [chat], [], []),
        "openwebui": folder / "chats.json",
        "slack": talk.slack_zip(folder / "slack.zip"),
        "whatsapp": folder / "_chat.txt",
        "letta": exports.agent_file(folder / "anna.af"),
        "openmemory": exports.openmemory_sqlite(folder / "o.db"),
        "markdown": folder / "notes.md",
        "jsonl": folder / "talk.jsonl",
        "mem0": folder / "mem0.json",
    }


def test_every_source_that_is_given_anothers_file_names_it(tmp_path: Path) -> None:
    files = samples(tmp_path)
    for real, path in files.items():
        assert source_of(path) == real
        check_source(path, real)
        for taken_for in SOURCES.keys() - {real}:
            with pytest.raises(Invalid, match=f"use source={real}") as told:
                check_source(path, taken_for)
            assert told.value.details == {"looks_like": real}


@pytest.mark.parametrize("source", ["openwebui", "slack", "whatsapp"])
def test_what_is_no_such_export_is_told(source: str, tmp_path: Path) -> None:
    for name, text in (("x.json", "[]"), ("x.txt", "nothing"), ("empty.json", "")):
        (tmp_path / name).write_text(text)
        with pytest.raises(Invalid):
            read(source, tmp_path / name)
