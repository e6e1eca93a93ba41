"""When a model or a client dies in the middle of an answer, what was said until then is kept and marked, what tools did
is read for memories all the same, and whoever asks again finds nothing twice.
"""

import json
import time
from collections.abc import Callable, Generator
from typing import Any

import httpx
import pytest

from keepstone.model.chat import ChatMessage
from keepstone.relay.conversation import without_retried
from live import Live
from upstream import Answer, ScriptedUpstream, asks, chunks, completion, error, events, response, says, streamed, wants

ASKED = "When does the ferry leave?"
FAILED = b'data: {"error": {"message": "overloaded", "type": "server_error", "param": null, "code": null}}\n\n'


@pytest.fixture(scope="module")
def scripted() -> Generator[ScriptedUpstream]:
    made = ScriptedUpstream()
    yield made
    made.stop()


@pytest.fixture
def upstream(scripted: ScriptedUpstream) -> ScriptedUpstream:
    scripted.script()
    return scripted


@pytest.fixture(scope="module")
def keepstone(scripted: ScriptedUpstream) -> Generator[Live]:
    server = Live(
        KEEPSTONE_LLM_PROVIDER="openai", KEEPSTONE_LLM_BASE_URL=scripted.url, KEEPSTONE_LLM_API_KEY="sk-1",
        KEEPSTONE_LLM_MODEL="small", KEEPSTONE_WORKER="off",
    )  # fmt: skip
    yield server
    assert not any('"unhandled"' in line for line in server.log)
    server.stop()


class Talk:
    """A chat, asked in one of three ways."""

    def __init__(self, keepstone: Live, way: str) -> None:
        self.way = way
        self.client = httpx.Client(base_url=f"{keepstone.url}/v1", headers=keepstone.auth, timeout=30)
        self.workspace = self._made("workspaces", name="a place")
        self.chat = self._made("chats", title="a chat", workspace_id=self.workspace)

    def _made(self, path: str, **body: Any) -> str:
        return self.client.post(path, json=body).raise_for_status().json()["id"]

    def asking(self, said: str = ASKED, *, stream: bool = True) -> Any:
        """The request, to be opened as a stream."""
        if self.way == "dashboard":
            return self.client.stream("POST", f"chats/{self.chat}/messages", json={"content": said})
        asked = {"input": said} if self.way == "responses" else {"messages": [{"role": "user", "content": said}]}
        return self.client.stream(
            "POST", self.way, json={"model": "m", "stream": stream, **asked}, headers={"X-Keepstone-Chat": self.chat}
        )

    def ask(self, said: str = ASKED, *, stream: bool = True) -> str:
        with self.asking(said, stream=stream) as answer:
            return answer.read().decode()

    def leave_after(self, word: str, said: str = ASKED) -> None:
        """Ask, read until this is there, and go."""
        heard = ""
        with self.asking(said) as answer:
            for piece in answer.iter_text():
                heard += piece
                if word in heard:
                    return
        raise AssertionError(heard)

    def said(self) -> list[tuple[str, str, str | None]]:
        found = self.client.get(f"chats/{self.chat}/messages").raise_for_status().json()["items"]
        return [(one["role"], one["content"], one["metadata"].get("incomplete")) for one in found]

    def extractions(self) -> list[str]:
        found = self.client.get(f"workspaces/{self.workspace}/extractions").raise_for_status().json()["items"]
        return [one["kind"] for one in found]

    def begun(self, text: str, *, ending: str, and_then: tuple[bytes, ...] = ()) -> Answer:
        """The beginning of an answer, as the model of this way sends it."""
        if self.way == "responses":
            told = events(says(f"{text} never said"))
            return streamed(*told[: 4 + len(text.split())], ending=ending)
        return streamed(*chunks(f"{text} never said")[: 1 + len(text.split())], *and_then, ending=ending)

    def whole(self, text: str) -> Answer:
        return streamed(*(events(says(text)) if self.way == "responses" else chunks(text)))

    def calls(self, name: str, text: str = "", **arguments: str) -> Answer:
        if self.way == "responses":
            return streamed(*events(*([says(text)] if text else []), wants(name, "o1", **arguments)))
        return streamed(*chunks(text or None, asks(name, "o1", **arguments)))


@pytest.fixture
def chat_by(keepstone: Live) -> Generator[Callable[[str], Talk]]:
    made: list[Talk] = []

    def make(way: str) -> Talk:
        made.append(Talk(keepstone, way))
        return made[-1]

    yield make
    for talk in made:
        talk.client.close()


@pytest.fixture(params=["chat/completions", "responses", "dashboard"])
def talk(chat_by: Callable[[str], Talk], request: pytest.FixtureRequest) -> Talk:
    return chat_by(request.param)


def until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.02)


@pytest.mark.parametrize("ending", ["cut", "whole"])
def test_what_a_model_said_before_it_broke_off_is_kept_and_marked(
    talk: Talk, upstream: ScriptedUpstream, ending: str
) -> None:
    upstream.script(talk.begun("At nine from", ending=ending))
    assert "error" in talk.ask()
    assert talk.said() == [("user", ASKED, None), ("assistant", "At nine from ", "model")]


def test_what_a_model_said_before_it_told_of_an_error_is_kept(
    chat_by: Callable[[str], Talk], upstream: ScriptedUpstream
) -> None:
    talk = chat_by("chat/completions")
    upstream.script(talk.begun("At nine", ending="whole", and_then=(FAILED,)))
    assert "overloaded" in talk.ask()
    assert talk.said()[1:] == [("assistant", "At nine ", "model")]


def test_when_the_client_goes_what_was_said_is_kept(talk: Talk, upstream: ScriptedUpstream) -> None:
    upstream.script(talk.begun("At nine from", ending="hang"))
    talk.leave_after("from")
    until(lambda: len(talk.said()) == 2)
    by = "stopped" if talk.way == "dashboard" else "client"
    assert talk.said() == [("user", ASKED, None), ("assistant", "At nine from ", by)]
    until(lambda: upstream.open == 0)


def test_what_a_tool_did_in_a_turn_that_broke_off_is_read_for_memories(talk: Talk, upstream: ScriptedUpstream) -> None:
    upstream.script(talk.calls("x_recall_memory", "Let me see.", query="ferry"), talk.begun("At nine", ending="cut"))
    talk.ask()
    assert talk.said()[1:] == [("assistant", "Let me see.\n\nAt nine ", "model")]
    assert talk.extractions() == ["tool"]


def test_what_a_tool_did_is_read_although_the_model_said_nothing(talk: Talk, upstream: ScriptedUpstream) -> None:
    upstream.script(talk.calls("x_save_memory", content="The ferry leaves at nine."), error(500, "away"))
    talk.ask()
    assert talk.said() == [("user", ASKED, None)]
    assert talk.extractions() == ["tool"]


def test_asked_again_nothing_is_kept_twice_and_the_whole_answer_stands_beside_the_broken_one(
    talk: Talk, upstream: ScriptedUpstream
) -> None:
    upstream.script(talk.begun("At nine", ending="cut"), talk.begun("At ten", ending="cut"), talk.whole("At eleven."))
    for _ in range(3):
        talk.ask()
    assert talk.said() == [
        ("user", ASKED, None), ("assistant", "At nine ", "model"), ("assistant", "At ten ", "model"),
        ("assistant", "At eleven.", None),
    ]  # fmt: skip
    upstream.script(talk.whole("At twelve."))
    talk.ask()
    assert [role for role, _, _ in talk.said()[4:]] == ["user", "assistant"], "after a whole answer it is asked anew"


@pytest.mark.parametrize("way", ["chat/completions", "responses"])
def test_a_whole_answer_of_several_rounds_that_fails_keeps_what_was_said_before(
    chat_by: Callable[[str], Talk], upstream: ScriptedUpstream, way: str
) -> None:
    talk = chat_by(way)
    first = (
        completion("Let me see.", asks("x_recall_memory", "o1", query="ferry"))
        if way == "chat/completions"
        else response(says("Let me see."), wants("x_recall_memory", "o1", query="ferry"))
    )
    upstream.script(first, error(500, "away"))
    assert "away" in talk.ask(stream=False)
    assert talk.said() == [("user", ASKED, None), ("assistant", "Let me see.", "model")]
    assert talk.extractions() == ["tool"]


def test_the_next_turn_on_the_dashboard_is_answered_with_the_kept_part_before_it(
    chat_by: Callable[[str], Talk], upstream: ScriptedUpstream
) -> None:
    talk = chat_by("dashboard")
    upstream.script(talk.begun("At nine from", ending="cut"), talk.begun("At ten from", ending="cut"))
    told = talk.ask()
    last = json.loads(told.strip().rpartition("data: ")[2])
    assert last["error"]["message"]
    assert (last["message"]["content"], last["message"]["metadata"]["incomplete"]) == ("At nine from ", "model")
    talk.ask()
    assert [one["content"] for one in upstream.bodies[1]["messages"][1:]] == [ASKED], "what is asked again"
    upstream.script(talk.whole("From the pier."))
    talk.ask("From where?")
    assert [(one["role"], one["content"]) for one in upstream.bodies[0]["messages"][1:]] == [
        ("user", ASKED), ("assistant", "At ten from "), ("user", "From where?"),
    ]  # fmt: skip


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_that_ends_with_calls_of_ours_and_the_clients_is_whole(
    chat_by: Callable[[str], Talk], upstream: ScriptedUpstream, stream: bool
) -> None:
    talk = chat_by("chat/completions")
    calls = asks("x_recall_memory", "o1", query="ferry"), asks("weather", "c1")
    said = "Let me see."
    upstream.script(streamed(*chunks(said, *calls)) if stream else completion(said, *calls))
    weather = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
    body = {"model": "m", "stream": stream, "messages": [{"role": "user", "content": ASKED}], "tools": [weather]}
    talk.client.post("chat/completions", json=body, headers={"X-Keepstone-Chat": talk.chat}).raise_for_status()
    assert talk.said() == [("user", ASKED, None), ("assistant", said, None)]


def test_what_may_still_become_a_call_of_a_tool_is_no_answer(
    chat_by: Callable[[str], Talk], upstream: ScriptedUpstream
) -> None:
    talk = chat_by("chat/completions")
    written = chunks('{"name": "x_save_memory", "arguments": {"content": "The ferry')
    upstream.script(streamed(*written[:-2], ending="cut"))
    talk.ask()
    assert talk.said() == [("user", ASKED, None)]


def test_an_answer_that_broke_off_is_left_out_where_another_took_its_place() -> None:
    def said(role: Any, content: str, **metadata: str) -> ChatMessage:
        return ChatMessage(
            id="msg_1", seq=1, role=role, content=content, user_id=None, model=None, created_at=None,  # pyright: ignore[reportArgumentType]
            metadata=metadata,
        )  # fmt: skip

    history = [
        said("user", "a"), said("assistant", "b", incomplete="model"), said("assistant", "c"), said("user", "d"),
        said("assistant", "e", incomplete="stopped"), said("user", "f"), said("assistant", "g", incomplete="client"),
    ]  # fmt: skip
    assert [message.content for message in without_retried(history)] == ["a", "c", "d", "e", "f"]
