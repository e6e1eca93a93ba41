"""Which pictures the page has: each is drawn when the figures for it are there."""

from datetime import datetime
from typing import Any

from bench.figures import MEDIUM, Json, count
from bench.pictures import Bar, Line, bars, lines

FLOOR = "the floor"


def draw(parts: dict[str, Json]) -> dict[str, tuple[str, str]]:
    """Title and SVG by name."""
    scopes, peers = parts.get("scopes", {}), parts.get("peers", {})
    made = {
        "recall": recall(scopes.get("figures", []), peers),
        "clients": clients(scopes.get("figures", [])),
        "quality": found(scopes.get("figures", []), peers),
        "ablation": ablation(parts.get("quality", {}).get("sets", {})),
    }
    for name, part in parts.items():
        if name.startswith("load "):
            made[name.replace(" ", "-")] = load(name, part)
    return {name: picture for name, picture in made.items() if picture is not None}


def recall(figures: list[Json], peers: Json) -> tuple[str, str] | None:
    own = [each for each in figures if each["key"] == "recall.1.p50"]
    if len(own) < 2:
        return None
    series = [
        Line("Keepstone", [(each["at"], each["value"]) for each in own], own=True),
        Line(FLOOR, [(each["at"], each["baseline_value"]) for each in own]),
    ]
    if speed := peers.get("speed"):
        series.append(Line(peers["name"], [(each["size"], each["recall"]) for each in speed]))
    if account := [each for each in figures if each["key"] == "recall.account.p50"]:
        series.append(Line(f"Keepstone, {count(MEDIUM)} of these", [(each["at"], each["value"]) for each in account]))
    title = "Recall through HTTP, one client, p50"
    return title, lines(title, series, "passages", "milliseconds")


def clients(figures: list[Json]) -> tuple[str, str] | None:
    sizes = {each["at"] for each in figures if each["key"] == "recall.1.rate"}
    if not sizes:
        return None
    size = MEDIUM if MEDIUM in sizes else min(sizes)
    rates = {
        int(each["key"].split(".")[1]): (each["value"], each["baseline_value"])
        for each in figures
        if each["key"].startswith("recall.") and each["key"].endswith(".rate") and each["at"] == size
    }
    series = [
        Line("Keepstone", [(several, own) for several, (own, _) in rates.items()], own=True),
        Line(FLOOR, [(several, theirs) for several, (_, theirs) in rates.items()]),
    ]
    title = f"Recalls a second, {count(size)} passages"
    return title, lines(title, series, "clients at once", "recalls a second")


def load(name: str, part: Json) -> tuple[str, str] | None:
    """Of a run at one rate its course; of a ramp what it ends at."""
    if steps := part.get("steps"):
        at = [(each["offered"], each) for each in steps]
        title, x_name = f"{name}: latencies by rate", "requests a second"
    elif samples := part.get("samples"):
        begun = datetime.fromisoformat(samples[0]["at"])
        at = [((datetime.fromisoformat(each["at"]) - begun).total_seconds() / 60, each) for each in samples]
        title, x_name = f"{name}: its course", "minutes"
    else:
        return None
    memory = [(x, each["memory_mb"]["keepstone"] + each["memory_mb"]["postgres"]) for x, each in at]
    series = [
        Line("p50, ms", [(x, max(0.1, each["p50_ms"])) for x, each in at], own=True),
        Line("p99, ms", [(x, max(0.1, each["p99_ms"])) for x, each in at]),
        Line("memory, MB", memory),
        Line("jobs that wait", [(x, max(1.0, each["jobs"]["todo"])) for x, each in at]),
    ]
    return title, lines(title, series, x_name, "milliseconds, MB, jobs", course=True)


def found(figures: list[Json], peers: Json) -> tuple[str, str] | None:
    own = next((each for each in figures if each["key"] == "LoCoMo.R@10"), None)
    if own is None:
        return None
    rows = [Bar("Keepstone", own["value"], own=True), Bar(FLOOR, own["baseline_value"])]
    if theirs := peers.get("quality"):
        rows.append(Bar(peers["name"], theirs["R@10"]))
    title = "LoCoMo: turns found among the first ten"
    return title, bars(title, rows, "%")


def ablation(sets: dict[str, Any]) -> tuple[str, str] | None:
    by_option = sets.get("locomo", {})
    whole = by_option.get("pipeline", {}).get("all", {}).get("R@10")
    if whole is None:
        return None
    rows = [
        Bar(name, round(row["all"]["R@10"] - whole, 1)) for name, row in by_option.items() if name.startswith("without")
    ]
    title = "LoCoMo: what R@10 loses without each step"
    return (title, bars(title, rows, "points")) if rows else None
