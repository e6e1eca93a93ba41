"""docs/benchmarks.json, and docs/benchmarks.md with its pictures, which are made from that file and nothing else."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import charts, loaded, quality, trust
from bench.figures import Json, count

DOCS = Path(__file__).parent.parent / "docs"
KEEPSTONE, FLOOR_RUN = "pipeline", "RRF(BM25, MiniLM)"
HEAD = (
    "# Benchmarks\n\nWritten by `make bench`, not by hand; the numbers are in [benchmarks.json](benchmarks.json). "
    "Machines are shared and noisy: read the ratio, which compares with the baseline of the same run. *Wanted* is what "
    "we aim at; nothing here is asserted.\n\nThe floor is what a careful afternoon gives: bm25s and MiniLM by numpy, "
    "fused by their ranks, all in memory, behind a small HTTP server of its own where HTTP is measured."
)
LOAD = (
    "`python -m bench.load`, a program of its own because it takes an hour: thousands of people with an account each "
    "come at random moments, whoever comes next waits for nobody, and sizes and traffic follow Zipf. A latency is "
    "counted from when somebody came. The client has the same processors. Passages are filled past the API, with the "
    "rows that the server would have written (`bench/bulk.py` says how). [Scale](scale.md) sizes machines with what a "
    "call costs here."
)
HOLD = (
    "What happens under attack has runs of its own, which fail when a promise is broken: `make hold` attacks a server "
    "while a client works beside it, `python -m bench.fuzz` sends it 100,000 generated requests, and `python -m "
    "bench.crash --rounds 1000` kills Keepstone, Postgres or both with `kill -9` during writes on nine surfaces and "
    "reads back every write that was acknowledged. [CONTRIBUTING](../CONTRIBUTING.md#how-the-tests-run) says more."
)


def kept(docs: Path = DOCS) -> Json:
    try:
        return json.loads((docs / "benchmarks.json").read_text())
    except FileNotFoundError:
        return {"parts": {}}


def keep(name: str, part: Json, docs: Path = DOCS) -> None:
    """Replace one part; the others keep their last figures, with their own date."""
    found = kept(docs)
    found["parts"][name] = part
    (docs / "benchmarks.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


def write(docs: Path = DOCS) -> None:
    parts: dict[str, Json] = kept(docs)["parts"]
    folder = docs / "benchmarks"
    folder.mkdir(exist_ok=True)
    pictures = charts.draw(parts)
    for old in folder.glob("*.svg"):
        old.unlink()
    for name, (_, picture) in pictures.items():
        (folder / f"{name}.svg").write_text(picture)
    links = {name: f"![{title}](benchmarks/{name}.svg)" for name, (title, _) in pictures.items()}
    (docs / "benchmarks.md").write_text(render(parts, links))


def render(parts: dict[str, Json], links: dict[str, str]) -> str:
    """The whole page."""
    found = [HEAD]
    if scopes := parts.get("scopes"):
        groups = grouped(scopes["figures"])
        found += ["## Speed, memory and disk", when(scopes), *pick(links, "recall", "clients")]
        for title in ("Recall through HTTP", "Ingest", "Memory and disk"):
            found += [f"### {title}", table(groups.get(title, []))]
        found += ["## Quality through HTTP", when(scopes), *pick(links, "quality"), table(groups.get("Quality", []))]
    if capsules := parts.get("capsules"):
        found += ["## Capsules", when(capsules), table(capsules["figures"])]
    if proxy := parts.get("proxy"):
        found += ["## The proxy", when(proxy), table(proxy["figures"])]
    if rooms := parts.get("rooms"):
        found += ["## Rooms", when(rooms), table(rooms["figures"])]
    if graphs := parts.get("graphs"):
        found += ["## Graphs", when(graphs), table(graphs["figures"])]
    if loads := {name: part for name, part in sorted(parts.items()) if name.startswith("load ")}:
        found += ["## Under load", LOAD]
        for name, part in loads.items():
            found += [loaded.markdown(part), *pick(links, name.replace(" ", "-"))]
    if dashboard := parts.get("dashboard"):
        found += ["## The dashboard", when(dashboard), table(dashboard["figures"])]
    if peers := parts.get("peers"):
        found += ["## Beside mem0ai", when(peers), *beside(peers, parts.get("scopes", {}))]
    if ranking := parts.get("quality"):
        found += ["## Quality, and what each step gives", when(ranking), *pick(links, "ablation")]
        found += [against_floor(ranking["sets"]), quality.markdown(ranking["sets"]).strip()]
    if calibration := parts.get("calibration"):
        found += ["## How far `relevance` can be believed", when(calibration), calibration["markdown"].strip()]
    if judgement := parts.get("trust"):
        told = "On labelled sets by other hands. [How Keepstone decides](trust.md)."
        found += ["## Judgement, and what each part gives", when(judgement), told, trust.markdown(judgement)]
    if floor := parts.get("floor"):
        found += ["## The ground floor", when(floor), table(floor["figures"])]
    return "\n\n".join([*found, HOLD]) + "\n"


def grouped(figures: Sequence[Json]) -> dict[str, list[Json]]:
    """By what the first word of their names says."""
    titles = {"recall": "Recall through HTTP", "memory": "Memory and disk", "disk": "Memory and disk"}
    found: dict[str, list[Json]] = {}
    for each in figures:
        title = (
            "Quality" if "through HTTP" in each["name"] else titles.get(each["name"].split()[0].strip(","), "Ingest")
        )
        found.setdefault(title, []).append(each)
    return found


def when(part: Json) -> str:
    return f"Run of {part['run']}. {part['machine']}."


def pick(links: dict[str, str], *names: str) -> list[str]:
    return [links[name] for name in names if name in links]


def table(figures: Sequence[Json]) -> str:
    rows = ["| what | figure | baseline | its figure | ratio | wanted |", "| --- | ---: | --- | ---: | ---: | --- |"]
    for each in figures:
        baseline = short(each["baseline_value"]) if each["baseline_value"] is not None else ""
        ratio = f"{each['ratio']:.2f}" if each["ratio"] is not None else ""
        value = f"{short(each['value'])} {each['unit']}"
        rows.append(f"| {each['name']} | {value} | {each['baseline']} | {baseline} | {ratio} | {each['wanted']} |")
    return "\n".join(rows)


def short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def beside(peers: Json, scopes: Json) -> list[str]:
    """Keepstone's own figures, taken from the part of scopes, beside theirs."""
    if "missing" in peers:
        return [peers["missing"]]
    own = {(each["key"], each["at"]): each["value"] for each in scopes.get("figures", []) if each["key"]}
    rows: list[Json] = []
    for each in peers["speed"]:
        for name, key in (("recall", "recall.1.p50"), ("ingest", "ingest.p50")):
            if (value := own.get((key, each["size"]))) is not None:
                title = f"{name} of one message, {count(each['size'])} passages, p50"
                rows.append(compared(title, value, "ms", peers["name"], each[name]))
    for figure, theirs in peers["quality"].items():
        if (value := own.get((f"LoCoMo.{figure}", 0))) is not None:
            rows.append(compared(f"LoCoMo, {figure}", value, "%", peers["name"], theirs))
    same = (
        []
        if scopes.get("run") == peers["run"]
        else ["Keepstone's figures are those of the run above, not of this one."]
    )
    return [peers["setting"], *same, table(rows)]


def compared(name: str, value: float, unit: str, baseline: str, theirs: float) -> Json:
    ratio = value / theirs if theirs else None
    return {"name": name, "value": value, "unit": unit, "baseline": baseline, "baseline_value": theirs,
            "ratio": ratio, "wanted": ""}  # fmt: skip


def against_floor(sets: dict[str, Any]) -> str:
    """The means over all questions, beside the floor's."""
    return table(
        [
            compared(f"{name}, {figure}", value, "%", FLOOR_RUN, by_option[FLOOR_RUN]["all"][figure])
            for name, by_option in sets.items()
            if KEEPSTONE in by_option and FLOOR_RUN in by_option
            for figure, value in by_option[KEEPSTONE]["all"].items()
            if figure != "n"
        ]
    )
