"""Judgement: the labelled sets of a folder (`KEEPSTONE_TRUST`, by default `../shared/trust`), run over HTTP by the
script that comes with them, against servers with all of Keepstone, without its judge, and by terms alone.
"""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Json, Options
from bench.process import Keepstone, free_port

FOLDER = Path(os.environ.get("KEEPSTONE_TRUST", Path(__file__).parent.parent.parent / "shared" / "trust"))
SETS = "supersede,current,titles,threads,turns,notes"
VARIANTS = {
    "all": {},
    "without the judge": {"KEEPSTONE_JUDGE": "none"},
    "by terms alone": {"KEEPSTONE_JUDGE": "none", "KEEPSTONE_EMBEDDINGS_PROVIDER": "none"},
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A figure of a set, and what is aimed at on sets that nobody has seen."""

    name: str
    of: tuple[str, ...]
    goal: str


WANTED = (
    Wanted("true, and hidden by another", ("supersede", "true_but_hidden"), "≤ 2 %"),
    Wanted("superseded, precision", ("supersede", "precision"), "≥ .95"),
    Wanted("superseded, recall", ("supersede", "recall"), "≥ .55"),
    Wanted("`ask` right", ("current", "ask_right"), "≥ .65"),
    Wanted("`ask` stale", ("current", "ask_stale"), "≤ .08"),
    Wanted("recall: current above stale", ("current", "current_above_stale"), "≥ .85"),
    Wanted("`ask` abstains where nothing is", ("current", "abstained"), "≥ .65"),
    Wanted("titles good", ("titles", "good"), "≥ .85"),
    Wanted("facts in a summary", ("threads", "facts_kept"), "≥ .82"),
    Wanted("noise in a summary", ("threads", "noise"), "≤ .20"),
    Wanted("worth keeping, precision", ("turns", "precision"), "≥ .88"),
    Wanted("worth keeping, recall", ("turns", "recall"), "≥ .60"),
    Wanted("kept whole", ("turns", "whole"), "≥ .95"),
    Wanted("capsules, first", ("notes", "capsules", "top1"), "≥ .78"),
    Wanted("capsules, silent where nothing is", ("notes", "capsules", "silent_when_absent"), "≥ .75"),
    Wanted("capsules, error of relevance", ("notes", "capsules", "ece_top5"), "≤ .06"),
    Wanted("graph, found at its default", ("notes", "graph", "found"), "≥ .80"),
    Wanted("graph, silent where nothing is", ("notes", "graph", "silent_when_absent"), "≥ .75"),
    Wanted("graph, error of relevance", ("notes", "graph", "ece_top5"), "≤ .06"),
    Wanted("injected, recall", ("inject", "recall"), "≥ .70"),
    Wanted("injected, precision", ("inject", "precision"), "≥ .90"),
)


def measure(options: Options) -> Json:
    """Each set under each variant; nothing where the sets are not at hand."""
    if not (FOLDER / "trust.py").exists():
        return {"missing": f"The labelled sets are not in {FOLDER.name}: set KEEPSTONE_TRUST to their folder."}
    variants = {"all": VARIANTS["all"]} if options.quick else VARIANTS
    found = {name: run(options.models, settings) for name, settings in variants.items()}
    return {"sets": found, "figures": {name: dict(figures(sets)) for name, sets in found.items()}}


def run(models: Path, settings: dict[str, str]) -> dict[str, Json]:
    """All sets; injection has a server of its own, in front of a model that only listens."""
    listening = free_port()
    model = {
        "KEEPSTONE_LLM_PROVIDER": "openai",
        "KEEPSTONE_LLM_BASE_URL": f"http://127.0.0.1:{listening}/v1",
        "KEEPSTONE_LLM_API_KEY": "none",
    }
    return run_sets(models, settings, SETS) | run_sets(models, settings | model, "inject", "--upstream", str(listening))


def run_sets(models: Path, settings: dict[str, str], sets: str, *more: str) -> dict[str, Json]:
    with tempfile.TemporaryDirectory(prefix="keepstone-trust-") as folder:
        Path(folder).chmod(0o755)
        builtin = {"KEEPSTONE_EMBEDDINGS_PROVIDER": "builtin", "KEEPSTONE_MODELS_FROM": str(models)}
        server = Keepstone(Path(folder, "home"), **builtin | settings)
        server.start()
        try:
            server.wait()
            key = (server.home / "owner-key").read_text().strip()
            asked = [sys.executable, str(FOLDER / "trust.py"), "--data", str(FOLDER / "dev"), "--base", server.url]
            done = subprocess.run(
                [*asked, "--key", key, "--only", sets, *more], capture_output=True, text=True, check=False
            )
        finally:
            server.stop()
    if done.returncode:
        raise SystemExit(done.stderr)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {row.pop("set"): row for row in rows}


def figures(sets: dict[str, Json]) -> list[tuple[str, object]]:
    def at(place: tuple[str, ...]) -> object:
        value: object = sets
        for name in place:
            value = value.get(name) if isinstance(value, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return value

    return [(wanted.name, at(wanted.of)) for wanted in WANTED]


def markdown(part: Json) -> str:
    """One row for each figure, one column for each variant."""
    if "missing" in part:
        return str(part["missing"])
    variants: dict[str, Json] = part["figures"]
    rows = [f"| what | {' | '.join(variants)} | wanted |", f"| --- |{' ---: |' * len(variants)} --- |"]
    for wanted in WANTED:
        values = [str(found.get(wanted.name, "")) for found in variants.values()]
        rows.append(f"| {wanted.name} | {' | '.join(values)} | {wanted.goal} |")
    return "\n".join(rows)
