"""Anthropic's memory tool on Keepstone, with the real package: word for word what its own tool on a file
system says.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool
from fastapi import FastAPI

from adapters import apart, awaited, waiting
from conftest import World
from keepstone_client import NotFound
from keepstone_client.adapters.anthropic import AsyncKeepstoneMemoryTool, KeepstoneMemoryTool
from upstream import ScriptedUpstream, whole


@pytest.fixture
async def tool(app: FastAPI, world: World) -> AsyncGenerator[AsyncKeepstoneMemoryTool]:
    async with awaited(app, world.owner.key) as client:
        yield AsyncKeepstoneMemoryTool(client)


@pytest.fixture(scope="module")
def upstream() -> Generator[ScriptedUpstream]:
    server = ScriptedUpstream()
    yield server
    server.stop()


def command(command: str, path: str | None = None, **more: Any) -> dict[str, Any]:
    return {"command": command, **({"path": path} if path is not None else {}), **more}


def create(path: str, text: str) -> dict[str, Any]:
    return command("create", path, file_text=text)


async def told(tool: AsyncKeepstoneMemoryTool, asked: dict[str, Any]) -> Any:
    """What the model reads, be it an error or not."""
    try:
        return await tool.call(asked)
    except ToolError as fault:
        return f"error: {fault}"


async def text_of(tool: AsyncKeepstoneMemoryTool, path: str) -> list[str]:
    shown = str(await tool.call(command("view", path)))
    return [line.split("\t", 1)[1] for line in shown.split("\n")[1:]]


NOTE = "one\ntwo\nthree\nfour\nfive\nsix\n"
TALKS: dict[str, list[dict[str, Any]]] = {
    "view": [
        create("/memories/a.md", NOTE),
        command("view", "/memories/a.md"),
        command("view", "/memories/a.md", view_range=[2, 4]),
        command("view", "/memories/a.md", view_range=[4, -1]),
        command("view", "/memories/a.md", view_range=[0, 2]),
        command("view", "/memories/a.md", view_range=[9, 12]),
        command("view", "/memories/nothing.md"),
        command("view", "/elsewhere/a.md"),
        create("/memories/empty.md", ""),
        command("view", "/memories/empty.md"),
    ],
    "create": [
        create("/memories/a.md", NOTE),
        create("/memories/a.md", "again"),
        create("/memories/deep/er/b.md", "ü 🪨\r\nsecond"),
        create("/memories/deep", "a folder is there"),
        command("view", "/memories/deep/er/b.md"),
    ],
    "str_replace": [
        create("/memories/a.md", NOTE + "two\n"),
        command("str_replace", "/memories/a.md", old_str="three", new_str="3\n3.5"),
        command("str_replace", "/memories/a.md", old_str="two", new_str="2"),
        command("str_replace", "/memories/a.md", old_str="missing", new_str="2"),
        command("str_replace", "/memories/a.md", old_str="one", new_str=""),
        command("str_replace", "/memories/no.md", old_str="a", new_str="b"),
        command("str_replace", "/memories", old_str="a", new_str="b"),
        command("view", "/memories/a.md"),
    ],
    "insert": [
        create("/memories/a.md", "one\ntwo"),
        command("insert", "/memories/a.md", insert_line=0, insert_text="zero\n"),
        command("insert", "/memories/a.md", insert_line=3, insert_text="three\nfour"),
        command("insert", "/memories/a.md", insert_line=99, insert_text="x"),
        command("insert", "/memories/a.md", insert_line=-1, insert_text="x"),
        command("insert", "/memories/no.md", insert_line=0, insert_text="x"),
        command("view", "/memories/a.md"),
    ],
    "delete": [
        create("/memories/a.md", "a"),
        create("/memories/d/b.md", "b"),
        create("/memories/d/e/c.md", "c"),
        command("delete", "/memories/a.md"),
        command("delete", "/memories/a.md"),
        command("delete", "/memories"),
        command("delete", "/memories/d"),
        command("view", "/memories/d/e/c.md"),
    ],
    "rename": [
        create("/memories/a.md", "a"),
        create("/memories/d/b.md", "b"),
        create("/memories/d/e/c.md", "c"),
        command("rename", old_path="/memories/a.md", new_path="/memories/x/y.md"),
        command("view", "/memories/a.md"),
        command("view", "/memories/x/y.md"),
        command("rename", old_path="/memories/x/y.md", new_path="/memories/d/b.md"),
        command("rename", old_path="/memories/no.md", new_path="/memories/new.md"),
        command("rename", old_path="/memories", new_path="/memories/new"),
        command("rename", old_path="/memories/d", new_path="/memories/moved/d"),
        command("view", "/memories/moved/d/e/c.md"),
        command("view", "/memories/d/b.md"),
    ],
}


@pytest.mark.parametrize("name", TALKS)
async def test_it_says_what_the_tool_on_a_file_system_says(
    tool: AsyncKeepstoneMemoryTool, tmp_path: Path, name: str
) -> None:
    reference = BetaLocalFilesystemMemoryTool(str(tmp_path))
    for asked in TALKS[name]:
        try:
            expected: Any = await asyncio.to_thread(reference.call, asked)
        except ToolError as fault:
            expected = f"error: {fault}"
        assert await told(tool, asked) == expected, asked


async def test_a_folder_is_listed_two_levels_deep_without_what_is_hidden(tool: AsyncKeepstoneMemoryTool) -> None:
    assert await told(tool, command("view", "/memories")) == (
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n0B\t/memories"
    )
    for path, size in {"b.md": 10, "a/one.md": 2048, "a/deep/two.md": 1536, ".hidden": 1, "a/.x/y.md": 1}.items():
        await tool.call(create(f"/memories/{path}", "x" * size))
    assert str(await told(tool, command("view", "/memories"))).split("\n")[1:] == [
        "3.5K\t/memories",
        "3.5K\t/memories/a/",
        "1.5K\t/memories/a/deep/",
        "2K\t/memories/a/one.md",
        "10B\t/memories/b.md",
    ]
    assert str(await told(tool, command("view", "/memories/a/"))).split("\n")[1:] == [
        "3.5K\t/memories/a",
        "1.5K\t/memories/a/deep/",
        "1.5K\t/memories/a/deep/two.md",
        "2K\t/memories/a/one.md",
    ]


OUTSIDE = [
    "/memories/../secret",
    "/memories/a/../../secret",
    "/memories/./a",
    "/memories/%2e%2e/secret",
    "/memories/%2E%2E%2Fsecret",
    "/memories/%252e%252e/secret",
    "/memories/..%2fsecret",
    "/memories/..%5csecret",
    "/memories/..\\secret",
    "/memories/a\\b",
    "/memories/\uff0e\uff0e/secret",
    "/memories/\u2025/secret",
    "/memories/a\0b",
    "/memories/a\nb",
    "/memoriesx/a",
    "/memories2",
    "memories/a",
    "../memories/a",
    "/etc/passwd",
    "%2fmemories/a",
    "",
]


@pytest.mark.parametrize("path", OUTSIDE)
async def test_no_path_leads_out_of_its_root(tool: AsyncKeepstoneMemoryTool, path: str) -> None:
    for asked in (
        command("view", path),
        create(path, "x"),
        command("str_replace", path, old_str="a", new_str="b"),
        command("insert", path, insert_line=0, insert_text="x"),
        command("delete", path),
        command("rename", old_path=path, new_path="/memories/new"),
        command("rename", old_path="/memories/there", new_path=path),
    ):
        with pytest.raises(ToolError, match=r"would escape /memories|must start with /memories"):
            await tool.call(asked)


async def test_a_percent_sign_is_part_of_a_name(tool: AsyncKeepstoneMemoryTool) -> None:
    await tool.call(create("/memories/100%.md", "all"))
    await tool.call(create("/memories/a%20b.md", "as it is"))
    assert await text_of(tool, "/memories/100%.md") == ["all"]
    assert await told(tool, command("view", "/memories/a b.md")) == (
        "error: The path /memories/a b.md does not exist. Please provide a valid path."
    )


async def test_a_file_cant_be_a_folder(tool: AsyncKeepstoneMemoryTool) -> None:
    await tool.call(create("/memories/a", "a"))
    assert await told(tool, create("/memories/a/b", "b")) == "error: The path /memories/a is not a directory."
    await tool.call(create("/memories/d/b", "b"))
    moved = command("rename", old_path="/memories/d", new_path="/memories/d/e")
    assert "below itself" in str(await told(tool, moved))
    edited = command("str_replace", "/memories/d", old_str="a", new_str="b")
    assert await told(tool, edited) == "error: The path /memories/d is not a file."


async def test_what_is_too_large_is_told_to_the_model(tool: AsyncKeepstoneMemoryTool) -> None:
    assert "1 MB" in str(await told(tool, create("/memories/a", "x" * 1_100_000)))


async def test_every_namespace_has_its_own_files(app: FastAPI, world: World) -> None:
    async with awaited(app, world.owner.key) as client:
        one, other = (AsyncKeepstoneMemoryTool(client, namespace=("agents", name)) for name in ("one", "other"))
        await one.call(create("/memories/a", "of one"))
        await other.call(create("/memories/a", "of the other"))
        assert await text_of(one, "/memories/a") == ["of one"]
        await one.clear_all_memory()
        assert "does not exist" in str(await told(one, command("view", "/memories/a")))
        assert await text_of(other, "/memories/a") == ["of the other"]


async def test_a_file_has_a_history_and_comes_back(tool: AsyncKeepstoneMemoryTool) -> None:
    await tool.call(create("/memories/d/a.md", "first"))
    await tool.call(command("str_replace", "/memories/d/a.md", old_str="first", new_str="second"))
    await tool.call(command("delete", "/memories/d"))
    told_of = await tool.history("/memories/d/a.md")
    assert [(one.change, one.value["text"]) for one in told_of] == [
        ("deleted", "second"), ("updated", "second"), ("created", "first"),
    ]  # fmt: skip
    await tool.restore("/memories/d/a.md")
    assert await text_of(tool, "/memories/d/a.md") == ["second"]
    await tool.restore("/memories/d/a.md", version=1)
    assert await text_of(tool, "/memories/d/a.md") == ["first"]
    with pytest.raises(NotFound):
        await tool.history("/memories/never")


async def test_files_are_found_by_what_they_say(tool: AsyncKeepstoneMemoryTool) -> None:
    await tool.call(create("/memories/d/ferry.md", "The ferry leaves at nine"))
    await tool.call(create("/memories/train.md", "The train is late"))
    [(path, found)] = await tool.search("ferry")
    assert (path, found.value["text"]) == ("/memories/d/ferry.md", "The ferry leaves at nine")


async def test_nobodys_edit_is_lost_when_several_edit_at_once(tool: AsyncKeepstoneMemoryTool) -> None:
    await tool.call(create("/memories/a", ""))
    await asyncio.gather(
        *(tool.call(command("insert", "/memories/a", insert_line=0, insert_text=f"line {n}")) for n in range(5))
    )
    assert sorted(await text_of(tool, "/memories/a")) == ["", *(f"line {n}" for n in range(5))]
    made = await asyncio.gather(*(told(tool, create("/memories/new", str(n))) for n in range(4)))
    assert sum("created" in str(one) for one in made) == 1


async def test_what_waits_does_the_same(app: FastAPI, world: World) -> None:
    client = waiting(app, world.owner.key)
    tool = KeepstoneMemoryTool(client)

    def work() -> list[Any]:
        made = [
            tool.call(create("/memories/a", "one")),
            tool.call(command("insert", "/memories/a", insert_line=1, insert_text="two")),
            tool.call(command("str_replace", "/memories/a", old_str="two", new_str="three")),
            tool.call(command("rename", old_path="/memories/a", new_path="/memories/b")),
            tool.call(command("view", "/memories/b")),
            tool.call(command("delete", "/memories/b")),
        ]
        assert len(tool.history("/memories/b")) == 2
        tool.restore("/memories/b")
        assert [path for path, _ in tool.search("three")] == ["/memories/b"]
        tool.clear_all_memory()
        with pytest.raises(ToolError, match="does not exist"):
            tool.call(command("view", "/memories/b"))
        return made

    made = await apart(work)
    assert made[4] == "Here's the content of /memories/b with line numbers:\n     1\tone\n     2\tthree\n     3\t"
    client.close()


async def test_a_model_uses_it_through_the_tool_runner(
    tool: AsyncKeepstoneMemoryTool, upstream: ScriptedUpstream
) -> None:
    def message(*content: dict[str, Any], stop: str) -> Any:
        return whole(
            {
                "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": list(content),
                "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
            }
        )  # fmt: skip

    def use(id: str, asked: dict[str, Any]) -> dict[str, Any]:
        return {"type": "tool_use", "id": id, "name": "memory", "input": asked}

    upstream.script(
        message(use("t1", create("/memories/tea.md", "No sugar")), stop="tool_use"),
        message(use("t2", command("view", "/memories/../x")), stop="tool_use"),
        message({"type": "text", "text": "Noted."}, stop="end_turn"),
    )
    async with AsyncAnthropic(base_url=upstream.url.removesuffix("/v1"), api_key="none") as client:
        runner = client.beta.messages.tool_runner(
            model="m", max_tokens=100, tools=[tool], messages=[{"role": "user", "content": "I take no sugar."}]
        )
        last = await runner.until_done()
    assert last.content[0].type == "text"
    results = [body["messages"][-1]["content"][0] for body in upstream.bodies[1:]]
    assert results[0]["content"] == "File created successfully at: /memories/tea.md"
    assert results[1]["is_error"] is True
    assert "would escape /memories directory" in str(results[1]["content"])
    assert await text_of(tool, "/memories/tea.md") == ["No sugar"]
