"""A server under the load of thousands of people over millions of passages: how fast, how much, and what grows.

    python -m bench.load --passages 1000000 --minutes 60 --rate 20
    python -m bench.load --passages 5000000 --minutes 60 --rate 20 --home /var/tmp/load --keep
    python -m bench.load --home /var/tmp/load --keep --ramp
    KEEPSTONE_CITUS=/usr/lib/postgresql/18 python -m bench.load --passages 200000 --minutes 10 --citus

Accounts with a key each move in over HTTP; their spaces are filled past the API (`bench.bulk`), a planted text of some
is looked for, and the counters of all are compared with what is there. Then people come at random moments, so many a
second, and recall, ingest, chat, compose, search and save (`bench.mix`), while memory, disk, tables, waits and backlog
are looked at (`bench.watch`). With `--ramp` more and more come, until the server falls behind. At the end each
operation is called alone, to see what it costs.

`--citus` runs the same twice: on a cluster of a coordinator and two workers, and on one Postgres of the same programs
and settings. What is measured goes to `--json`, and with `--write` into `docs/benchmarks.json` and the page. The home
of a run with `--keep` is used again, and not filled again.
"""

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench import bulk, crowd, loaded, mix, page, pool, talk, watch
from bench.__main__ import machine
from bench.client import Client
from bench.costs import costs
from bench.crowd import SCOPE, Person
from bench.figures import HUGE, Json, count, percentile, scratch
from bench.ground import WAYS, Ground, Way, opened
from bench.proxy import model
from keepstone.engine.embed import LARGE
from keepstone.providers.embedders import models_folder
from keepstone.providers.models import fetch
from keepstone.settings import read_settings

PLANTED = 10  # people whose planted texts are looked for: some with much and some with little
LOOKED = 50  # results: a text that says nothing ("Yeah yeah") is not the first to be found, not even by itself
LOOKS = 60  # a run is looked at so often, and not more than each minute of a long one
STEP = 1.25  # of a ramp: so many times as many come next
BEND = 1.0  # seconds: a p99 above it is where a ramp ends
BEHIND = 0.9  # or where less than this share of who came has been answered


@dataclass(frozen=True)
class Wanted:
    passages: int = HUGE
    people: int = 2_000
    minutes: float = 60.0
    rate: float = 20.0
    ramp: bool = False
    seconds: float = 60.0  # of a step of the ramp
    calls: int = 120  # of each operation, to see what one costs


def measure(wanted: Wanted, way: Way, folder: Path, models: Path, texts: pool.Pool, questions: Sequence[str]) -> Json:
    """All of one run. Nothing is left running."""
    said = mix.Sayings(texts, questions)
    with (
        model() as url,
        opened(way, folder, KEEPSTONE_MODELS_FROM=str(models), KEEPSTONE_LLM_PROVIDER="openai",
               KEEPSTONE_LLM_BASE_URL=f"{url}/v1", KEEPSTONE_LLM_API_KEY="none") as ground,
    ):  # fmt: skip
        people, filled = settled(ground, wanted, folder / "crowd.json", texts)
        stream = mix.Stream(ground.keepstone.url, people, said)
        waits = watch.Waits(ground)
        before = watch.look(ground)
        try:
            course = ramp(ground, wanted, stream, waits) if wanted.ramp else soak(ground, wanted, stream, waits)
        finally:
            stream.close()
            waits.close()
        drained = ground.rest()
        return {
            "way": way,
            "wanted": {"passages": wanted.passages, "people": wanted.people, "minutes": wanted.minutes,
                       "rate": wanted.rate, "ramp": wanted.ramp},
            "filled": filled,
            "before": before,
            "after": watch.look(ground),
            "drained_s": round(drained, 1),
            **course,
            "costs": costs(ground, people, said, wanted.calls) if wanted.calls else {},
        }  # fmt: skip


# ------------------------------------------------------------------------------------------------ the filling


def settled(ground: Ground, wanted: Wanted, file: Path, texts: pool.Pool) -> tuple[list[Person], Json]:
    """Everybody with what is theirs: of the run before, or made now."""
    people, noted = crowd.known(file)
    if people:
        if (noted["asked"], len(people)) != (wanted.passages, wanted.people):
            raise SystemExit(f"{file.parent} was filled with --passages {noted['asked']} --people {len(people)}.")
        ground.rest()
        return people, noted
    note = _noting(time.monotonic())
    note(f"{wanted.people} people move in")
    people = crowd.move_in(wanted.people, ground.keepstone.url, ground.settings)
    moved = note("what they brought is embedded")
    ground.rest()
    _same(ground)
    begun = note(f"{count(wanted.passages)} passages are copied")
    passages = bulk.fill_spaces(ground.owner, people, wanted.passages, texts)
    copied = note("vacuum and statistics")
    bulk.settle(ground.owner)
    indexing = note("the indexes of large spaces")
    large = ask_for_indexes(ground, people)
    ground.rest()
    end = note("planted texts are looked for")
    _same(ground)
    looked_for = planted_found(ground, people)
    filled: Json = {
        "asked": wanted.passages,
        "passages": passages,
        "moved_in_s": round(moved),
        "copied_s": round(copied - begun),
        "vacuum_s": round(indexing - copied),
        "large_spaces": large,
        "indexed_s": round(end - indexing),
        "planted_found": looked_for,
        "disk_mb": round(watch.disk(ground) / watch.MB, 1),
        "tables": watch.tables(ground),
    }
    crowd.keep(people, file, **filled)
    return people, filled


def _noting(begun: float) -> Callable[[str], float]:
    def note(what: str) -> float:
        print(f"  {time.monotonic() - begun:7.1f} s  {what}", flush=True)
        return time.monotonic() - begun

    return note


def _same(ground: Ground) -> None:
    if wrong := bulk.unlike(ground.owner):
        raise RuntimeError(f"counters of {len(wrong)} spaces are not what is there: {wrong[:5]}")


def ask_for_indexes(ground: Ground, people: Sequence[Person]) -> int:
    """One more message or node makes the job look at what has grown large. Returns how many spaces that are."""
    with bulk.connect(ground.owner) as conn:
        query = "SELECT account, kind FROM spaces WHERE passages >= %s AND part_of IS NULL"
        large = conn.execute(query, [LARGE]).fetchall()
    by_account = {person.account: person for person in people}
    for account, kind in large:
        client = Client(ground.keepstone.url, by_account[account].auth)
        if kind == "scope":
            client.post("/v1/ingest", {"scope_id": SCOPE, "transcript": [{"speaker": "Ben", "text": "One more."}]})
        else:
            client.post("/v1/graphs/default/nodes", {"content": "One more, so that the job looks at the graph."})
        client.close()
    return len(large)


def planted_found(ground: Ground, people: Sequence[Person]) -> int:
    """Each planted text has to be found by itself, in each kind of space. Returns how many."""
    chosen = people[:: max(1, len(people) // PLANTED)]
    with bulk.connect(ground.owner) as conn:
        for person in chosen:
            with closing(Client(ground.keepstone.url, person.auth)) as client:
                for kind, look in _LOOKS.items():
                    text = bulk.planted(conn, kind, person.account)
                    if not any(bulk.marker(person.account, kind) in found for found in look(client, text)):
                        raise RuntimeError(f"a text in the {kind} of account {person.account} is not found")
    return len(chosen) * len(_LOOKS)


def _recalled(client: Client, text: str) -> list[str]:
    asked = {"scope_id": SCOPE, "message": {"speaker": "Anna", "text": text}, "limit": LOOKED, "min_relevance": 0}
    return [each["text"] for each in client.post("/v1/recall", asked)["evidence"]]


def _searched(client: Client, text: str) -> list[str]:
    path = f"/v1/memory/capsules?q={mix.quote(text)}&min_relevance=0&limit={LOOKED}"
    return [each["content_md"] for each in client.get(path)["items"]]


def _from_graph(client: Client, text: str) -> list[str]:
    asked = {"query": text, "min_relevance": 0, "max_results": LOOKED}
    return [each["content"] for each in client.post("/v1/graphs/default/recall", asked)["results"]]


_LOOKS = {"scope": _recalled, "vault": _searched, "graph": _from_graph}


# --------------------------------------------------------------------------------------------------- the load


def soak(ground: Ground, wanted: Wanted, stream: mix.Stream, waits: watch.Waits) -> Json:
    """The same rate all the time, looked at each minute."""
    seconds = wanted.minutes * 60
    each = max(5.0, min(60.0, seconds / 10))
    samples: list[Json] = []
    every: list[mix.Answered] = []
    begun = time.monotonic()
    while (left := seconds - (time.monotonic() - begun)) > 1:
        samples.append(stretch(ground, wanted.rate, min(each, left), stream, waits, every))
        print("  " + loaded.line(samples[-1]), flush=True)
    return {"operations": loaded.by_operation(every), "samples": samples}


def ramp(ground: Ground, wanted: Wanted, stream: mix.Stream, waits: watch.Waits) -> Json:
    """More and more, until p99 or the backlog says that it is too much. The first rate is gone through twice: whose
    spaces are not in memory yet says nothing of it.
    """
    steps: list[Json] = []
    rate, every = wanted.rate, list[mix.Answered]()
    stretch(ground, rate, wanted.seconds, stream, waits, [])
    while len(steps) < LOOKS:
        steps.append(stretch(ground, rate, wanted.seconds, stream, waits, every))
        print("  " + loaded.line(steps[-1]), flush=True)
        if steps[-1]["p99_ms"] > 1000 * BEND or steps[-1]["rate"] < BEHIND * rate:
            break
        rate *= STEP
    return {"operations": loaded.by_operation(every), "steps": steps, "bend": loaded.bend(steps)}


def stretch(
    ground: Ground, rate: float, seconds: float, stream: mix.Stream, waits: watch.Waits, every: list[mix.Answered]
) -> Json:
    """So many a second, so long, and what there was to see. Those still under way count with the next."""
    stream.taken()
    waits.taken()
    begun, used = time.monotonic(), watch.processor_seconds(ground)
    machine_before = watch.machine_seconds()
    log = watch.written_log(ground)
    stream.run(rate, seconds)
    answered = stream.taken()
    lasted = time.monotonic() - begun
    spent = {who: (after - used[who]) / lasted for who, after in watch.processor_seconds(ground).items()}
    every += answered
    looked = watch.look(ground)
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "offered": rate,
        "rate": round(len(answered) / lasted, 2),
        "errors": sum(each.failed for each in answered),
        "writes": sum(each.operation in mix.WRITES for each in answered),
        **{f"p{share}_ms": _milliseconds(answered, share) for share in (50, 95, 99)},
        "waiting": stream.waiting,
        "processors": {who: round(share, 3) for who, share in spent.items()},
        "cores": os.cpu_count(),
        "machine": round((watch.machine_seconds() - machine_before) / lasted, 3),
        "log_mb_s": round((watch.written_log(ground) - log) / lasted / watch.MB, 3),
        **waits.taken(),
        **{name: looked[name] for name in ("memory_mb", "disk_mb", "pending_embeddings", "jobs", "jobs_by_task",
                                           "resident_mb", "searched")},
        "dead": sum(table["dead"] for table in looked["tables"].values()),
        "live": sum(table["live"] for table in looked["tables"].values()),
        "vacuums": sum(table["vacuums"] for table in looked["tables"].values()),
        "analyzes": sum(table["analyzes"] for table in looked["tables"].values()),
    }  # fmt: skip


def _milliseconds(answered: Sequence[mix.Answered], share: float) -> float:
    seconds = [each.seconds for each in answered if each.operation != mix.BASELINE]
    return round(1000 * percentile(seconds, share), 1) if seconds else 0.0


# ------------------------------------------------------------------------------------------------- the program


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=Wanted.passages)
    parser.add_argument("--people", type=int, default=Wanted.people, help="an account each")
    parser.add_argument("--minutes", type=float, default=Wanted.minutes)
    parser.add_argument("--rate", type=float, default=Wanted.rate, help="requests a second; of a ramp the first")
    parser.add_argument("--ramp", action="store_true", help="raise the rate until the server falls behind")
    parser.add_argument("--step-seconds", type=float, default=Wanted.seconds, help="of each rate of a ramp")
    parser.add_argument("--calls", type=int, default=Wanted.calls, help="of each operation, to see what one costs")
    parser.add_argument("--pool", type=int, default=pool.SIZE, help="texts that are embedded, and said again and again")
    parser.add_argument("--home", type=Path, help="where the data lies; by default a new temporary folder")
    parser.add_argument("--keep", action="store_true", help="leave it there, for another run with the same sizes")
    parser.add_argument("--citus", action="store_true", help="on a cluster, and on one Postgres of the same programs")
    parser.add_argument("--models", type=Path, help="folder with the weights; by default that of the data folder")
    parser.add_argument("--json", type=Path, help="write what was measured there")
    parser.add_argument("--write", action="store_true", help="and into docs/benchmarks.json and docs/benchmarks.md")
    given = parser.parse_args()
    if given.citus and given.keep:
        parser.error("A cluster is made anew for each run: leave out --keep, or --citus.")
    models = (given.models or models_folder(read_settings())).expanduser().absolute()
    fetch(models, lambda _: None)
    texts, questions = pool.load(models, given.pool), talk.questions(1_000)
    wanted = Wanted(
        given.passages, given.people, given.minutes, given.rate, given.ramp, given.step_seconds, given.calls
    )
    parts: dict[str, Json] = {}
    for way in WAYS[1:] if given.citus else WAYS[:1]:
        folder = given.home.absolute() if given.home else scratch("keepstone-load-")
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)  # Postgres runs as somebody else where this is root
        print(f"{way}, {count(wanted.passages)} passages …", flush=True)
        begun, run = time.perf_counter(), datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        try:
            measured = measure(wanted, way, folder, models, texts, questions)
        finally:
            if not given.keep:
                shutil.rmtree(folder, ignore_errors=True)
        seconds = round(time.perf_counter() - begun)
        part = {"run": run, "machine": machine(), "seconds": seconds, **measured}
        parts[loaded.name_of(part)] = part
        print(loaded.markdown(part), flush=True)
        if given.json:
            given.json.write_text(json.dumps(parts, indent=1) + "\n")
        if given.write:
            page.keep(loaded.name_of(part), loaded.kept(part))
            page.write()
    return 1 if any(loaded.broken(part) for part in parts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
