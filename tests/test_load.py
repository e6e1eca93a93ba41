"""The load test itself: a tiny one against a real server, and what it makes of what it saw."""

import asyncio
from pathlib import Path

import pytest
from bench import load, loaded, pool
from bench.crowd import zipf
from bench.load import Wanted

from keepstone.providers.embedder import Embedder
from weights import weights

SAID = [
    *("Our puppy Luna ate the blue curtain in March.", "We moved the meeting with Clara to Thursday morning."),
    *("The ferry to the island leaves at seven.", "Ben plays the violin in a small orchestra."),
    *("I planted tomatoes behind the old station.", "My brother repairs bicycles for the museum."),
]


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes that copy are new interpreters, which have to find this tree."""
    monkeypatch.setenv("PYTHONPATH", str(Path(load.__file__).parent.parent))


@pytest.mark.usefixtures("alone")
async def test_what_is_filled_past_the_api_is_found_counted_and_asked_without_errors(
    models: tuple[Embedder, ...], tmp_path: Path
) -> None:
    texts = await pool.embedded([f"{one} {other}" for one in SAID for other in SAID], models)
    wanted = Wanted(passages=300, people=3, minutes=0.05, rate=10, calls=0)
    # It raises if a planted text is not found, or a counter is not what is there.
    asked = ["Who plays the violin?"]
    part = await asyncio.to_thread(load.measure, wanted, "embedded", tmp_path, weights(), texts, asked)
    assert part["filled"]["planted_found"] == 9
    assert part["filled"]["passages"] == 300
    assert sum(part["filled"]["tables"][name]["bytes"] for name in ("passages", "terms", "vectors")) > 300 * 1000
    assert part["operations"]["recall"]["requests"] > 0
    assert not loaded.broken(part)
    assert part["after"]["pending_embeddings"] == 0
    shown = loaded.markdown(part | {"run": "now", "machine": "here"})
    assert "| recall |" in shown
    assert part["costs"] == {}
    assert "rises in an hour" in shown


def sample(minute: int, memory: float, answered: float = 20.0, **more: object) -> dict[str, object]:
    return {
        "at": f"2026-01-01T00:{minute:02}:00+00:00", "offered": 20.0, "rate": answered, "p99_ms": 100.0, "writes": 400,
        "memory_mb": {"keepstone": memory, "postgres": 100.0}, "disk_mb": 1000.0 + minute, "pending_embeddings": 3,
        "jobs": {"todo": 1, "failed": 0}, "dead": 10, "live": 1000, "backends": {"working": 0.1},
        "blocked_locks": 0.0, "processors": {"keepstone": 0.5, "postgres": 0.2, "client": 0.1}, "cores": 2,
        "machine": 1.0,
    } | more  # fmt: skip


def test_what_grows_is_told_from_what_stands_still_after_a_warm_up() -> None:
    still = [sample(minute, 500.0 if minute > 8 else 40.0 * minute) for minute in range(40)]
    growing = [sample(minute, 500.0 + 2 * minute) for minute in range(40)]
    assert loaded.growth(still)["memory of Keepstone, MB"]["an_hour"] == pytest.approx(0, abs=0.01)
    assert loaded.growth(growing)["memory of Keepstone, MB"]["an_hour"] == pytest.approx(120)
    assert loaded.disk_a_write(growing) == pytest.approx(1024 / 400, rel=0.01)


def test_a_ramp_says_what_was_short_where_it_bends() -> None:
    steps = [sample(0, 1.0), sample(1, 1.0, answered=12.0, processors={"keepstone": 1.4, "postgres": 0.5, "client": 0})]
    assert loaded.bend(steps)["served"] == 20.0
    assert "processors: 1.90 of 2" in loaded.bend(steps)["reason"]
    locked = sample(1, 1.0, backends={"Lock: transactionid": 4.0, "working": 0.3}, blocked_locks=4.0)
    assert "Lock: transactionid" in loaded.reason(locked)


def test_shares_sum_up_and_the_first_has_most() -> None:
    shares = zipf(2_000)
    assert shares.sum() == pytest.approx(1)
    assert shares[0] == pytest.approx(2 * shares[1])
    assert 0.1 < shares[0] < 0.15
