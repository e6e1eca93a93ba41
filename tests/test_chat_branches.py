"""Branches of a chat: questions worded anew, answers asked for again, and the way back."""

from collections.abc import Generator
from typing import Any

import httpx
import pytest

from live import Live
from upstream import Answer, Received, ScriptedUpstream, asks, chunks, completion, error, streamed

Said = list[tuple[str, str]]


class Talk:
    """A chat with a model that answers with how many questions it has seen, and what it was given."""

    def __init__(self, server: Live, upstream: ScriptedUpstream) -> None:
        upstream.script()
        upstream.otherwise = self._answer
        self.client = httpx.Client(base_url=f"{server.url}/v1", headers=server.auth, timeout=30)
        place = self.client.post("workspaces", json={"name": "a place"}).json()["id"]
        self.workspace = place
        self.chat = self.client.post("chats", json={"title": "Ferries", "workspace_id": place}).json()["id"]
        self.given: list[Said] = []
        self.next: list[Answer] = []

    def _answer(self, request: Received) -> Answer:
        if not request.json.get("stream"):
            return completion("Shortened")
        self.given.append(
            [(one["role"], one["content"]) for one in request.json["messages"] if one["role"] != "system"]
        )
        return self.next.pop(0) if self.next else streamed(*chunks(f"Answer {len(self.given)}"))

    def say(self, content: str = "", **more: Any) -> httpx.Response:
        return self.client.post(f"chats/{self.chat}/messages", json={"content": content, **more})

    def choose(self, message: str) -> httpx.Response:
        return self.client.patch(f"chats/{self.chat}", json={"branch": message})

    @property
    def items(self) -> list[dict[str, Any]]:
        return self.client.get(f"chats/{self.chat}/messages").raise_for_status().json()["items"]

    @property
    def texts(self) -> list[str]:
        return [one["content"] for one in self.items]


def calling(call: dict[str, Any]) -> Answer:
    return streamed(*chunks("", call))


@pytest.fixture(scope="module")
def upstream() -> Generator[ScriptedUpstream]:
    made = ScriptedUpstream()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def server(upstream: ScriptedUpstream) -> Generator[Live]:
    live = Live(
        KEEPSTONE_LLM_PROVIDER="openai", KEEPSTONE_LLM_BASE_URL=upstream.url, KEEPSTONE_LLM_API_KEY="sk-1",
        KEEPSTONE_LLM_MODEL="small",
    )  # fmt: skip
    yield live
    assert not any('"unhandled"' in line for line in live.log)
    live.stop()


@pytest.fixture
def talk(server: Live, upstream: ScriptedUpstream) -> Generator[Talk]:
    made = Talk(server, upstream)
    yield made
    made.client.close()


def test_an_answer_asked_for_again_stands_beside_the_first_and_both_can_be_gone_on_with(talk: Talk) -> None:
    talk.say("Which ferry?")
    first = talk.items[1]["id"]
    talk.say(instead_of=first)
    assert talk.texts == ["Which ferry?", "Answer 2"]
    assert talk.given[-1] == [("user", "Which ferry?")]  # of the first answer the model is not told
    second = talk.items[1]
    assert second["siblings"] == [first, second["id"]]
    assert talk.items[0]["siblings"] == []
    talk.say("And back?")
    assert talk.texts == ["Which ferry?", "Answer 2", "And back?", "Answer 3"]
    talk.choose(first).raise_for_status()
    assert talk.texts == ["Which ferry?", "Answer 1"]
    talk.say("How long?")
    assert talk.given[-1] == [("user", "Which ferry?"), ("assistant", "Answer 1"), ("user", "How long?")]
    talk.choose(second["id"]).raise_for_status()
    assert talk.texts == ["Which ferry?", "Answer 2", "And back?", "Answer 3"]


def test_a_question_worded_anew_begins_a_branch_and_nothing_that_was_said_is_rewritten(talk: Talk) -> None:
    talk.say("Which ferry?")
    talk.say("And back?")
    asked = talk.items[0]["id"]
    talk.say("Which train?", instead_of=asked)
    assert talk.texts == ["Which train?", "Answer 3"]
    assert talk.given[-1] == [("user", "Which train?")]
    assert talk.items[0]["siblings"] == [asked, talk.items[0]["id"]]
    talk.choose(asked).raise_for_status()
    assert talk.texts == ["Which ferry?", "Answer 1", "And back?", "Answer 2"]
    refused = talk.say("Which bus?", instead_of=talk.items[0]["siblings"][1])
    assert refused.status_code == 400  # it is on the other branch


def test_what_was_said_in_another_chat_is_no_place_for_a_branch(
    talk: Talk, server: Live, upstream: ScriptedUpstream
) -> None:
    talk.say("Which ferry?")
    elsewhere = Talk(server, upstream)
    elsewhere.say("Which train?")
    message = elsewhere.items[0]["id"]
    assert talk.say("Which bus?", instead_of=message).status_code == 404
    assert talk.choose(message).status_code == 404
    elsewhere.client.close()


def test_an_answer_that_does_not_come_leaves_the_one_that_was_there(talk: Talk) -> None:
    talk.say("Which ferry?")
    talk.next = [error(500, "The oven is cold")]
    assert "The oven is cold" in talk.say(instead_of=talk.items[1]["id"]).text
    assert talk.texts == ["Which ferry?", "Answer 1"]
    assert talk.items[1]["siblings"] == []
    assert talk.say().status_code == 422


def test_what_memory_did_is_kept_with_the_answer(talk: Talk) -> None:
    said = "The ferry leaves from pier 3"
    talk.next = [calling(asks("x_save_memory", "c1", content=said))]
    talk.say("Remember: the ferry leaves from pier 3")
    (saved,) = talk.items[1]["metadata"]["saved"]
    memories = talk.client.get(f"chats/{talk.chat}/memories").json()["memories"]
    assert [one["id"] for one in memories if one["source_message_id"] == talk.items[0]["id"]] == [saved]
    assert talk.items[1]["metadata"]["timing"]["total_ms"] >= talk.items[1]["metadata"]["timing"]["first_ms"]
    save, recall = asks("x_save_memory", "c2", content=said), asks("x_recall_memory", "c3", query="pier of the ferry")
    talk.next = [calling(save), calling(recall)]
    talk.say("From which pier does the ferry leave? Remember it.")
    noted = talk.items[3]["metadata"]
    assert noted["known"] == [saved]
    assert "saved" not in noted
    assert 0 < noted["looked_up"][saved] <= 1


def test_a_long_branch_is_shortened_by_itself_and_another_does_not_read_of_it(talk: Talk) -> None:
    long = "The crossing to the islands is long. " * 5_000
    talk.say(f"{long} Which ferry?")
    talk.next = [streamed(*chunks(long))]
    talk.say("Why?")
    talk.say("And back?")
    assert "Which ferry?" not in str(talk.given[-1])  # it is told shortened
    assert talk.texts[0].endswith("Which ferry?")
    talk.say("Which train?", instead_of=talk.items[0]["id"])
    assert talk.given[-1] == [("user", "Which train?")]


def test_chats_are_listed_by_activity_kind_and_title(talk: Talk) -> None:
    in_place = {"workspace_id": talk.workspace}
    later = talk.client.post("chats", json={"title": "Trains", **in_place}).json()["id"]
    first = talk.client.post("chats", json={"title": "Both", "kind": "quorum", **in_place}).json()["id"]
    pair = {"title": "Both", "kind": "quorum", "beside": first, **in_place}
    second = talk.client.post("chats", json=pair).json()["id"]
    assert talk.client.post("chats", json=pair | {"beside": later}).status_code == 422
    talk.say("Which ferry?")

    def listed(**asked: str) -> list[str]:
        return [one["id"] for one in talk.client.get("chats", params=in_place | asked).json()["items"]]

    assert listed(kind="chat", order="activity") == [talk.chat, later]
    assert listed(kind="chat") == [later, talk.chat]
    assert listed(kind="quorum") == [second]
    assert listed(q="TRAI") == [later]
