"""What thousands of people ask of a server at once, as an open stream: whoever comes next waits for nobody.

Arrivals are a Poisson process; who comes follows Zipf. A latency is counted from when somebody came, so that a server
that is late can't hide it by being asked less. It only ever speaks to the server of the load test, on loopback.
"""

import http.client
import json
import queue
import random
import threading
import time
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any
from urllib.parse import quote

from bench import talk
from bench.client import Client
from bench.crowd import AGENT, SCOPE, Person
from bench.pool import SPEAKERS, Pool

CLIENTS = 96  # requests that are under way at once
WAITING = 2_000  # who came and has no client yet; more are turned away, and counted as errors
PATIENCE = 60  # seconds for an answer
KEPT_OPEN = 4  # seconds: as most clients do, one connects anew rather than trust a connection that was idle for longer
Faults = (OSError, http.client.HTTPException)


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def sent(self) -> bytes | None:
        return None if self.body is None else json.dumps(self.body).encode()


@dataclass(frozen=True)
class Answered:
    """`at` and `seconds` in seconds, the first since the stream began; status 0 where there was no answer."""

    at: float
    operation: str
    seconds: float
    status: int

    @property
    def failed(self) -> bool:
        return not 200 <= self.status < 300


class Sayings:
    """What people say and ask: texts of the pool with something new in them, and questions of others."""

    def __init__(self, pool: Pool, questions: Sequence[str]) -> None:
        self._texts, self._questions = pool.texts, questions

    def new(self, chance: random.Random) -> str:
        """Nobody has said just this before."""
        return f"{chance.choice(self._texts)} {chance.choice(self._texts)[:60]} That makes {chance.randrange(10**6)}."

    def question(self, chance: random.Random) -> str:
        """Half of them have an answer somewhere, in other spaces more than in this one."""
        if chance.random() < 0.5:
            return chance.choice(self._questions)
        words = chance.choice(self._texts).split()
        return f"What was said about {' '.join(words[2:10])}?"


Operation = Callable[[Person, Sayings, random.Random], Asked]


def recall(_: Person, said: Sayings, chance: random.Random) -> Asked:
    return Asked("POST", "/v1/recall", talk.recall_body(SCOPE, said.question(chance), speaker="Anna"))


def ingest(_: Person, said: Sayings, chance: random.Random) -> Asked:
    turns = [{"speaker": chance.choice(SPEAKERS), "text": said.new(chance)} for _ in range(chance.randint(1, 3))]
    return Asked("POST", "/v1/ingest", {"scope_id": SCOPE, "transcript": turns})


def chat_turn(person: Person, said: Sayings, chance: random.Random) -> Asked:
    body = {"model": "local", "stream": True, "messages": [{"role": "user", "content": said.question(chance)}]}
    return Asked("POST", "/v1/chat/completions", body, {"X-Keepstone-Chat": person.chat})


def compose(person: Person, said: Sayings, chance: random.Random) -> Asked:
    body = {"agent": AGENT, "message": {"text": said.question(chance)}}
    return Asked("POST", f"/v1/rooms/{person.room}/compose", body)


def say(person: Person, said: Sayings, chance: random.Random) -> Asked:
    return Asked("POST", f"/v1/rooms/{person.room}/messages", {"text": said.new(chance)})


def graph_recall(_: Person, said: Sayings, chance: random.Random) -> Asked:
    return Asked("POST", "/v1/graphs/default/recall", {"query": said.question(chance)})


def store_node(_: Person, said: Sayings, chance: random.Random) -> Asked:
    return Asked("POST", "/v1/graphs/default/nodes", {"content": said.new(chance)})


def save(_: Person, said: Sayings, chance: random.Random) -> Asked:
    return Asked("POST", "/v1/memory/capsules", {"content_md": said.new(chance)})


def search(_: Person, said: Sayings, chance: random.Random) -> Asked:
    return Asked("GET", f"/v1/memory/capsules?q={quote(said.question(chance))}")


def alive(_: Person, __: Sayings, ___: random.Random) -> Asked:
    """What a request costs that does nothing: the baseline."""
    return Asked("GET", "/healthz")


# Of a hundred requests so many.
MIX: dict[str, tuple[Operation, int]] = {
    "recall": (recall, 36),
    "ingest": (ingest, 20),
    "chat turn": (chat_turn, 10),
    "compose": (compose, 8),
    "room message": (say, 5),
    "graph recall": (graph_recall, 6),
    "node": (store_node, 2),
    "save": (save, 4),
    "search": (search, 6),
    "healthz": (alive, 3),
}
WRITES = {"ingest", "chat turn", "room message", "node", "save"}
BASELINE = "healthz"


class Stream:
    """The requests of one stretch of time. Its clients live as long as it does."""

    def __init__(self, url: str, people: Sequence[Person], said: Sayings) -> None:
        self._url, self._people, self._said = url, people, said
        self._chance = random.Random()  # what was said in a run before would be known already
        self._shares = list(accumulate(person.share for person in people))
        self._weights = list(accumulate(weight for _, weight in MIX.values()))
        self._names = list(MIX)
        self._due: queue.Queue[tuple[float, str, Person] | None] = queue.Queue(WAITING)
        self._answered: list[Answered] = []
        self._lock = threading.Lock()
        self._begun = time.monotonic()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def run(self, rate: float, seconds: float) -> None:
        """So many a second come, at random moments."""
        due, end = time.monotonic(), time.monotonic() + seconds
        while (due := due + self._chance.expovariate(rate)) < end:
            if (wait := due - time.monotonic()) > 0:
                time.sleep(wait)
            name = self._names[bisect(self._weights, self._chance.random() * self._weights[-1])]
            person = self._people[min(bisect(self._shares, self._chance.random()), len(self._people) - 1)]
            try:
                self._due.put_nowait((due, name, person))
            except queue.Full:
                self._note(Answered(due - self._begun, name, 0.0, 0))
        if (wait := end - time.monotonic()) > 0:
            time.sleep(wait)

    @property
    def waiting(self) -> int:
        """Who came and has not been begun with."""
        return self._due.qsize()

    def taken(self) -> list[Answered]:
        """What was answered since the last look."""
        with self._lock:
            found, self._answered = self._answered, []
        return found

    def close(self) -> None:
        """When all who came have their answer."""
        for _ in self._threads:
            self._due.put(None)
        for thread in self._threads:
            thread.join()

    def _note(self, answered: Answered) -> None:
        with self._lock:
            self._answered.append(answered)

    def _work(self) -> None:
        client, chance = Client(self._url, patience=PATIENCE), random.Random()
        used = time.monotonic()
        while (each := self._due.get()) is not None:
            due, name, person = each
            asked = MIX[name][0](person, self._said, chance)
            if time.monotonic() - used > KEPT_OPEN:
                client.close()
            try:
                status, _ = client.answer(asked.method, asked.path, asked.sent, {**person.auth, **asked.headers})
            except Faults:
                status = 0
            now = used = time.monotonic()
            self._note(Answered(now - self._begun, name, now - due, status))
        client.close()
