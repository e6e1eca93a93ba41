"""What a load test found, as tables, a verdict and pictures."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from bench import mix
from bench.figures import Json, count, percentile, tabled
from bench.watch import later, slope

WARM_UP = 0.25  # of a run: caches fill, and Postgres gets to know its tables
WORDS = {"embedded": "embedded Postgres", "postgres": "one Postgres", "citus": "Citus, two workers"}


def name_of(part: Json) -> str:
    asked = part["wanted"]
    return f"load {part['way']} {count(asked['passages'])}{' ramp' if asked['ramp'] else ''}"


def by_operation(answered: Sequence[mix.Answered]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for name in (*mix.MIX, "all"):
        own = [each for each in answered if name == each.operation or name == "all" != each.operation]
        if own:
            seconds = [each.seconds for each in own if not each.failed] or [0.0]
            found[name] = {
                "requests": len(own),
                "errors": dict(Counter(str(each.status) for each in own if each.failed)),
                **{f"p{share}_ms": round(1000 * percentile(seconds, share), 1) for share in (50, 95, 99)},
            }
    return found


def line(sample: Json) -> str:
    memory = " + ".join(f"{size:.0f}" for size in sample["memory_mb"].values())
    return (
        f"{sample['offered']:6.1f}/s came, {sample['rate']:6.1f}/s answered; p50 {sample['p50_ms']:.0f}, p99"
        f" {sample['p99_ms']:.0f} ms; errors {sample['errors']}; {memory} MB, disk {sample['disk_mb']:.0f} MB; pending"
        f" {sample['pending_embeddings']}, jobs {sample['jobs']['todo']}; processors {sample['processors']}"
    )


def growth(samples: Sequence[Json]) -> dict[str, Json]:
    """Of each thing that could grow: its level after the warm-up, and by how much of it a line through it rises in an
    hour.
    """
    kept = later(list(samples), WARM_UP)
    seconds = _seconds(kept)
    series: dict[str, list[float]] = {
        "memory of Keepstone, MB": [each["memory_mb"]["keepstone"] for each in kept],
        "memory of Postgres, MB": [each["memory_mb"]["postgres"] for each in kept],
        "passages without vectors": [each["pending_embeddings"] for each in kept],
        "jobs that wait": [each["jobs"]["todo"] for each in kept],
        "jobs that failed": [each["jobs"]["failed"] for each in kept],
        "dead rows of all, %": [100 * each["dead"] / max(1, each["live"]) for each in kept],
        "p99, ms": [each["p99_ms"] for each in kept],
    }
    found: dict[str, Json] = {}
    for name, values in series.items():
        level = sum(values) / max(1, len(values))
        found[name] = {
            "level": round(level, 2),
            "last": round(values[-1], 2) if values else 0.0,
            "an_hour": round(3600 * slope(list(zip(seconds, values, strict=True))), 2),
        }
    return found


def disk_a_write(samples: Sequence[Json]) -> float:
    """KB that the database grows by with each write, after the warm-up."""
    kept = later(list(samples), WARM_UP)
    writes, points = 0, list[tuple[float, float]]()
    for each in kept:
        writes += each["writes"]
        points.append((writes, 1024 * each["disk_mb"]))
    return round(slope(points), 2)


def _seconds(samples: Sequence[Json]) -> list[float]:
    at = [_time(each["at"]) for each in samples]
    return [each - at[0] for each in at]


def _time(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def bend(steps: Sequence[Json]) -> Json:
    """The last rate that was served as it came, and what was short at the next."""
    served = [each for each in steps if each["p99_ms"] <= 1000 and each["rate"] >= 0.9 * each["offered"]]
    last = steps[-1]
    return {"served": served[-1]["offered"] if served else 0.0, "not_served": last["offered"], "reason": reason(last)}


def reason(step: Json) -> str:
    """What there was none left of."""
    shares, cores = step["processors"], step["cores"]
    busy = sum(shares.values())
    parts = ", ".join(f"{who} {share:.2f}" for who, share in shares.items())
    waits = {name: number for name, number in step["backends"].items() if name != "working"}
    longest = max(waits, key=lambda name: waits[name], default="")
    if busy >= 0.85 * cores:
        return f"the processors: {busy:.2f} of {cores} are used ({parts})"
    if step["machine"] >= 0.9 * cores:
        return f"the processors, most of which do other work of this machine: ours use {busy:.2f} of {cores} ({parts})"
    if step["blocked_locks"] >= 1 or (longest.startswith("Lock") and waits[longest] >= 1):
        return f"locks: {step['blocked_locks']:.1f} are waited for on average ({longest}); processors: {parts}"
    return f"{longest or 'nothing in the database'} is waited for most; processors: {parts}"


def broken(part: Json) -> bool:
    """Whether an answer was an error while the server could keep up."""
    return not part["wanted"]["ramp"] and any(each["errors"] for each in part["operations"].values())


def kept(part: Json) -> Json:
    """What goes into the repository: of the course only what the pictures and tables show."""
    drop = {"backends", "jobs_by_task", "searched"}
    short: Json = {name: value for name, value in part.items() if name not in {"before", "samples"}}
    if "samples" in part:
        short["samples"] = [
            {name: value for name, value in each.items() if name not in drop} for each in part["samples"]
        ]
        short["waits"] = waits(part["samples"])
    return short


def waits(samples: Sequence[Json]) -> Json:
    """Backends by what they wait for, on average over all looks."""
    seen = Counter[str]()
    for each in samples:
        for name, number in each["backends"].items():
            seen[name] += number
    return {name: round(number / len(samples), 3) for name, number in seen.most_common(8)}


# ------------------------------------------------------------------------------------------------- in words


def markdown(part: Json) -> str:
    filled, asked = part["filled"], part["wanted"]
    passages = filled["passages"]
    what = f"{count(asked['passages'])} passages of {asked['people']} people, {WORDS[part['way']]}"
    found = [
        f"### {what[0].upper()}{what[1:]}",
        f"Run of {part['run']}. {part['machine']}. Copied in {filled['copied_s']} s"
        f" ({passages / max(1, filled['copied_s']):,.0f} passages a second), vacuumed in {filled['vacuum_s']} s;"
        f" Spaces that are large enough for an index of their own: {filled['large_spaces']}, made in"
        f" {filled['indexed_s']} s."
        f" {filled['disk_mb']:,.0f} MB on disk, {1024 * filled['disk_mb'] / passages:.2f} KB a passage."
        f" {filled['planted_found']} planted texts were found.",
        operations_table(part["operations"]),
    ]
    if "steps" in part:
        end = part["bend"]
        found += [
            steps_table(part["steps"]),
            f"**Where it bends:** {end['served']:.0f} requests a second are answered as they come,"
            f" {end['not_served']:.0f} are not. What is short: {end['reason']}.",
        ]
    else:
        found += [
            growth_table(part),
            f"The disk grows by {disk_a_write(part['samples'])} KB with each write. Left to do when nobody came any"
            f" more: {part['drained_s']} s. Backends of Postgres, on average:"
            f" {_listed(part.get('waits') or waits(part['samples']))}.",
        ]
    found += [costs_table(part["costs"])] if part["costs"] else []
    found += [tables_table(part["after"]["tables"])]
    return "\n\n".join(found)


def _listed(counts: dict[str, float]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counts.items()) or "none"


def operations_table(operations: dict[str, Json]) -> str:
    base = operations.get(mix.BASELINE, {}).get("p50_ms") or 0.0
    rows = [
        [name, f"{each['requests']:,}", each["p50_ms"], each["p95_ms"], each["p99_ms"],
         f"{each['p50_ms'] / base:.1f}" if base else "", _listed(each["errors"])]
        for name, each in operations.items()
    ]  # fmt: skip
    return tabled(["operation", "requests", "p50, ms", "p95", "p99", "p50 ÷ `/healthz`", "errors"], rows)


def steps_table(steps: Sequence[Json]) -> str:
    rows = [
        [f"{each['offered']:.0f}", each["rate"], each["p50_ms"], each["p99_ms"], each["errors"],
         each["pending_embeddings"], each["jobs"]["todo"],
         *(f"{each['processors'][who]:.2f}" for who in ("keepstone", "postgres", "client"))]
        for each in steps
    ]  # fmt: skip
    head = ["came a second", "answered", "p50, ms", "p99", "errors", "without vectors", "jobs", "processors: Keepstone",
            "Postgres", "the client"]  # fmt: skip
    return tabled(head, rows)


def growth_table(part: Json) -> str:
    rows = [[name, each["level"], each["an_hour"], each["last"]] for name, each in growth(part["samples"]).items()]
    return tabled(["after the warm-up", "mean", "a line through it rises in an hour by", "at the end"], rows)


def costs_table(costs: dict[str, Json]) -> str:
    rows = [
        [name, each["p50_ms"], *(each["cpu_ms"][who] for who in ("keepstone", "postgres")),
         round(sum(each["cpu_ms_with_jobs"].values()), 2), each["log_kb"], each["transactions"]]
        for name, each in costs.items()
    ]  # fmt: skip
    head = ["one call, alone", "p50, ms", "CPU, Keepstone, ms", "Postgres, ms", "both, with the jobs behind it, ms",
            "log, KB", "transactions"]  # fmt: skip
    return tabled(head, rows)


def tables_table(tables: dict[str, dict[str, int]], most: int = 12) -> str:
    rows = [
        [f"`{name}`", f"{each['bytes'] / 2**20:,.0f}", f"{each['live']:,}", f"{each['dead']:,}",
         f"{100 * each['hot'] / each['updated']:.0f}" if each["updated"] else "", each["vacuums"], each["analyzes"]]
        for name, each in list(tables.items())[:most]
    ]  # fmt: skip
    return tabled(
        ["table, at the end", "MB", "rows", "dead", "updates in place, %", "autovacuums", "autoanalyzes"], rows
    )
