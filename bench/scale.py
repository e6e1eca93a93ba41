"""Sizing for many users, from what a load test measured: machines, disk, memory, and what that costs a month.

    python -m bench.scale            # prints the tables
    python -m bench.scale --write    # and puts them, with those of `bench.shards`, into docs/scale.md

What one call costs and what a passage takes on disk come from the largest run of `bench.load` in docs/benchmarks.json;
everything else is an assumption that stands in `Assumed` and is printed with the tables.
"""

import argparse
import math
import re
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from bench import page, shards
from bench.figures import Json, count, tabled

PAGE = page.DOCS / "scale.md"
USERS = (10_000, 1_000_000, 100_000_000)
DAY = 86_400


@dataclass(frozen=True)
class Assumed:
    """What people do, how machines are filled, and what these cost. Each with its words for the page."""

    active: float = 0.2
    years: float = 2.0
    passages_a_day: float = 24.0
    ingest: float = 20.0
    recall: float = 20.0
    chat_turn: float = 5.0
    compose: float = 5.0
    room_message: float = 5.0
    graph_recall: float = 3.0
    node: float = 1.0
    save: float = 2.0
    search: float = 3.0
    peak: float = 3.0
    filled: float = 0.6
    within_the_hour: float = 0.1
    cached: float = 0.1
    resident_kb: float = 1.5
    room: float = 1.4
    copies: float = 2.0
    answer_kb: float = 10.0
    trace_days: float = 14.0
    vcpu: float = 25.0
    gb_memory: float = 3.0
    tb_disk: float = 100.0
    server_vcpus: int = 8
    server_gb: int = 32
    node_vcpus: int = 16
    node_gb: int = 128
    node_tb: float = 4.0

    @property
    def calls(self) -> dict[str, float]:
        """By the names of `bench.mix`."""
        named = ("ingest", "recall", "chat_turn", "compose", "room_message", "graph_recall", "node", "save", "search")
        return {name.replace("_", " "): getattr(self, name) for name in named}


TRACED = ("recall", "chat turn", "compose", "graph recall")
MEANT = {
    "active": "share of the users who are there on a day",
    "years": "years that what is said is kept",
    "passages_a_day": "passages that an active user leaves on a day",
    "ingest": "messages ingested by an active user on a day, one a call",
    "recall": "recalls by an active user on a day",
    "chat_turn": "chat turns through the proxy",
    "compose": "prompts composed for a room",
    "room_message": "messages said in rooms",
    "graph_recall": "graph recalls",
    "node": "nodes stored",
    "save": "capsules saved",
    "search": "searches of capsules",
    "peak": "busiest hour over the mean",
    "filled": "how busy processors are in that hour",
    "within_the_hour": "share of the users who ask within that hour, and whose spaces stand in memory",
    "cached": "share of the database that Postgres should find in memory",
    "resident_kb": "KB of memory for a passage of a space that is being asked (docs/settings.md)",
    "room": "disk for each byte of data: bloat, log, room to move shards",
    "copies": "copies of the database: itself and a standby",
    "answer_kb": "KB sent and received for a call",
    "trace_days": "days that a trace is kept (`KEEPSTONE_TRACE_DAYS`)",
    "vcpu": "$ a month for a vCPU",
    "gb_memory": "$ a month for a GB of memory",
    "tb_disk": "$ a month for a TB of SSD",
    "server_vcpus": "vCPUs of a machine for Keepstone",
    "server_gb": "GB of memory of such a machine",
    "node_vcpus": "vCPUs of a machine for Postgres",
    "node_gb": "GB of memory of such a machine",
    "node_tb": "TB of its disk that are filled at most",
}


@dataclass(frozen=True)
class Measured:
    """Of one run."""

    kb_a_passage: float
    tables: dict[str, float]  # KB of each for a passage
    kb_a_trace: float
    costs: dict[str, Json]
    passages: int
    run: str
    way: str


def measured(parts: dict[str, Json]) -> Measured:
    """The largest run on one Postgres whose costs are there."""
    loads = [part for name, part in parts.items() if name.startswith("load ") and part["costs"]]
    runs = [part for part in loads if part["way"] != "citus"]
    if not runs:
        raise SystemExit("docs/benchmarks.json has no load test yet: python -m bench.load --write")
    part = max(runs, key=lambda each: (each["filled"]["passages"], not each["wanted"]["ramp"]))
    filled = part["filled"]
    tables = {name: each["bytes"] / filled["passages"] / 1024 for name, each in filled["tables"].items()}
    traces = part["after"]["tables"]["traces"]
    return Measured(
        1024 * filled["disk_mb"] / filled["passages"],
        {name: kb for name, kb in tables.items() if kb >= 0.01},
        traces["bytes"] / 1024 / max(1, traces["live"]),
        part["costs"],
        filled["passages"],
        part["run"],
        part["way"],
    )


@dataclass(frozen=True)
class Sized:
    """For so many users."""

    users: int
    passages: float
    data_tb: float  # one copy, without room
    disk_tb: float  # all copies, with room
    calls_a_second: float  # on average
    peak_calls: float
    keepstone_cores: float  # in the busiest hour, filled as far as they may be
    postgres_cores: float
    embedding_cores: float  # of Keepstone's: what follows after the answer
    resident_gb: float
    cache_gb: float
    log_mb_s: float
    network_mb_s: float
    servers: int
    nodes: int
    standbys: int
    shards: int
    dollars: float
    limit: str

    @property
    def cents_a_user(self) -> float:
        return 100 * self.dollars / self.users


def sized(users: int, known: Measured, assumed: Assumed) -> Sized:
    days = assumed.active * users
    passages = days * 365 * assumed.years * assumed.passages_a_day
    traces = days * assumed.trace_days * sum(assumed.calls[name] for name in TRACED)
    data = (passages * known.kb_a_passage + traces * known.kb_a_trace) * 1024
    a_second = {name: days * number / DAY for name, number in assumed.calls.items()}
    peak = {name: assumed.peak * number for name, number in a_second.items()}

    def cores(who: str, what: str = "cpu_ms_with_jobs") -> float:
        spent = sum(number * known.costs[name][what][who] / 1000 for name, number in peak.items())
        return spent / assumed.filled

    keepstone, postgres = cores("keepstone"), cores("postgres")
    resident = passages * assumed.within_the_hour * assumed.resident_kb * 1024 / 1e9
    cache = data * assumed.cached / 1e9
    by_server = {"processors": keepstone / assumed.server_vcpus, "memory": resident / (0.5 * assumed.server_gb)}
    by_node = {
        "processors": postgres / assumed.node_vcpus,
        "memory": cache / (0.75 * assumed.node_gb),
        "disk": data * assumed.room / 1e12 / assumed.node_tb,
    }
    servers, nodes = (max(1, math.ceil(max(each.values()))) for each in (by_server, by_node))
    standbys = round(nodes * (assumed.copies - 1))
    disk = data * assumed.room * assumed.copies / 1e12
    money = {
        "Keepstone": servers * (assumed.server_vcpus * assumed.vcpu + assumed.server_gb * assumed.gb_memory),
        "Postgres": (nodes + standbys) * (assumed.node_vcpus * assumed.vcpu + assumed.node_gb * assumed.gb_memory),
        "disk": disk * assumed.tb_disk,
    }
    return Sized(
        users=users,
        passages=passages,
        data_tb=data / 1e12,
        disk_tb=disk,
        calls_a_second=sum(a_second.values()),
        peak_calls=sum(peak.values()),
        keepstone_cores=keepstone,
        postgres_cores=postgres,
        embedding_cores=keepstone - cores("keepstone", "cpu_ms"),
        resident_gb=resident,
        cache_gb=cache,
        log_mb_s=sum(number * known.costs[name]["log_kb"] for name, number in peak.items()) / 1024,
        network_mb_s=sum(peak.values()) * assumed.answer_kb / 1024,
        servers=servers,
        nodes=nodes,
        standbys=standbys,
        shards=max(32, 2 ** math.ceil(math.log2(4 * nodes))),
        dollars=sum(money.values()),
        limit=f"servers: {_most(by_server)}; database: {_most(by_node)}; of the money {_most(money)} takes most",
    )


def _most(numbers: dict[str, float]) -> str:
    return max(numbers, key=lambda name: numbers[name])


# ------------------------------------------------------------------------------------------------- in words


def costs_table(known: Measured) -> str:
    head = ["one call", "Keepstone, CPU ms", "Postgres, CPU ms", "behind it, CPU ms", "log, KB", "transactions",
            "alone, p50 ms"]  # fmt: skip
    lines = [
        [name, each["cpu_ms"]["keepstone"], each["cpu_ms"]["postgres"],
         f"{sum(each['cpu_ms_with_jobs'].values()) - sum(each['cpu_ms'].values()):.1f}", each["log_kb"],
         each["transactions"], each["p50_ms"]]
        for name, each in known.costs.items()
    ]  # fmt: skip
    return tabled(head, lines)


def bytes_table(known: Measured) -> str:
    lines: list[list[Any]] = [[f"`{name}`", f"{kb:.2f}"] for name, kb in known.tables.items()]
    lines += [
        ["the database, for a passage", f"{known.kb_a_passage:.2f}"],
        ["a trace of what was asked and handed out", f"{known.kb_a_trace:.2f}"],
    ]
    return tabled(["table, with its indexes", "KB a passage"], lines)


def assumptions_table(assumed: Assumed) -> str:
    values = asdict(assumed)
    return tabled(["assumed", "value"], [[MEANT[each.name], f"{values[each.name]:g}"] for each in fields(assumed)])


def sizing_table(known: Measured, assumed: Assumed) -> str:
    sizes = [sized(users, known, assumed) for users in USERS]
    lines: list[list[Any]] = [
        ["passages kept", *(_short(each.passages) for each in sizes)],
        ["calls a second, mean", *(_short(each.calls_a_second) for each in sizes)],
        ["in the busiest hour", *(_short(each.peak_calls) for each in sizes)],
        ["data, TB", *(_short(each.data_tb) for each in sizes)],
        ["disk with room and copies, TB", *(_short(each.disk_tb) for each in sizes)],
        ["processors for Keepstone", *(_short(each.keepstone_cores) for each in sizes)],
        ["of these for embedding and other jobs", *(_short(each.embedding_cores) for each in sizes)],
        ["processors for Postgres", *(_short(each.postgres_cores) for each in sizes)],
        ["memory of spaces that are asked, GB", *(_short(each.resident_gb) for each in sizes)],
        ["memory for Postgres' cache, GB", *(_short(each.cache_gb) for each in sizes)],
        ["write-ahead log, MB a second", *(_short(each.log_mb_s) for each in sizes)],
        ["network of clients, MB a second", *(_short(each.network_mb_s) for each in sizes)],
        ["machines for Keepstone", *(f"{each.servers:,}" for each in sizes)],
        ["database nodes", *(f"{each.nodes:,}" for each in sizes)],
        ["standbys", *(f"{each.standbys:,}" for each in sizes)],
        ["shards", *(f"{each.shards:,}" for each in sizes)],
        ["$ a month", *(f"{each.dollars:,.0f}" for each in sizes)],
        ["cents a user a month", *(_short(each.cents_a_user) for each in sizes)],
        ["what is the limit", *(each.limit for each in sizes)],
    ]
    return tabled(["", *(f"{count(users)} users" for users in USERS)], lines)


def _short(value: float) -> str:
    if value >= 1e9:
        return f"{value / 1e9:.3g} billion"
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def blocks(known: Measured, assumed: Assumed) -> dict[str, str]:
    """What stands on the page between the marks of these names."""
    simulated = shards.figures(shards.Setting())
    return {
        "costs": costs_table(known),
        "bytes": bytes_table(known),
        "assumed": assumptions_table(assumed),
        "sizing": sizing_table(known, assumed),
        "run": f"Measured on {count(known.passages)} passages, {known.run}.",
        **shards.tables(simulated),
    }


def put_in(text: str, found: dict[str, str]) -> str:
    """Each block in its place: behind `<!-- name -->`, up to `<!-- end -->`."""
    for name, block in found.items():
        text, places = re.subn(
            rf"(<!-- {name} -->\n).*?(<!-- end -->)", lambda mark, block=block: f"{mark[1]}\n{block}\n\n{mark[2]}",
            text, flags=re.DOTALL,
        )  # fmt: skip
        if places != 1:
            raise RuntimeError(f"docs/scale.md has {places} places for {name}")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="into docs/scale.md")
    parser.add_argument("--page", type=Path, default=PAGE)
    given = parser.parse_args()
    found = blocks(measured(page.kept()["parts"]), Assumed())
    print("\n\n".join(found.values()))
    if given.write:
        given.page.write_text(put_in(given.page.read_text(), found))


if __name__ == "__main__":
    main()
