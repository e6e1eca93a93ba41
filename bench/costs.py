"""What one call of each operation costs, on a server that does nothing else: processor time of the server and of
Postgres, write-ahead log, transactions; with the work behind it, that is until nothing is left to do.
"""

import random
import time
from collections.abc import Sequence

from bench import mix, watch
from bench.client import Client
from bench.crowd import Person
from bench.figures import Json, percentile
from bench.ground import Ground

PARTS = ("keepstone", "postgres")
IDLE, WINDOWS = 3, 5  # seconds in which is seen what the server uses for itself, and how often


def costs(ground: Ground, people: Sequence[Person], said: mix.Sayings, calls: int) -> dict[str, Json]:
    """By operation. People are asked in turn, from those with most to those with least."""
    chance = random.Random()  # what was said in a run before would be known already
    asking = [people[place * len(people) // calls] for place in range(calls)]
    found: dict[str, Json] = {}
    idle = _idle(ground)
    for name, (operation, _) in mix.MIX.items():
        client = Client(ground.keepstone.url, patience=mix.PATIENCE)
        for person in asking:  # the second time is measured: by then their spaces stand in memory
            _call(client, operation(person, said, chance), person)
        client.close()  # the server closes what nobody uses
        ground.rest(every=1.0)
        before, begun, seconds = _spent(ground), time.monotonic(), list[float]()
        for person in asking:
            asked = operation(person, said, chance)
            at = time.perf_counter()
            _call(client, asked, person)
            seconds.append(time.perf_counter() - at)
        at_once = _more(_spent(ground), before, idle, sum(seconds))
        ground.rest(every=1.0)
        after = _more(_spent(ground), before, idle, time.monotonic() - begun)
        found[name] = {
            "p50_ms": round(1000 * percentile(seconds, 50), 2),
            "cpu_ms": {who: round(1000 * at_once[who] / calls, 2) for who in PARTS},
            "cpu_ms_with_jobs": {who: round(1000 * after[who] / calls, 2) for who in PARTS},
            "log_kb": round(after["log"] / calls / 1024, 2),
            "transactions": round(after["transactions"] / calls, 1),
        }
        client.close()
    return found


def _call(client: Client, asked: mix.Asked, person: Person) -> None:
    status, body = client.answer(asked.method, asked.path, asked.sent, {**person.auth, **asked.headers})
    if status >= 300:
        raise RuntimeError(f"{asked.method} {asked.path} answered {status}: {body[:300]!r}")


def _spent(ground: Ground) -> dict[str, float]:
    """So far: processor seconds of each, bytes of log, and transactions."""
    used = watch.processor_seconds(ground)
    more = {"log": watch.written_log(ground), "transactions": watch.transactions(ground)}
    return {who: used[who] for who in PARTS} | more


def _more(
    after: dict[str, float], before: dict[str, float], idle: dict[str, float], seconds: float
) -> dict[str, float]:
    """Than it would have been without anybody."""
    return {what: max(0.0, after[what] - before[what] - idle[what] * seconds) for what in after}


def _idle(ground: Ground) -> dict[str, float]:
    """What is spent in a second while nobody asks, at the quietest: a vacuum that goes on meanwhile is of what was
    before.
    """
    ground.rest(every=1.0)
    found: list[dict[str, float]] = []
    for _ in range(WINDOWS):
        before, begun = _spent(ground), time.monotonic()
        time.sleep(IDLE)
        lasted = time.monotonic() - begun
        found.append({what: (spent - before[what]) / lasted for what, spent in _spent(ground).items()})
    return {what: min(each[what] for each in found) for what in found[0]}
