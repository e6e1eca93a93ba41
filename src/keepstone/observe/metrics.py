"""Prometheus metrics, in a registry of our own so that two servers in one process don't mix.

Where a server has several processes, each counts for itself, and what is shown is the sum: whichever is asked.
"""

from collections.abc import Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.metrics_core import Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.samples import Sample

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


# Of these the sum says nothing: the first process's holds.
_NOT_SUMMED = {"process_start_time_seconds", "process_max_fds"}


class Metrics:
    """What is counted. Labels are names out of the code, never something a caller sent."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self.requests = Histogram(
            "keepstone_request_seconds",
            "Time to answer a request.",
            ["method", "route", "status"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.in_flight = Gauge("keepstone_requests_in_flight", "Requests being answered.", registry=self.registry)
        self.jobs = Counter("keepstone_jobs", "Background jobs run.", ["task", "outcome"], registry=self.registry)
        self.queue = Gauge("keepstone_queue_jobs", "Background jobs by status.", ["status"], registry=self.registry)
        self.pending_embeddings = Gauge(
            "keepstone_pending_embeddings",
            "Passages stored and not yet found by meaning.",
            registry=self.registry,
        )
        self.disk_free = Gauge(
            "keepstone_disk_free_bytes", "Room on the disk of the data folder.", registry=self.registry
        )
        self.disk_reserve = Gauge(
            "keepstone_disk_reserve_bytes", "With less than this free, nothing more is stored.", registry=self.registry
        )
        self.resident = Counter(
            "keepstone_searched_spaces", "Spaces searched in memory or in the database.", ["where"],
            registry=self.registry,
        )  # fmt: skip
        self.resident_spaces = Gauge(
            "keepstone_resident_spaces", "Spaces whose numbers stand in memory.", registry=self.registry
        )
        self.resident_bytes = Gauge("keepstone_resident_bytes", "What they take.", registry=self.registry)
        self.traces = Counter(
            "keepstone_traces", "Traces of what was recalled and handed out: kept, or dropped.", ["outcome"],
            registry=self.registry,
        )  # fmt: skip
        self.provider_down = Gauge(
            "keepstone_provider_down", "Whether a provider failed and is not asked.", ["use"], registry=self.registry
        )
        self.redis_down = Gauge("keepstone_redis_down", "Whether Redis does not answer.", registry=self.registry)
        self.processes = Gauge("keepstone_processes", "Processes that answer requests.", registry=self.registry)
        self.postgres_restarts = Gauge(
            "keepstone_postgres_restarts", "Times the embedded Postgres was brought back.", registry=self.registry
        )

    def collect(self) -> list[Metric]:
        """What this process has counted, to be sent to another."""
        return list(self.registry.collect())


def render(first: Sequence[Metric], others: Iterable[Sequence[Metric]] = (), ended: Sequence[Metric] = ()) -> bytes:
    """The numbers of all processes of a server. `ended` are those of processes that are no more."""
    return generate_latest(_Summed([first, *others, ended]))  # pyright: ignore[reportArgumentType]  it collects


def counted(metrics: Iterable[Sequence[Metric]]) -> list[Metric]:
    """What counts on when a process has ended, in sum: counters and histograms, whose numbers never fall."""
    return [metric for metric in _summed(metrics) if metric.type in {"counter", "histogram"}]


class _Summed:
    def __init__(self, metrics: Sequence[Sequence[Metric]]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        return _summed(self._metrics)


def _summed(processes: Iterable[Sequence[Metric]]) -> Iterator[Metric]:
    """Sample by sample, in the order in which they first come."""
    families: dict[str, Metric] = {}
    sums: dict[str, dict[tuple[str, tuple[tuple[str, str], ...]], Sample]] = {}
    for metric in (metric for process in processes for metric in process):
        families.setdefault(metric.name, metric)
        of_family = sums.setdefault(metric.name, {})
        for sample in metric.samples:
            place = sample.name, tuple(sorted(sample.labels.items()))
            before = of_family.get(place)
            if before is None:
                of_family[place] = sample
            elif metric.name not in _NOT_SUMMED and not sample.name.endswith("_created"):
                of_family[place] = before._replace(value=before.value + sample.value)
    for name, family in families.items():
        summed = Metric(name, family.documentation, family.type)
        summed.samples = list(sums[name].values())
        yield summed
