"""Generated requests to every operation that `openapi.json` describes, and every answer of 500 or more.

    python -m bench.fuzz --cases 100000 --log fuzz.jsonl

Half of the requests fit the description and half do not, and some have an extreme value in one place. They go to a real
`keepstone serve` with the key and session of an admin, whose own things are named in paths and bodies, so that more
than the address is tried. Each worker is a process with an account of its own. The log has a line for each piece of
work: a run with the same log goes on where the last one ended. Exit code 1 when there was a 5xx, or no answer.
"""

import argparse
import json
import multiprocessing
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import count, islice
from pathlib import Path
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.result import Ok

from bench.process import Keepstone

CASES_OF_A_PIECE = 40
PATIENCE = 60
PASSWORD = "a long enough password"
# It would end the session that the requests are sent with.
LEFT_OUT = {"POST /auth/logout"}
# What a schema seldom leads to: ends of ranges, and texts that some layer below can't hold.
EXTREMES: list[Any] = [
    *("9999-12-31", "9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00+14:00", "1970-01-01", "2024-02-30", "24:00"),
    *(
        "\0",
        "a\0b",
        "",
        " ",
        "\u202e",
        "%00",
        "../..",
        "' OR 1=1 --",
        "{a,a}",
        "NaN",
        "-1",
        "a" * 3_000,
        "\u00e9" * 3_000,
    ),
    *(0, -1, 2**31, 2**63, -(2**63) - 1, 10**30, 1e308, 5e-324),
    *(None, True, [], {}, [[]], {"": None}, {"\0": "\0"}, [None] * 300),
]
HEALTH = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large, HealthCheck.large_base_example]


@dataclass(frozen=True)
class Person:
    """Whoever sends what is generated, an admin with an account of their own."""

    url: str
    key: str
    session: str


@dataclass(frozen=True)
class Piece:
    """So many cases of one operation. The same piece gives the same cases."""

    label: str
    number: int
    cases: int


@dataclass(frozen=True)
class Finding:
    label: str
    status: int  # 0: no answer
    body: str
    curl: str


@dataclass
class Outcome:
    piece: Piece
    cases: int = 0
    statuses: Counter[int] = field(default_factory=Counter[int])
    findings: list[Finding] = field(default_factory=list[Finding])


# ------------------------------------------------------------------------------------- in a worker, one piece at a time


class Sender:
    """A connection, a session, and things of the person's by the names of parameters and fields."""

    def __init__(self, person: Person) -> None:
        self.person = person
        self.http = requests.Session()
        self.http.headers["Authorization"] = f"Bearer {person.key}"
        self.pieces = 0
        self.things: dict[str, str] = {}

    def made(self, path: str, **options: Any) -> str:
        answer = self.http.post(self.person.url + path, timeout=PATIENCE, **options)
        answer.raise_for_status()
        return answer.json().get("id", "")  # an agent has a slug instead

    def renew(self) -> None:
        """New things, since what was generated may have deleted the old ones."""
        name = f"fuzz{random.SystemRandom().getrandbits(40):x}"
        workspace = self.made("/v1/workspaces", json={"name": name})
        chat = self.made("/v1/chats", json={"workspace_id": workspace})
        graph = self.made("/v1/graphs", json={"name": name})
        node = self.made(f"/v1/graphs/{graph}/nodes", json={"content": f"{name} sails at nine"})
        other = self.made(f"/v1/graphs/{graph}/nodes", json={"content": f"the harbour of {name}"})
        edge = {"from_id": node, "to_id": other, "edge_type": "sails_from"}
        self.made("/v1/agents", json={"slug": name, "name": name, "context_window": 4000, "instructions": "Be brief."})
        project = self.made("/v1/projects", json={"name": name})
        room = self.made("/v1/rooms", json={"name": name, "project_id": project, "agents": [name]})
        item = {"namespace": ["ferries"], "key": name, "value": {"text": "The ferry is red."}}
        self.http.put(f"{self.person.url}/v1/stores/{name}/items", json=item, timeout=PATIENCE)
        self.http.put(f"{self.person.url}/v1/facts/room/{room}/{name}", json={"value": [1]}, timeout=PATIENCE)
        self.things = {
            "workspace_id": workspace,
            "chat_id": chat,
            "memory_id": self.made(f"/v1/chats/{chat}/memory", json={"content": f"The ferry {name} leaves at nine."}),
            "document_id": self.made(f"/v1/workspaces/{workspace}/files", files={"file": ("a.txt", b"A red ferry.")}),
            "artifact_id": self.made(f"/v1/workspaces/{workspace}/artifacts", json={"name": "a", "content": "A ferry"}),
            "graph_id": graph,
            "node_id": node,
            "from_id": node,
            "to_id": other,
            "edge_id": self.made(f"/v1/graphs/{graph}/edges", json=edge),
            "capsule_id": self.made("/v1/memory/capsules", json={"content_md": f"The ferry {name} is red."}),
            "user_id": self.made("/v1/users", json={"email": f"{name}@example.org"}),
            "key_id": self.made("/v1/keys", json={"name": name}),
            "project_id": project,
            "room_id": room,
            "thread_id": self.made(f"/v1/rooms/{room}/threads", json={"title": name}),
            "slug": name,
            "agent": name,
            "store": name,
            "key": name,
            "scope_id": room,
            "scope_kind": "room",
        }

    def send(self, case: schemathesis.Case[Any], chance: random.Random, outcome: Outcome) -> None:
        self.fill(case, chance)
        headers = {"Authorization": f"Bearer {self.person.key}"}
        if case.path.startswith("/chat/api/"):
            headers = {"Cookie": f"session={self.person.session}"}
        outcome.cases += 1
        try:
            answer = case.call(base_url=self.person.url, session=self.http, headers=headers, timeout=PATIENCE)
        except requests.RequestException as fault:
            outcome.findings.append(self.finding(case, 0, f"{type(fault).__name__}: {fault}"))
            return
        outcome.statuses[answer.status_code] += 1
        if answer.status_code >= 500 and '"no_language_model"' not in answer.text:  # there is none, so that is no fault
            outcome.findings.append(self.finding(case, answer.status_code, answer.text[:500]))

    def fill(self, case: schemathesis.Case[Any], chance: random.Random) -> None:
        """Things that are there, in most places where a thing is named."""
        if chance.random() < 0.95:
            case.headers.pop("x-keepstone-user", None)  # a name made up at random would end every request in a 404
        for names in (case.path_parameters, case.query, case.body):
            if isinstance(names, dict):
                for name in names.keys() & self.things.keys():
                    if chance.random() < 0.8:
                        names[name] = self.things[name]
        if chance.random() < 0.3:
            spoil(chance.choice([case.query, case.body, case.body]), chance)

    def finding(self, case: schemathesis.Case[Any], status: int, body: str) -> Finding:
        with suppress(Exception):
            curl = case.as_curl_command(headers={"Authorization": "Bearer $KEY"}, base_url=self.person.url)
            return Finding(case.operation.label, status, body, curl)
        return Finding(case.operation.label, status, body, repr(case))


def spoil(values: Any, chance: random.Random) -> None:
    """Put something extreme in one place of what is sent, however deep."""
    while isinstance(values, dict | list) and values:
        place = chance.choice(list(values) if isinstance(values, dict) else range(len(values)))
        inner = values[place]
        if not (isinstance(inner, dict | list) and inner) or chance.random() < 0.3:
            values[place] = chance.choice(EXTREMES)
            return
        values = inner


@cache
def operations() -> dict[str, Any]:
    described = json.loads((Path(__file__).parent.parent / "openapi.json").read_text())
    every = [result.ok() for result in schemathesis.openapi.from_dict(described).get_all_operations()
             if isinstance(result, Ok)]  # fmt: skip
    return {operation.label: operation for operation in every if operation.label not in LEFT_OUT}


@cache
def strategy(label: str, mode: GenerationMode) -> Any:
    return operations()[label].as_strategy(generation_mode=mode)


def work(sender: Sender, piece: Piece) -> Outcome:
    """All cases of a piece, those that fit the description and those that do not."""
    outcome = Outcome(piece)
    if sender.pieces % 20 == 0:
        sender.renew()
    sender.pieces += 1
    chance = random.Random(f"{piece.label} {piece.number}")
    for mode in GenerationMode:

        @seed(chance.getrandbits(32))
        @settings(
            max_examples=max(1, piece.cases // 2),
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=HEALTH,
        )
        @given(case=strategy(piece.label, mode))
        def every(case: schemathesis.Case[Any]) -> None:
            sender.send(case, chance, outcome)

        with suppress(Unsatisfiable):  # nothing can be wrong with a request that has no parameters
            every()
    if piece.label.startswith("DELETE"):
        sender.renew()
    return outcome


_senders: list[Sender] = []


def _enter(people: Any) -> None:
    _senders.append(Sender(people.get()))


def _work(piece: Piece) -> Outcome:
    return work(_senders[0], piece)


# --------------------------------------------------------------------------------------------------------- all of them


def pieces(labels: Iterable[str]) -> Generator[Piece]:
    """Round after round over all operations, without an end. In another order each time, for runs that end early."""
    known = sorted(labels)
    for number in count():
        for label in random.Random(number).sample(known, len(known)):
            yield Piece(label, number, CASES_OF_A_PIECE)


def read_log(log: Path | None) -> list[Outcome]:
    """What was done before."""
    if log is None or not log.exists():
        return []
    lines = map(json.loads, log.read_text().splitlines())
    return [
        Outcome(
            Piece(**line["piece"]),
            line["cases"],
            Counter({int(status): times for status, times in line["statuses"].items()}),
            [Finding(**finding) for finding in line["findings"]],
        )
        for line in lines
    ]


def people(keepstone: Keepstone, number: int) -> list[Person]:
    made: list[Person] = []
    for each in range(number):
        login = {"email": f"fuzz{each}@example.org", "password": PASSWORD}
        keepstone.command("users", "create", login["email"], "--admin", "--password-stdin", stdin=PASSWORD)
        key = keepstone.command("keys", "create", "--user", login["email"], "--name", "fuzz")
        signed_in = requests.post(f"{keepstone.url}/auth/login", json=login, timeout=PATIENCE)
        signed_in.raise_for_status()
        made.append(Person(keepstone.url, key, str(signed_in.cookies["session"])))
    return made


def run(
    senders: list[Person],
    wanted: int,
    *,
    only: str = "",
    log: Path | None = None,
    minutes: float = float("inf"),
    report: Callable[[str], None] = print,
) -> Outcome:
    """Until there are so many cases, or the time is over."""
    before = read_log(log)
    total, done = Outcome(Piece("", 0, 0)), {(each.piece.label, each.piece.number) for each in before}
    for outcome in before:
        add(total, outcome)
    labels = [label for label in operations() if only in label]
    left = (piece for piece in pieces(labels) if (piece.label, piece.number) not in done)
    begun, end, already = time.monotonic(), time.monotonic() + minutes * 60, total.cases
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    for person in senders:
        queue.put(person)
    with ProcessPoolExecutor(len(senders), mp_context=context, initializer=_enter, initargs=(queue,)) as pool:
        running = {pool.submit(_work, piece) for piece in islice(left, 2 * len(senders))}
        for number in count(1):
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                outcome = future.result()
                add(total, outcome)
                keep(log, outcome)
                for finding in outcome.findings:
                    report(f"{finding.label}: {finding.status} {finding.body[:300]}\n    {finding.curl[:2000]}")
                if total.cases < wanted and time.monotonic() < end:
                    running.add(pool.submit(_work, next(left)))
            if number % 50 == 0:
                report(summary(total, (total.cases - already) / (time.monotonic() - begun)))
            if not running:
                break
    report(summary(total, (total.cases - already) / (time.monotonic() - begun)))
    return total


def add(total: Outcome, outcome: Outcome) -> None:
    total.cases += outcome.cases
    total.statuses += outcome.statuses
    total.findings += outcome.findings


def keep(log: Path | None, outcome: Outcome) -> None:
    if log:
        with log.open("a") as file:
            findings = [asdict(finding) for finding in outcome.findings]
            line = {"piece": asdict(outcome.piece), "cases": outcome.cases, "statuses": outcome.statuses}
            file.write(json.dumps(line | {"findings": findings}) + "\n")


def summary(total: Outcome, speed: float) -> str:
    statuses = ", ".join(f"{status}: {times}" for status, times in sorted(total.statuses.items()))
    return (
        f"{total.cases} cases, {speed:.0f} a second; {len(total.findings)} answers of 500 or more, or none; {statuses}"
    )


def kinds(findings: Iterable[Finding]) -> list[str]:
    """Each fault once, with how often it came and the shortest request that showed it."""
    groups: dict[tuple[str, int, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.label, finding.status, finding.body.split("request_id")[0]), []).append(finding)
    return [
        f"{label}: {status}, {len(group)} times\n  {body[:300]}\n  {min((each.curl for each in group), key=len)}"
        for (label, status, body), group in sorted(groups.items())
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="end after so long, whatever the cases")
    parser.add_argument("--only", default="", help="operations that have this in their name, such as 'POST /v1/rooms'")
    parser.add_argument("--log", type=Path, help="where it goes on from, and where all requests with a 5xx are kept")
    parser.add_argument("--embedder", default="none", help="what KEEPSTONE_EMBEDDINGS_PROVIDER is to be")
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="keepstone-fuzz-"))
    keepstone = Keepstone(place / "home", KEEPSTONE_EMBEDDINGS_PROVIDER=options.embedder)
    keepstone.start()
    try:
        keepstone.wait()
        senders = people(keepstone, options.workers)
        total = run(senders, options.cases, only=options.only, log=options.log, minutes=options.minutes,
                    report=lambda line: print(line, file=sys.stderr, flush=True))  # fmt: skip
        ready = requests.get(f"{keepstone.url}/readyz", timeout=PATIENCE).status_code
    finally:
        keepstone.stop()
    shutil.rmtree(place)
    print("\n".join(kinds(total.findings)))
    print(f"{total.cases} cases, {len(total.findings)} without a right answer; afterwards /readyz answers {ready}")
    return 1 if total.findings or ready != 200 else 0


if __name__ == "__main__":
    sys.exit(main())
