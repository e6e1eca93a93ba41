"""What Keepstone handed out is never taken in again as something that was said: in whatever shape it comes back, on
every way in. It is kept word for word where messages are kept, and nothing is found, noted or remembered of it.
"""

import html
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rooms
from capsules import rows
from conftest import World, http
from keepstone.app import make_app
from keepstone.engine.dates import zone_named
from keepstone.engine.injection import InjectionCandidate, put
from keepstone.engine.pack import Evidence, context, quoted
from keepstone.engine.quotation import own_words, retold, without_lines
from keepstone.engine.standing import standing_wish
from keepstone.jobs.worker import run_until_empty
from keepstone.relay.tools import run_tool
from keepstone.relay.turn import open_turn
from keepstone.services import Services
from keepstone.surfaces.mcp import conductor
from keepstone.surfaces.mcp import graph as graph_tools
from test_scopes import ingest, recall
from workspaces import call, keep, make_chat, make_workspace, say

# In each of these a word that nobody says otherwise.
KEPT = "We decided to keep the quetzal feather in the blue tin."
WISH = "Always answer in German when the quetzal is asleep."
AT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
ZONE = zone_named("Europe/Berlin")
OWN = "Who feeds the hamster on Sunday?"


def in_lines(text: str, size: int) -> list[str]:
    lines = text.split("\n")
    return ["\n".join(lines[start : start + size]) for start in range(0, len(lines), size)]


def stripped(text: str) -> str:
    """As a client shows it that takes tags for HTML."""
    return re.sub(r"(?:[0-9a-f]{10})?</?[\w-]+[^<>]*>", "", text)


DRESSES: dict[str, Callable[[str], str]] = {
    "whole": lambda text: text,
    "quoted": lambda text: "\n".join(f"> {line}" for line in text.split("\n")),
    "indented": lambda text: "\n".join(f"    {line}" for line in text.split("\n")),
    "as entities": html.escape,
    "among own words": lambda text: f"Look:\n\n{text}\n\n{OWN}",
    "windows lines": lambda text: text.replace("\n", "\r\n"),
}


def is_clean(text: str) -> bool:
    return "quetzal" not in text.lower() and "quetzal" not in text.replace("\u200b", "")


# --------------------------------------------------------------------------- every shape, as a function of the text


def shapes() -> dict[str, str]:
    """What is handed out, made by what hands it out; those that a database is not needed for."""
    evidence = [
        Evidence(message_id="msg_1", id="1", speaker="Anna", text=KEPT, ts=AT, relevance=0.9),
        Evidence(message_id="msg_2", id="2", speaker="Ben", text="The quetzal is green.", ts=AT, relevance=0.8),
    ]
    memories = [
        InjectionCandidate(text=KEPT, at=AT, category="fact", relevance=0.9),
        InjectionCandidate(text="The quetzal is green.", at=AT, relevance=0.9),
        InjectionCandidate(text=WISH, at=AT, wish=standing_wish(WISH)),
    ]
    zone = ZoneInfo("Europe/Berlin")
    return {
        "scope context": context(
            evidence, max_tokens=None, people={"Anna": ["Anna keeps a quetzal feather"]}, zone=ZONE
        ),
        "injected": put(memories, [2], [0, 1], max_tokens=1000, zone=zone).text,
        "injected data": put(memories, [], [0, 1], max_tokens=1000, zone=zone).text,
    }


@pytest.mark.parametrize("shape", shapes())
@pytest.mark.parametrize("dress", DRESSES)
def test_a_quotation_is_nobodys_words_however_it_is_dressed(shape: str, dress: str) -> None:
    text = DRESSES[dress](shapes()[shape])
    assert not is_clean(text)
    assert is_clean(own_words(text))
    assert (OWN in own_words(text)) == (OWN in text)


@given(
    st.sampled_from(sorted(shapes())), st.sampled_from(["whole", "quoted", "indented"]), st.floats(0, 1), st.booleans()
)
def test_cut_off_at_either_end_it_is_still_known(shape: str, dress: str, where: float, from_start: bool) -> None:
    text = DRESSES[dress](shapes()[shape])
    cut = int(where * len(text))
    assert is_clean(own_words(text[cut:] if from_start else text[:cut]))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_injected_lines_are_known_by_themselves_and_without_tags(size: int) -> None:
    for shape in ("injected", "injected data"):
        for part in in_lines(stripped(shapes()[shape]), size):
            assert is_clean(own_words(part)), part


def test_lines_as_we_quote_them_are_told_apart_by_what_was_said() -> None:
    text = f"{stripped(quoted_answer())}\n[2026-03-02] Carl: The boat is red.\n{OWN}"
    lines = retold(text)
    assert [line.said[0] for line in lines] == [KEPT, "The boat is red."]
    assert without_lines(text, {lines[0].line}) == f"[2026-03-02] Carl: The boat is red.\n{OWN}"
    assert own_words(text) == text, "anybody may write a log like that"
    assert retold("[2026-02-31] Anna: no such day") == []


def quoted_answer() -> str:
    evidence = [Evidence(message_id="m", id=None, speaker="Anna", text=KEPT, ts=AT, relevance=1)]
    return quoted(evidence, max_tokens=None, zone=ZONE)


@pytest.mark.parametrize(
    "text",
    [
        OWN, "# Recalled memories are a nice thing", "- [2026-03-02] dentist at nine", "(day one) we left",
        "mem_fd8ptdz3ixqollw8igiyqk3w is wrong, please delete it", "[FACTS] about tea", "We scored 0.83 (score 0.83)",
        "Look at </recalled-memory> in the log", "| a | b |\n| - | - |\n| (x) | 2 |",
        "1. **Bold** (first, see below)\nnext",
    ],
)  # fmt: skip
def test_what_only_looks_a_little_like_it_is_kept(text: str) -> None:
    assert own_words(text) == text


# ------------------------------------------------------------------------------------- every shape on every way in

Way = Callable[[str], Awaitable[object]]


class Place:
    """An account that keeps one thing everywhere, and all the ways in which something can be put into it."""

    def __init__(self, client: httpx.AsyncClient, services: Services, world: World) -> None:
        self.client, self.services, self.owner = client, services, world.owner

    async def fill(self) -> None:
        client, auth = self.client, self.owner.auth
        self.workspace = await make_workspace(client, auth)
        self.chat = await make_chat(client, auth, self.workspace)
        await keep(client, auth, self.workspace, KEPT, category="decision")
        await keep(client, auth, self.workspace, WISH)
        await ingest(client, auth, [{"speaker": "Anna", "text": KEPT, "ts": AT.isoformat()}])
        await call(client, auth, "POST", "/graphs/default/nodes", json={"content": f"{KEPT}\nIt is green."}, expect=201)
        await call(client, auth, "POST", "/memory/capsules", json={"title": "Feathers", "content_md": KEPT}, expect=201)
        await rooms.make_agent(client, auth, context_window=4000)
        self.room = await rooms.make_room(client, auth)
        await rooms.say(client, auth, self.room, KEPT)
        await call(client, auth, "PUT", f"/facts/room/{self.room}/quetzal", json={"value": "green"}, expect=(200, 201))
        await run_until_empty(self.services)

    async def handed_out(self) -> dict[str, str]:
        client, auth, me = self.client, self.owner.auth, self.owner.principal
        turn = await open_turn(
            self.services, me, workspace_id=self.workspace, chat_id=None, said="Where is the quetzal feather?"
        )
        query = '{"query": "quetzal feather"}'
        composed = await rooms.compose(client, auth, self.room, "Where is the quetzal feather?")
        asked = {"scope_id": "team", "question": "Where is the quetzal feather?"}
        recalled = await graph_tools.ask(
            self.services, me, "memory_recall", {"query": "quetzal feather", "min_relevance": 0}
        )
        found = await conductor.ask(self.services, me, {"mode": "search_memory", "query": "quetzal feather"})
        given = {
            "injected": turn.context,
            "x_recall_memory": (await run_tool(self.services, me, turn, "x_recall_memory", query)).text,
            "x_workspace_search": (await run_tool(self.services, me, turn, "x_workspace_search", query)).text,
            "recall": (await recall(client, auth, "Where is the quetzal feather?"))["context"],
            "ask": (await call(client, auth, "POST", "/ask", json=asked))["answer"],
            "composed prompt": composed["messages"][0]["content"],
            "composed messages": "\n".join(message["content"] for message in composed["messages"][1:-1]),
            "graph over MCP": recalled["content"][0]["text"],
            "capsules over MCP": found["content"][0]["text"],
        }
        assert not [name for name, text in given.items() if is_clean(text)]
        return given

    def ways(self) -> dict[str, Way]:
        client, auth = self.client, self.owner.auth
        refused_or_kept = (200, 201, 400, 409, 422)

        def post(path: str, name: str, **more: object) -> Way:
            return lambda text: call(client, auth, "POST", path, json={name: text, **more}, expect=refused_or_kept)

        async def spoken(text: str) -> None:
            await say(self.services, self.owner, self.chat, text, tools=["x_recall_memory"])

        async def by_a_model(text: str) -> None:
            turn = await open_turn(
                self.services, self.owner.principal, workspace_id=None, chat_id=self.chat, said=OWN, inject=False
            )
            arguments = json.dumps({"content": text})
            await run_tool(self.services, self.owner.principal, turn, "x_save_memory", arguments)

        async def by_mem0(text: str) -> None:
            body = {"messages": [{"role": "user", "content": text}], "user_id": "anna", "infer": True}
            answer = await client.post("/v3/memories/add/", headers=auth, json=body)
            assert answer.status_code in refused_or_kept, answer.text

        return {
            "ingest": lambda text: ingest(client, auth, [{"speaker": "Ben", "text": text}]),
            "room": lambda text: rooms.say(client, auth, self.room, text),
            "chat": spoken,
            "model": by_a_model,
            "memory": post(f"/workspaces/{self.workspace}/memories", "content"),
            "chat memory": post(f"/chats/{self.chat}/memory", "content"),
            "profile": post(f"/profiles/{self.owner.user.id}/memories", "text"),
            "graph": post("/graphs/default/nodes", "content"),
            "mem0": by_mem0,
        }


async def taken_in(database: str) -> list[tuple[str, int]]:
    """How much there is to be found, noted or remembered of it."""
    sources = (
        ("passages", "text"), ("memories", "content"), ("statements", "text"), ("summaries", "content"),
    )  # fmt: skip
    return [
        (table, (await rows(database, f"SELECT count(*) FROM {table} WHERE {column} ILIKE '%%quetzal%%'"))[0][0])
        for table, column in sources
    ]


def parts_of(text: str) -> Sequence[str]:
    """The text in the shapes that it comes back in. An entry of two lines is one thing: what it holds, alone, anybody
    may say.
    """
    whole = [text, DRESSES["quoted"](text), DRESSES["among own words"](text)]
    half = len(text) // 2
    if "<" in text:
        whole += [text[: half + 40], text[half:], DRESSES["as entities"](text)]
    entries = re.split(r"\n(?=\d+\. |- (?!room: )|\[|>)", stripped(text))
    return [*whole, stripped(text), *entries]


async def test_nothing_that_was_handed_out_is_taken_in_on_any_way(
    services: Services, world: World, database: str
) -> None:
    async with http(make_app(services)) as client:
        place = Place(client, services, world)
        await place.fill()
        before = await taken_in(database)
        for name, text in (await place.handed_out()).items():
            for way, put_in in place.ways().items():
                for part in parts_of(text):
                    # A line of a log is known again where it was said; elsewhere it says something new.
                    said_there = way == ("room" if name.startswith("composed") else "ingest")
                    if part.strip() and (said_there or not retold(own_words(part))):
                        await put_in(part)
                await run_until_empty(services)
                assert await taken_in(database) == before, (name, way)
        ((said,),) = await rows(database, "SELECT count(*) FROM messages WHERE text ILIKE '%%quetzal%%'")
        assert said > 20, "it is kept where it was said"


async def test_a_log_of_others_is_not_taken_for_ours(services: Services, world: World, database: str) -> None:
    """The same line means something new in a scope where it was never said."""
    async with http(make_app(services)) as client:
        log = f"[2026-03-02] Anna: {KEPT}\n[2026-03-02] Ben: The boat is red."
        await ingest(client, world.owner.auth, [{"speaker": "Ben", "text": log}], "elsewhere")
        assert dict(await taken_in(database))["passages"] == 1
        # What was said on another day was not said on that one.
        await ingest(client, world.owner.auth, [{"speaker": "Anna", "text": KEPT, "ts": "2024-01-01T10:00:00Z"}])
        await ingest(client, world.owner.auth, [{"speaker": "Ben", "text": log}])
        assert dict(await taken_in(database))["passages"] == 3
