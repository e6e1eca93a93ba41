"""Prometheus metrics, in a registry of our own so that two servers in one process don't mix."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


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
        self.postgres_restarts = Gauge(
            "keepstone_postgres_restarts", "Times the embedded Postgres was brought back.", registry=self.registry
        )

    def render(self) -> bytes:
        return generate_latest(self.registry)
