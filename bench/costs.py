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
from bench.talk import SEED

IDLE = 10  # seconds in which is seen what the server uses for itself


def costs(ground: Ground, people: Sequence[Person], said: mix.Sayings, calls: int) -> dict[str, Json]:
    """By operation. People are asked in turn, from those with most to those with least."""
    chance = random.Random(SEED)
    asking = [people[place * len(people) // calls] for place in range(calls)]
    found: dict[str, Json] = {}
    idle = _idle(ground)
    for name, (operation, _) in mix.MIX.items():
        client = Client(ground.keepstone.url, patience=mix.PATIENCE)
        for person in asking:  # the second time is measured: by then their spaces stand in memory
            _call(client, operation(person, said, chance), person)
        client.close()  # the server closes what nobody uses
        ground.rest()
        before, log, done = watch.processor_seconds(ground), watch.written_log(ground), watch.transactions(ground)
        begun, seconds = time.monotonic(), list[float]()
        for person in asking:
            asked = operation(person, said, chance)
            at = time.perf_counter()
            _call(client, asked, person)
            seconds.append(time.perf_counter() - at)
        at_once = watch.processor_seconds(ground)
        ground.rest()
        lasted, after = time.monotonic() - begun, watch.processor_seconds(ground)
        found[name] = {
            "p50_ms": round(1000 * percentile(seconds, 50), 2),
            "cpu_ms": {who: round(1000 * (at_once[who] - before[who] - idle[who] * sum(seconds)) / calls, 2)
                       for who in ("keepstone", "postgres")},
            "cpu_ms_with_jobs": {who: round(1000 * (after[who] - before[who] - idle[who] * lasted) / calls, 2)
                                 for who in ("keepstone", "postgres")},
            "log_kb": round((watch.written_log(ground) - log) / calls / 1024, 2),
            "transactions": round((watch.transactions(ground) - done) / calls, 1),
        }  # fmt: skip
        client.close()
    return found


def _call(client: Client, asked: mix.Asked, person: Person) -> None:
    status, body = client.answer(asked.method, asked.path, asked.sent, {**person.auth, **asked.headers})
    if status >= 300:
        raise RuntimeError(f"{asked.method} {asked.path} answered {status}: {body[:300]!r}")


def _idle(ground: Ground) -> dict[str, float]:
    """Processor seconds a second, while nobody asks."""
    ground.rest()
    before, begun = watch.processor_seconds(ground), time.monotonic()
    time.sleep(IDLE)
    lasted = time.monotonic() - begun
    return {who: (after - before[who]) / lasted for who, after in watch.processor_seconds(ground).items()}
