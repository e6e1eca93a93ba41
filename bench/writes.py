"""Nine ways to keep something, one for each surface, and how each is read back word for word.

For runs that see whether anything that was acknowledged gets lost: `bench.crash` and `bench.hold`.
"""

import http.client
import json
import random
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any

from bench.client import Client

PARTS = 3  # messages of one ingest and items of one batch: all of them are kept, or none
NOUNS = [
    *("ferry", "island", "ticket", "garden", "puppy", "kettle", "winter", "letter", "bridge", "violin", "harbour"),
    *("museum", "bicycle", "lantern", "orchard", "pepper", "curtain", "station", "meadow", "anchor", "basket"),
]
Fault = (OSError, http.client.HTTPException)  # what a client sees of a server that is gone


@dataclass(frozen=True)
class Places:
    """Where the writes go, all of one account."""

    run: str
    workspace: str
    room: str
    graph: str


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Write:
    """Something that was sent; `id` is what the server called it, once it did."""

    surface: str
    word: str  # in this text and in no other
    id: str = ""

    @property
    def text(self) -> str:
        """Of other words each time, so that nobody takes it for one that is there already."""
        return f"{' '.join(random.Random(self.word).choices(NOUNS, k=12))} {self.word}"


@dataclass(frozen=True)
class Surface:
    """`send` writes, `named` takes the id from an answer with the status `acknowledged`.

    `kept` says whether all of it is there; `halved`, where it can be told, whether only a part of it is.
    """

    send: Callable[[Client, Places, Write], Answer]
    kept: Callable[[Client, Places, Write], bool]
    acknowledged: int = 201
    named: Callable[[Any], str] = lambda answer: answer["id"]
    halved: Callable[[Client, Places, Write], bool] | None = None


def prepare(client: Client, run: str) -> Places:
    """The places for a new run, named after it."""
    return Places(
        run,
        workspace=client.post("/v1/workspaces", {"name": run})["id"],
        room=client.post("/v1/rooms", {"name": run})["id"],
        graph=client.post("/v1/graphs", {"name": run})["id"],
    )


def words(run: str) -> Callable[[], str]:
    """Makes words that come once."""
    numbers = count(1)
    return lambda: f"{run}x{next(numbers)}"


def call(client: Client, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
    sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    return Answer(*client.answer(method, path, sent, headers))


def read(client: Client, path: str) -> Any:
    """What is there; nothing where it answers 404, and a fault where it can't be told."""
    answer = call(client, "GET", path)
    if answer.status == 404:
        return None
    if answer.status != 200:
        raise RuntimeError(f"GET {path} answered {answer.status}: {answer.body[:300]!r}")
    return answer.json


def at(path: str, field: str, **more: Any) -> Callable[[Client, Places, Write], Answer]:
    """Posts a body whose `field` is the text."""
    return lambda client, places, write: call(client, "POST", path.format(**asdict(places)), {field: write.text} | more)


def same(path: str, field: str) -> Callable[[Client, Places, Write], bool]:
    """Gets it by its id, and has the same text in `field`."""

    def kept(client: Client, places: Places, write: Write) -> bool:
        there = read(client, path.format(id=write.id, word=write.word, **asdict(places)))
        return there is not None and there[field] == write.text

    return kept


def capsule_halved(client: Client, _: Places, write: Write) -> bool:
    """A row without what it is found by, or the other way round."""
    newest = read(client, "/v1/memory/capsules?limit=20")["items"]
    found = read(client, f"/v1/memory/capsules?q={write.word}&min_relevance=0")["items"]
    return any(write.text == each["content_md"] for each in newest) != any(
        write.text == each["content_md"] for each in found
    )


def send_file(client: Client, places: Places, write: Write) -> Answer:
    mark = "boundary-of-the-file"
    head = f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{write.word}.txt"\r\n'
    body = f"{head}Content-Type: text/plain\r\n\r\n{write.text}\r\n--{mark}--\r\n".encode()
    path = f"/v1/workspaces/{places.workspace}/files"
    return call(client, "POST", path, body, {"Content-Type": f"multipart/form-data; boundary={mark}"})


def file_kept(client: Client, places: Places, write: Write) -> bool:
    answer = call(client, "GET", f"/v1/workspaces/{places.workspace}/files/{write.id}/content")
    if answer.status not in {200, 404}:
        raise RuntimeError(f"the content of a file answered {answer.status}: {answer.body[:300]!r}")
    return answer.body == write.text.encode()


def said(client: Client, places: Places, write: Write) -> bool:
    """Only in a list, newest first: nobody asks for one message of a room."""
    path = f"/v1/rooms/{places.room}/messages?latest_first=true&limit=200"
    cursor = ""
    while True:
        page = read(client, path + cursor)
        for message in page["items"]:
            if message["id"] == write.id:
                return message["text"] == write.text
        if not page["has_more"]:
            return False
        cursor = f"&cursor={page['next_cursor']}"


def send_fact(client: Client, places: Places, write: Write) -> Answer:
    return call(client, "PUT", f"/v1/facts/room/{places.room}/{write.word}", {"value": write.text})


def messages(write: Write) -> set[str]:
    return {f"{write.text} part {part}" for part in range(PARTS)}


def ingest(client: Client, places: Places, write: Write) -> Answer:
    transcript = [{"speaker": "Anna", "text": text} for text in sorted(messages(write))]
    return call(client, "POST", "/v1/ingest", {"scope_id": places.run, "transcript": transcript})


def recalled(client: Client, places: Places, write: Write) -> int:
    # There is no other way to read a scope: so many that what is alike can't crowd it out.
    asked = {"scope_id": places.run, "message": {"speaker": "Ben", "text": write.word}, "min_relevance": 0, "limit": 50}
    return len(messages(write) & {each["text"] for each in client.post("/v1/recall", asked)["evidence"]})


def put_items(client: Client, places: Places, write: Write) -> Answer:
    puts = [
        {"op": "put", "namespace": [write.word], "key": f"{part}", "value": {"text": write.text}}
        for part in range(PARTS)
    ]
    return call(client, "POST", f"/v1/stores/{places.run}/batch", {"operations": puts})


def items(client: Client, places: Places, write: Write) -> int:
    listed = client.post(f"/v1/stores/{places.run}/search", {"namespace_prefix": [write.word]})["items"]
    return sum(each["value"]["text"] == write.text for each in listed)


SURFACES = {
    "capsules": Surface(
        at("/v1/memory/capsules", "content_md"),
        same("/v1/memory/capsules/{id}", "content_md"),
        halved=capsule_halved,
    ),
    "workspaces": Surface(
        at("/v1/workspaces/{workspace}/memories", "content"),
        same("/v1/workspaces/{workspace}/memories/{id}", "content"),
    ),
    "files": Surface(send_file, file_kept),
    "rooms": Surface(at("/v1/rooms/{room}/messages", "text"), said),
    "facts": Surface(send_fact, same("/v1/facts/room/{room}/{word}", "value"), acknowledged=200),
    "graphs": Surface(
        at("/v1/graphs/{graph}/nodes", "content"), same("/v1/graphs/{graph}/nodes/{id}", "content")
    ),
    "scopes": Surface(
        ingest,
        lambda client, places, write: recalled(client, places, write) == PARTS,
        acknowledged=202,
        named=lambda answer: answer["message_ids"][0],
        halved=lambda client, places, write: recalled(client, places, write) not in {0, PARTS},
    ),
    "stores": Surface(
        put_items,
        lambda client, places, write: items(client, places, write) == PARTS,
        acknowledged=200,
        named=lambda _: "",
        halved=lambda client, places, write: items(client, places, write) not in {0, PARTS},
    ),
    "mem0": Surface(
        lambda client, places, write: call(
            client, "POST", "/v3/memories/add/",
            {"messages": [{"role": "user", "content": write.text}], "user_id": places.run, "infer": False},
        ),
        same("/v1/memories/{id}/", "memory"),
        acknowledged=200,
        named=lambda answer: answer["results"][0]["id"],
    ),
}  # fmt: skip


def missing(client: Client, places: Places, writes: Iterable[Write]) -> set[Write]:
    """Those that are not there word for word."""
    return {write for write in writes if not SURFACES[write.surface].kept(client, places, write)}


def halves(client: Client, places: Places, writes: Iterable[Write]) -> set[Write]:
    """Those of which only a part is there."""
    tests = {name: surface.halved for name, surface in SURFACES.items() if surface.halved}
    return {write for write in writes if write.surface in tests and tests[write.surface](client, places, write)}
