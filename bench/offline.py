"""The parts that need no server: the ranking with its ablations, and the calibration of `relevance`."""

from importlib import import_module

from bench import quality
from bench.figures import Json, Options


def ranking(options: Options) -> Json:
    return {"sets": quality.run(quality.SETS, options.models, ablation=not options.quick)}


def calibration(options: Options) -> Json:
    """SEAM. `report_markdown(models)` of `bench.calibration` says how far `relevance` can be believed."""
    report = getattr(import_module("bench.calibration"), "report_markdown", None)
    return {"markdown": report(options.models) if report else "Not measured: there is no report yet."}
