"""`make bench`: measures, prints JSON, and writes the table into docs/benchmarks.md."""

import json
import platform
from dataclasses import asdict
from pathlib import Path

from bench import floor

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def main() -> None:
    figures = floor.measure()
    print(json.dumps([asdict(figure) | {"ratio": round(figure.ratio, 2)} for figure in figures], indent=2))
    rows = [
        f"| {figure.name} | {figure.value:.3g} {figure.unit} | {figure.baseline} | {figure.baseline_value:.3g} "
        f"| {figure.ratio:.2f} |"
        for figure in figures
    ]
    PAGE.write_text(
        "# Benchmarks\n\nWritten by `make bench`, not by hand. Machines are shared and noisy: read the ratio, which "
        "compares with the baseline of the same run.\n\n"
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}.\n\n"
        "## The ground floor\n\n| what | figure | baseline | baseline | ratio |\n| --- | --- | --- | --- | --- |\n"
        + "\n".join(rows)
        + "\n\nCrash safety has a run of its own: `python -m bench.crash --rounds 200` kills Cairn or Postgres with "
        "`kill -9` during writes and counts what was acknowledged and lost.\n"
    )


if __name__ == "__main__":
    main()
