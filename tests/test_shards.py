"""The simulation of many nodes: what holds of it whatever the figures are."""

from dataclasses import replace

import numpy as np
import pytest
from bench import shards
from bench.shards import Setting

SMALL = Setting(accounts=20_000, requests=20_000)


def test_the_same_seed_gives_the_same_figures() -> None:
    assert shards.busy(SMALL, (0.5,)) == shards.busy(SMALL, (0.5,))


def test_no_account_has_more_than_the_limit_and_all_have_everything_together() -> None:
    share = shards.shares(SMALL)
    assert share.sum() == pytest.approx(1)
    assert share.max() <= SMALL.largest_share + 1e-12


def test_a_rebalance_evens_out_and_loses_no_shard() -> None:
    share = shards.shares(SMALL)
    shard = shards.hashed(SMALL)
    load = shards.by_shard(SMALL, shard, share)
    crowded = np.zeros(SMALL.shards, dtype=np.int64)  # everything on the first node
    even = shards.rebalanced(SMALL, crowded, load)
    assert len(even) == SMALL.shards
    assert shards.balance(SMALL, shard, even, share).bytes < 1.2 < shards.balance(SMALL, shard, crowded, share).bytes


def test_an_account_that_is_isolated_keeps_its_load_and_its_neighbours_keep_theirs() -> None:
    share = shards.shares(SMALL)
    shard = shards.hashed(SMALL)
    apart, own = shards.isolated(SMALL, shard, 1)
    load = shards.by_shard(apart, own, share)
    assert load[-1] == pytest.approx(share[0])
    assert load.sum() == pytest.approx(1)
    assert load[shard[0]] == pytest.approx(shards.by_shard(SMALL, shard, share)[shard[0]] - share[0])


def test_a_new_node_gets_about_its_part_and_nothing_else_moves() -> None:
    load = shards.by_shard(SMALL, shards.hashed(SMALL), shards.shares(SMALL))
    node = shards.in_turn(SMALL)
    more = replace(SMALL, nodes=SMALL.nodes + 1)
    after = shards.rebalanced(more, node, load)
    assert set(after[after != node].tolist()) == {SMALL.nodes}
    assert 0.1 < shards.move(more, node, after, load).gigabytes * 1e9 / SMALL.bytes < 0.25


def test_a_queue_with_one_server_is_what_is_known_of_it() -> None:
    """Random arrivals and exponential work, half busy: on average twice the work itself."""
    chance = np.random.default_rng(1)
    arrivals = np.cumsum(chance.exponential(2.0, 200_000))
    took = shards.queued(arrivals, chance.exponential(1.0, 200_000), 1)
    assert took.mean() == pytest.approx(2.0, rel=0.05)


def test_the_tail_grows_with_how_busy_it_is() -> None:
    tails = [each["p99_ms"] for each in shards.busy(replace(SMALL, processors=2), (0.3, 0.6, 0.9))]
    assert tails == sorted(tails)
    assert tails[-1] > 1.5 * tails[0]
