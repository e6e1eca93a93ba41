"""Skewed accounts on many database nodes, as Citus lays them out: how even it is, how long the tail gets, and what it
costs to move somebody.

    python -m bench.shards [--json figures.json]

Accounts follow Zipf: few are large. Each is hashed to a shard, shards lie on nodes in turn, as `citus` places them; an
account that is isolated has a shard of its own, which a rebalance may put anywhere. A node answers like a queue with as
many servers as it has processors: requests come at random, the work of each is drawn from measured times, and who comes
waits for whoever came before. No network and no replicas. The same seed gives the same figures; it takes seconds.
"""

import argparse
import heapq
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.figures import tabled
from bench.talk import SEED

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Setting:
    """What is simulated. Times are of the database alone, as `bench.load` measures them."""

    accounts: int = 200_000
    shards: int = 32
    nodes: int = 4
    exponent: float = 1.0  # of Zipf: of sizes and of traffic
    largest_share: float = 0.02  # no account has more of everything: who is larger has several
    bytes: float = 1e12  # of all accounts
    processors: int = 8  # of each node
    service_ms: float = 3.0  # processor time of Postgres for a request, the mean of the mix
    spread: float = 0.8  # of its logarithm: some requests take many times as long
    utilisation: float = 0.5  # of all processors of all nodes together
    requests: int = 200_000
    copy_mb_s: float = 40.0  # when shards move
    blocked_s: float = 1.0  # writes to a shard wait so long, at the end of its move


@dataclass(frozen=True)
class Balance:
    """How much the fullest node has, of the mean; and its share of what is asked."""

    bytes: float
    load: float


@dataclass(frozen=True)
class Tail:
    p50_ms: float
    p99_ms: float
    p999_ms: float
    busiest: float  # how busy the busiest node is


@dataclass(frozen=True)
class Move:
    """What has to be copied, how long that takes, how many shards move, and for how long some of the writes wait."""

    gigabytes: float
    minutes: float
    shards: int
    blocked_s: float


def shares(setting: Setting) -> Floats:
    """What each account has of everything, the largest first; sums up to 1."""
    weights = 1.0 / np.arange(1, setting.accounts + 1) ** setting.exponent
    weights /= weights.sum()
    for _ in range(20):  # what is above the limit goes to the others
        over = weights > setting.largest_share
        if not over.any():
            break
        weights[over] = setting.largest_share
        weights[~over] *= (1.0 - setting.largest_share * over.sum()) / weights[~over].sum()
    return weights


def hashed(setting: Setting, seed: int = SEED) -> Ints:
    """The shard of each account. Ranges of hashes are even, and accounts are spread over them evenly, by chance."""
    return np.random.default_rng(seed).integers(0, setting.shards, setting.accounts)


def in_turn(setting: Setting) -> Ints:
    """The node of each shard, as they are laid out when the tables are distributed."""
    return np.arange(setting.shards) % setting.nodes


def isolated(setting: Setting, shard: Ints, largest: int) -> tuple[Setting, Ints]:
    """The largest accounts, each in a shard of its own. Citus cuts the shard around it in three; the two outer parts
    stay where they were, and count as one here.
    """
    shard = shard.copy()
    shard[:largest] = setting.shards + np.arange(largest)
    return replace(setting, shards=setting.shards + largest), shard


def by_shard(setting: Setting, shard: Ints, share: Floats) -> Floats:
    return np.bincount(shard, weights=share, minlength=setting.shards).astype(np.float64)


def by_node(setting: Setting, node: Ints, load: Floats) -> Floats:
    return np.bincount(node, weights=load, minlength=setting.nodes).astype(np.float64)


def balance(setting: Setting, shard: Ints, node: Ints, share: Floats) -> Balance:
    """Sizes and traffic follow the same shares, so both are as even."""
    load = by_node(setting, node, by_shard(setting, shard, share))
    uneven = round(float(load.max() / load.mean()), 3)
    return Balance(bytes=uneven, load=uneven)


def rebalanced(setting: Setting, node: Ints, load: Floats, threshold: float = 0.05) -> Ints:
    """Moves shards from the fullest node to the emptiest as long as that helps, the largest that fit first: as the
    rebalancer does it by disk size.
    """
    node = node.copy()
    mean = load.sum() / setting.nodes
    for _ in range(10 * setting.shards):
        full = by_node(setting, node, load)
        most, least = int(full.argmax()), int(full.argmin())
        if full[most] <= mean * (1 + threshold):
            break
        own = np.flatnonzero(node == most)
        fitting = own[load[own] < full[most] - full[least]]  # else it would only change places
        if not len(fitting):
            break
        better = fitting[np.argmin(np.maximum(full[most] - load[fitting], full[least] + load[fitting]))]
        node[better] = least
    return node


def move(setting: Setting, before: Ints, after: Ints, load: Floats) -> Move:
    """From one layout to another, one shard after the other, while everybody reads and writes."""
    moved = np.flatnonzero(before != after)
    return copied(setting, float(load[moved].sum()), len(moved))


def copied(setting: Setting, share: float, shards: int) -> Move:
    """This share of everything, in so many shards."""
    size = share * setting.bytes
    return Move(
        gigabytes=round(size / 1e9, 1),
        minutes=round(size / (setting.copy_mb_s * 1e6) / 60, 1),
        shards=shards,
        blocked_s=round(shards * setting.blocked_s, 1),
    )


def tail(setting: Setting, node_load: Floats, seed: int = SEED) -> Tail:
    """How long requests take in the database, waiting included, where each node has this share of them."""
    chance = np.random.default_rng(seed)
    rate = setting.utilisation * setting.nodes * setting.processors / (setting.service_ms / 1000)  # a second, in all
    waits: list[Floats] = []
    mu = np.log(setting.service_ms) - setting.spread**2 / 2  # so that the mean is what was measured
    for share in node_load / node_load.sum():
        asked = max(1, round(setting.requests * float(share)))
        arrivals = np.cumsum(chance.exponential(1000 / (rate * float(share)), asked))
        waits.append(queued(arrivals, chance.lognormal(mu, setting.spread, asked), setting.processors))
    milliseconds = np.concatenate(waits)
    p50, p99, p999 = np.percentile(milliseconds, (50, 99, 99.9)).tolist()
    busiest = float(node_load.max() / node_load.mean()) * setting.utilisation
    return Tail(round(p50, 2), round(p99, 2), round(p999, 2), round(busiest, 3))


def queued(arrivals: Floats, service: Floats, servers: int) -> Floats:
    """Waiting and service of each, first come, first served, by whichever server is free first."""
    free = [0.0] * servers
    took = np.empty(len(arrivals))
    for place, (at, work) in enumerate(zip(arrivals.tolist(), service.tolist(), strict=True)):
        end = max(at, free[0]) + work
        heapq.heapreplace(free, end)
        took[place] = end - at
    return took


# ------------------------------------------------------------------------------------------------ what is asked


def layouts(setting: Setting, nodes: tuple[int, ...] = (1, 2, 4, 8, 16, 32)) -> list[dict[str, Any]]:
    """By nodes: hashed, with the largest accounts isolated, and rebalanced."""
    share = shares(setting)
    found: list[dict[str, Any]] = []
    for number in nodes:
        one = replace(setting, nodes=number, shards=max(setting.shards, 4 * number))
        shard = hashed(one)
        node, load = in_turn(one), by_shard(one, shard, share)
        better = rebalanced(one, node, load)
        apart, own_shard = isolated(one, shard, min(2 * number, 16) if number > 1 else 0)
        own_load = by_shard(apart, own_shard, share)
        own_node = rebalanced(apart, in_turn(apart), own_load)
        for name, ground, layout, loads in (
            ("hashed", one, node, load), ("rebalanced", one, better, load),
            ("largest isolated, rebalanced", apart, own_node, own_load),
        ):  # fmt: skip
            on_nodes = by_node(ground, layout, loads)
            found.append({"nodes": number, "shards": ground.shards, "layout": name,
                          "uneven": round(float(on_nodes.max() / on_nodes.mean()), 3),
                          **asdict(tail(ground, on_nodes))})  # fmt: skip
    return found


def busy(setting: Setting, at: tuple[float, ...] = (0.3, 0.5, 0.6, 0.7, 0.8)) -> list[dict[str, Any]]:
    """By how busy all nodes are on average."""
    share = shares(setting)
    shard = hashed(setting)
    load = by_shard(setting, shard, share)
    node = rebalanced(setting, in_turn(setting), load)
    return [
        {"utilisation": each, **asdict(tail(replace(setting, utilisation=each), by_node(setting, node, load)))}
        for each in at
    ]


def hot(setting: Setting, times: tuple[int, ...] = (1, 5, 10, 12)) -> list[dict[str, Any]]:
    """The largest account asks so many times as much for a while: what those feel who lie on its node, and others."""
    share = shares(setting)
    shard = hashed(setting)
    node = rebalanced(setting, in_turn(setting), by_shard(setting, shard, share))
    found: list[dict[str, Any]] = []
    for factor in times:
        asked = share.copy()
        asked[0] *= factor
        load = by_node(setting, node, by_shard(setting, shard, asked))
        more = replace(setting, utilisation=setting.utilisation * float(asked.sum()))
        here = int(node[shard[0]])
        for where, numbers in (("its node", [here]), ("the others", [n for n in range(setting.nodes) if n != here])):
            part = load[numbers]
            share_here = float(part.sum() / load.sum())
            ground = replace(more, nodes=len(numbers), utilisation=more.utilisation * share_here * setting.nodes
                             / len(numbers), requests=round(setting.requests * share_here))  # fmt: skip
            found.append({"times": factor, "where": where, **asdict(tail(ground, part))})
    return found


def moves(setting: Setting) -> dict[str, dict[str, Any]]:
    """To isolate the largest account, to rebalance once, and to add a node."""
    share = shares(setting)
    shard = hashed(setting)
    node, load = in_turn(setting), by_shard(setting, shard, share)
    apart, own_shard = isolated(setting, shard, 1)
    own_load = by_shard(apart, own_shard, share)
    # Its former node keeps it until it is moved: the split copies the whole shard in place.
    former = np.append(node, node[shard[0]])
    elsewhere = former.copy()
    others = by_node(apart, former, own_load)
    elsewhere[-1] = int(others.argmin())
    more = replace(setting, nodes=setting.nodes + 1)
    even = rebalanced(setting, node, load)
    return {
        "cut the shard of the largest account": asdict(copied(setting, float(load[shard[0]]), 1)),
        "move the largest account": asdict(move(apart, former, elsewhere, own_load)),
        "rebalance what was hashed": asdict(move(setting, node, even, load)),
        f"add a node to {setting.nodes}": asdict(move(more, even, rebalanced(more, even, load), load)),
    }  # fmt: skip


def figures(setting: Setting) -> dict[str, Any]:
    return {
        "setting": asdict(setting),
        "layouts": layouts(setting),
        "busy": busy(setting),
        "hot": hot(setting),
        "moves": moves(setting),
    }


def tables(found: dict[str, Any]) -> dict[str, str]:
    """In Markdown, by what they show."""
    layout = [
        [each["nodes"], each["shards"], each["layout"], each["uneven"], each["busiest"], each["p50_ms"], each["p99_ms"],
         each["p999_ms"]]
        for each in found["layouts"]
    ]  # fmt: skip
    much = [[each["utilisation"], each["busiest"], each["p50_ms"], each["p99_ms"]] for each in found["busy"]]
    one = [[each["times"], each["where"], each["busiest"], each["p50_ms"], each["p99_ms"]] for each in found["hot"]]
    moved = [[name, *each.values()] for name, each in found["moves"].items()]
    head = ["nodes", "shards", "layout", "fullest ÷ mean", "busiest node", "p50, ms", "p99", "p99.9"]
    return {
        "layouts": tabled(head, layout),
        "busy": tabled(["busy on average", "busiest node", "p50, ms", "p99"], much),
        "hot": tabled(["the largest account asks, times", "felt on", "busiest node", "p50, ms", "p99"], one),
        "moves": tabled(["what", "GB copied", "minutes", "shards", "writes wait, s in all"], moved),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures there")
    given = parser.parse_args()
    found = figures(Setting())
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")
    print("\n\n".join(tables(found).values()))


if __name__ == "__main__":
    main()
