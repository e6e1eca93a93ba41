"""What models kept and wrote beside the talk: ChatGPT's memories, instructions, canvas, projects and marks; Claude's
artifacts, projects and memories.
"""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import exports
from exports import Tree, text
from keepstone.importers.detect import source_of
from keepstone.importers.drafts import Drafts
from keepstone.importers.items import LeftOut, Note
from keepstone.importers.marks import unmarked
from test_importer_sources import chatgpt, left, notes, read, talks

CITED = "\ue200cite\ue202turn0search3\ue202turn1news2\ue201"


def told(tree: Tree, tool: str, what: Any, *, answer: dict[str, Any] | None = None, **more: Any) -> None:
    """The model says something to a tool, which answers."""
    words = what if isinstance(what, str) else json.dumps(what)
    tree.say("assistant", {"content_type": "code", "language": "json", "text": words} if tool != "bio" else words,
             recipient=tool, **more)  # fmt: skip
    about = {"canvas": answer} if answer else {}
    tree.say("tool", "Model set context updated." if tool == "bio" else "Successfully done.", name=tool, metadata=about)


def test_what_chatgpt_was_told_to_remember_is_kept_word_for_word_and_once(tmp_path: Path) -> None:
    tree, again = Tree(1, "Tea"), Tree(2, "More tea")
    asked = tree.say("user", "I like tea. Remember it.")
    told(tree, "bio", "User likes tea; the green one.")
    tree.say("assistant", "Noted.")
    told(tree, "bio", "User has a cat.", below=asked)  # on another branch, and remembered all the same
    tree.say("assistant", "I keep it in mind.")
    told(again, "bio", "User likes tea; the green one.")
    again.say("assistant", "I know.")
    items = chatgpt(tmp_path, tree, again)
    kept = {note.id: note for note in notes(items)}
    assert sorted((note.kind, note.content_md) for note in kept.values()) == [
        ("memory", "User has a cat."),
        ("memory", "User likes tea; the green one."),
    ]
    assert all(note.created_at and note.tags == ["chatgpt"] for note in kept.values())
    assert left(items) == {"said by a tool": 2, "on a branch that was not gone on with": 1}


def test_instructions_are_kept_as_their_owner_wrote_them(tmp_path: Path) -> None:
    tree = Tree(1)
    wrapped = {"content_type": "user_editable_context", "user_profile": "The user provided: ```I sail.```",
               "user_instructions": "They would like: ```Be brief.```"}  # fmt: skip
    own = {"about_user_message": "I sail.", "about_model_message": "Be brief."}
    about = {"is_user_system_message": True, "is_visually_hidden_from_conversation": True}
    tree.say("user", wrapped, metadata=about | {"user_context_message_data": own})
    tree.say("user", "hello")
    (note,) = notes(chatgpt(tmp_path, tree))
    assert (note.kind, note.content_md) == ("instruction", "I sail.\n\nBe brief.")


def test_a_canvas_is_kept_as_it_was_in_the_end_in_the_project_of_its_conversation(tmp_path: Path) -> None:
    tree = Tree(1, "Poems")
    tree.say("user", "Write two things.")
    poem, program = {"textdoc_id": "doc-poem"}, {"textdoc_id": "doc-program"}
    made = {"name": "Ferry", "type": "document", "content": f"The ferry (old) leaves. {CITED}\nAt eight."}
    told(tree, "canmore.create_textdoc", made, answer=poem)
    code = {"name": "timetable", "type": "code/python", "content": "print(8)"}
    told(tree, "canmore.create_textdoc", code, answer=program)
    edits = [
        {"pattern": "At eight\\.", "multiple": False, "replacement": "At nine."},
        {"pattern": "The ferry (old)", "multiple": False, "replacement": "The ferry"},
        {"pattern": "(a+)+$", "multiple": True, "replacement": "never"},
    ]
    told(tree, "canmore.update_textdoc", {"updates": edits}, answer=poem)
    told(tree, "canmore.update_textdoc", {"updates": [{"pattern": ".*", "replacement": "print(9)"}]}, answer=program)
    told(tree, "canmore.update_textdoc", {"updates": [{"pattern": ".*", "replacement": "bad"}]},
         answer=program | {"is_failure": True})  # fmt: skip
    told(tree, "canmore.comment_textdoc", {"comments": []})
    tree.say("assistant", "Done.")
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([tree.export() | {"conversation_template_id": "g-p-68a1b2c3d4e5f6", "gizmo_id": "g-x"}]))
    items = read("chatgpt", path)
    assert {note.title: note.content_md for note in notes(items)} == {
        "Ferry": "The ferry leaves.\nAt nine.",
        "timetable": "```python\nprint(9)\n```",
    }
    assert {(note.kind, note.project.id if note.project else "") for note in notes(items)} == {
        ("document", "g-p-68a1b2c3d4e5f6")
    }
    (conversation,) = talks(items)
    assert conversation.project is not None
    assert conversation.turns[0].metadata["project"] == conversation.project.name == "ChatGPT project 68a1b2c3"
    assert left(items)["edit of canvas that can't be replayed"] == 1
    assert left(items)["said to a tool"] == 1
    assert [note.id for note in notes(read("chatgpt", path))] == [note.id for note in notes(items)]


@pytest.mark.parametrize(
    ("marked", "seen"),
    [
        (f"It rains {CITED}.", "It rains."),
        (f"{CITED}{CITED}dry", "dry"),
        ('See \ue200entity\ue202["people","Ada \\"A\\" Lovelace","1815"]\ue201 there.', 'See Ada "A" Lovelace there.'),
        ("of \ue200entity\ue202Naxos\ue201!", "of Naxos!"),
        ("at \ue200url\ue202Ferries\ue202https://example.org/f\ue201", "at [Ferries](https://example.org/f)"),
        ("at \ue200url\ue202Ferries\ue202turn0search0\ue201", "at Ferries"),
        ("\ue203High\ue204 tide\ue202turn0search0", "High tide"),
        ("cut off \ue200cite\ue202turn0search3", "cut off "),
        ("alone \ue201 and \ue200", "alone  and "),
        ('broken \ue200entity\ue202["people",\ue201.', "broken."),
        ("nothing", "nothing"),
    ],
)
def test_marks_of_sources_go_and_what_is_seen_in_their_place_stays(marked: str, seen: str, tmp_path: Path) -> None:
    assert unmarked(marked) == seen
    tree = Tree(1)
    tree.say("assistant", text(marked))
    assert [turn.text for one in talks(chatgpt(tmp_path, tree)) for turn in one.turns] == [seen]


def test_edits_that_would_grow_without_end_are_told_and_not_done() -> None:
    drafts = Drafts()
    drafts.write("a", "A", "a" * 100_000, None)
    drafts.replace("a", "a", "b" * 10_000, None, every=True)
    for _ in range(20_000):
        drafts.edit("a", "z", "y", None, every=True)
    drafts.write("b", "B", "x" * (9 * 1024 * 1024), None)
    made = drafts.notes("chatgpt", "canvas", "t", "T", None)
    assert [item.count for item in made if isinstance(item, LeftOut)] == [20_001, 1]
    assert [len(item.content_md) for item in made if isinstance(item, Note)] == [100_000, 8 * 1024 * 1024]


def artifact(command: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "name": "artifacts", "input": {"id": "plan", "command": command, **more}}


def test_claudes_artifacts_are_kept_as_they_were_in_the_end(tmp_path: Path) -> None:
    said, message = exports.said, exports.claude_message
    tagged = (
        "Here it is.\n<antThinking>A page is best.</antThinking>\n"
        '<antArtifact identifier="page" type="text/html" title="A page">\n<p>old</p>\n</antArtifact>\nDo you like it?'
    )
    path = "/mnt/user-data/outputs/tides.py"
    talk = exports.claude_conversation(
        1,
        message("t", 0, "human", said("A plan, <antArtifact> please.")),
        message(
            "t", 1, "assistant", said("A plan."), artifact("create", title="Plan", type="text/markdown", content="One.")
        ),
        message(
            "t", 2, "assistant", said("Better."), artifact("update", old_str="One.", new_str="One. Two."),
            artifact("update", old_str="nowhere", new_str="x"), artifact("rewrite", content="One.\n\nTwo.\n\nThree."),
            {"type": "tool_use", "name": "create_file", "input": {"path": path, "file_text": "tide = 1"}},
            {"type": "tool_use", "name": "str_replace", "input": {"path": path, "old_str": "1", "new_str": "2"}},
            {"type": "tool_use", "name": "create_file", "input": {"path": "/home/claude/x.py", "file_text": "try"}},
        ),
        message("t", 3, "assistant", said(tagged)),
    )  # fmt: skip
    talk["project"] = {"uuid": "p1", "name": "Sailing"}
    items = read("claude", exports.claude_zip(tmp_path / "c.zip", [talk], [], []))
    assert {note.title: note.content_md for note in notes(items)} == {
        "Plan": "One.\n\nTwo.\n\nThree.",
        "tides.py": "```py\ntide = 2\n```",
        "A page": "```html\n<p>old</p>\n```",
    }
    assert {note.project.name for note in notes(items) if note.project} == {"Sailing"}
    (conversation,) = talks(items)
    assert [turn.text for turn in conversation.turns] == [
        "A plan, <antArtifact> please.",
        "A plan.",
        "Better.",
        "Here it is.\n\n[A page]\nDo you like it?",
    ]
    assert left(items) == {"said to a tool": 1, "reasoning": 1}


def test_claudes_projects_and_memories_come_from_zips_of_their_own(tmp_path: Path) -> None:
    project = {"uuid": "p1", "name": "House", "description": "", "prompt_template": "Be practical.", "docs": []}
    memory = {
        "conversations_memory": "Ada builds engines.", "project_memories": {"p1": "The roof is next."},
        "memory_files": [{"path": "/profile.md", "content": "Likes tea.", "updated_at": "2026-01-02T03:04:05Z"}],
        "account_uuid": "a",
    }  # fmt: skip
    files = {"projects": {"projects/p1.json": project}, "memories": {"memories/a.json": memory}}
    found: list[tuple[str, str]] = []
    for name, content in files.items():
        path = tmp_path / f"{name}-000.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for inner, value in content.items():
                archive.writestr(inner, json.dumps(value))
        assert source_of(path) == "claude"
        found += [(note.title, note.content_md) for note in notes(read("claude", path))]
    assert found == [
        ("House: prompt template", "Be practical."),
        ("What Claude remembered", "Ada builds engines."),
        ("What Claude remembered of p1", "The roof is next."),
        ("profile", "Likes tea."),
    ]
    alone = tmp_path / "memories.json"
    alone.write_text(json.dumps([memory]))
    assert source_of(alone) == "claude"
    assert len(notes(read("claude", alone))) == 3


def test_notes_that_are_called_as_claudes_are_no_export_of_claude(tmp_path: Path) -> None:
    path = tmp_path / "vault.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("projects/board.json", "{}")
        archive.writestr("a.md", "# A")
    assert source_of(path) == "markdown"
