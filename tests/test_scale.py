"""The sizing of machines: what follows from figures that were measured, and where it stands on its page."""

from dataclasses import replace

import pytest
from bench import page, scale
from bench.figures import Json
from bench.scale import Assumed, Measured, sized


def cost(keepstone: float, postgres: float) -> Json:
    spent = {"keepstone": keepstone, "postgres": postgres}
    return {"cpu_ms": spent, "cpu_ms_with_jobs": {"keepstone": 2 * keepstone, "postgres": 2 * postgres},
            "log_kb": 10.0, "transactions": 4.0, "p50_ms": 10.0}  # fmt: skip


KNOWN = Measured(7.0, {"terms": 3.0}, 8.0, dict.fromkeys(Assumed().calls, cost(10.0, 4.0)), 100_000, "now", "embedded")


def test_a_hundred_times_as_many_users_take_a_hundred_times_as_much() -> None:
    some, more = (sized(users, KNOWN, Assumed()) for users in (1_000_000, 100_000_000))
    for name in ("passages", "data_tb", "keepstone_cores", "postgres_cores", "resident_gb", "log_mb_s"):
        assert getattr(more, name) == pytest.approx(100 * getattr(some, name))
    assert more.cents_a_user <= some.cents_a_user


def test_a_few_users_need_one_machine_of_each_kind_and_a_standby() -> None:
    few = sized(100, KNOWN, Assumed())
    assert (few.servers, few.nodes, few.standbys, few.shards) == (1, 1, 1, 32)


def test_the_limit_is_what_asks_for_most_machines() -> None:
    users = 100_000_000
    assert "database: disk" in sized(users, replace(KNOWN, kb_a_passage=700.0), Assumed(cached=0.0)).limit
    assert "database: processors" in sized(users, replace(KNOWN, kb_a_passage=0.01, kb_a_trace=0.0), Assumed()).limit
    assert "servers: memory" in sized(users, KNOWN, Assumed(resident_kb=1_000.0)).limit


def test_there_is_a_shard_for_every_quarter_of_a_node() -> None:
    large = sized(100_000_000, KNOWN, Assumed())
    assert large.shards >= 4 * large.nodes


def test_every_table_has_its_one_place_on_the_page_and_is_the_one_that_follows_from_what_was_measured() -> None:
    found = scale.blocks(scale.measured(page.kept()["parts"]), Assumed())
    text = scale.PAGE.read_text()
    assert scale.put_in(text, found) == text
