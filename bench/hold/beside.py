"""Who works beside the storm: a client of an account of its own, and one who asks `/healthz`. Each is a process.

The client does one thing after the other, as a person or an agent would: keeps something (on nine surfaces in turn),
recalls, asks, lists, searches, chats through the proxy. A request that is refused counts as one that never ended.
"""

import json
import multiprocessing
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from itertools import cycle
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event
from typing import Any

from bench.client import Client
from bench.hold.judge import NEVER
from bench.writes import SURFACES, Answer, Fault, Places, Write, call, words

PATIENCE = 60.0
PAUSE = 0.02  # between two requests
PROBE = 0.05  # between two looks at /healthz


@dataclass(frozen=True)
class Sample:
    """One request: when it began, and how it went."""

    doing: str
    began: float
    seconds: float
    status: int
    body: str = ""  # of an answer of 500 or more
    write: Write | None = None  # that was acknowledged


@dataclass(frozen=True)
class Account:
    """Where to send, and as whom."""

    url: str
    key: str

    def client(self, patience: float = PATIENCE) -> Client:
        return Client(self.url, {"Authorization": f"Bearer {self.key}"}, patience)


def work(account: Account, places: Places, chat: bool, samples: "Queue[Sample]", end: Event) -> None:
    """Until the end."""
    client = account.client()
    word = words(f"{places.run}beside")
    for doing, send in cycle(list(turns(places, word, chat))):
        if end.is_set():
            break
        samples.put(taken(doing, client, send))
        end.wait(PAUSE)
    client.close()


Sending = Callable[[Client], tuple[Answer, Write | None]]


def turns(places: Places, word: Callable[[], str], chat: bool) -> Generator[tuple[str, Sending]]:
    """What it does, each thing with a request of its own. After each way to keep something come the ways to read."""

    def keep(name: str) -> Sending:
        def send(client: Client) -> tuple[Answer, Write | None]:
            write, surface = Write(name, word()), SURFACES[name]
            answer = surface.send(client, places, write)
            kept = answer.status == surface.acknowledged
            return answer, Write(name, write.word, surface.named(answer.json)) if kept else None

        return send

    def ask(method: str, path: str, body: Any = None) -> Sending:
        return lambda client: (call(client, method, path, body), None)

    scope = {"scope_id": places.run}
    reads = {
        "recall": ask(
            "POST", "/v1/recall", scope | {"message": {"speaker": "Ben", "text": "When does the ferry leave?"}}
        ),
        "ask": ask("POST", "/v1/ask", scope | {"question": "Where is the lantern?"}),
        "list": ask("GET", "/v1/memory/capsules?limit=20"),
        "search": ask("GET", "/v1/memory/capsules?q=violin+garden&mode=hybrid&limit=10"),
    }
    if chat:
        said = {
            "model": "local",
            "messages": [{"role": "user", "content": "Which bridge has a lantern?"}],
            "stream": True,
        }
        reads["chat"] = ask("POST", "/v1/chat/completions", said)
    for name in SURFACES:
        yield f"keep: {name}", keep(name)
        yield from reads.items()


def taken(doing: str, client: Client, send: Sending) -> Sample:
    began = time.monotonic()
    try:
        answer, write = send(client)
    except (*Fault, json.JSONDecodeError) as fault:
        return Sample(doing, began, NEVER, 0, f"{type(fault).__name__}: {fault}")
    seconds = time.monotonic() - began if answer.status < 400 else NEVER
    body = answer.body[:500].decode(errors="replace") if answer.status >= 500 else ""
    return Sample(doing, began, seconds, answer.status, body, write)


def probe(url: str, samples: "Queue[Sample]", end: Event) -> None:
    """Asks whether it is alive until the end, on one connection."""
    client = Client(url, patience=PATIENCE)
    while not end.is_set():
        began = time.monotonic()
        try:
            status, _ = client.answer("GET", "/healthz")
            samples.put(Sample("/healthz", began, time.monotonic() - began, status))
        except Fault as fault:
            samples.put(Sample("/healthz", began, time.monotonic() - began, 0, f"{type(fault).__name__}: {fault}"))
        end.wait(PROBE)
    client.close()


class Beside:
    """Both of them, from `start` to `stop`; `drain` gives what they met since the last time."""

    def __init__(self, account: Account, places: Places, *, chat: bool) -> None:
        context = multiprocessing.get_context("spawn")
        self._samples: Queue[Sample] = context.Queue()
        self._end = context.Event()
        self._processes = [
            context.Process(target=work, args=(account, places, chat, self._samples, self._end), daemon=True),
            context.Process(target=probe, args=(account.url, self._samples, self._end), daemon=True),
        ]

    def start(self) -> None:
        for process in self._processes:
            process.start()

    def drain(self) -> list[Sample]:
        found: list[Sample] = []
        while not self._samples.empty():
            found.append(self._samples.get())
        return found

    def stop(self) -> list[Sample]:
        self._end.set()
        found: list[Sample] = []
        while any(process.is_alive() for process in self._processes):
            found += self.drain()  # a process with something in the queue would not end
            time.sleep(0.02)
        return found + self.drain()
