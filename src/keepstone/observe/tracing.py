"""OpenTelemetry traces when `KEEPSTONE_OTLP_ENDPOINT` is set; else spans that cost nothing.

The SDK is an extra (`pip install 'keepstone[otel]'`). Attributes are names and numbers out of the code. And which
traces of our own (`memory/traces.py`) the request under way has left, so that its answer and its span can name them.
"""

import importlib
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

from keepstone import __version__
from keepstone.errors import Misconfigured

Attributes = Mapping[str, str | int | float | bool]


@dataclass(slots=True)
class RequestUnderWay:
    """Shared by all tasks that work on one request. `scope` is ASGI's, which knows the route once it is found."""

    request_id: str
    scope: Mapping[str, Any]
    traces: list[str] = field(default_factory=list[str])

    @property
    def surface(self) -> str:
        """Method and template, never the path itself: that can hold a one-time token."""
        return f"{self.scope['method']} {route_template(self.scope)}"


request_under_way: ContextVar[RequestUnderWay | None] = ContextVar("request_under_way", default=None)


def name_trace(trace_id: str | None) -> None:
    """The answer to the request under way names this trace, unless it names one already."""
    request = request_under_way.get()
    if request is not None and trace_id is not None and trace_id not in request.traces:
        request.traces.append(trace_id)


def route_template(scope: Mapping[str, Any]) -> str:
    """`/v1/keys/{key_id}`."""
    return getattr(scope.get("route"), "path_format", None) or getattr(scope.get("route"), "path", "(none)")


class TraceSpan(Protocol):
    def set_attribute(self, key: str, value: str | float | bool, /) -> None: ...


class Tracer(Protocol):
    def span(self, name: str, attributes: Attributes | None = None) -> AbstractContextManager[TraceSpan]: ...
    def close(self) -> None: ...


class _NoSpan:
    def set_attribute(self, key: str, value: str | float | bool, /) -> None:
        pass


class NoTracer:
    """Traces nothing."""

    _span = _NoSpan()

    def span(self, name: str, attributes: Attributes | None = None) -> AbstractContextManager[TraceSpan]:  # noqa: ARG002
        return nullcontext(self._span)

    def close(self) -> None:
        pass


class OtlpTracer:
    """Sends spans to a collector by OTLP over HTTP, in batches from a thread of the SDK's."""

    def __init__(self, endpoint: str) -> None:
        try:
            trace = importlib.import_module("opentelemetry.sdk.trace")
            export = importlib.import_module("opentelemetry.sdk.trace.export")
            resources = importlib.import_module("opentelemetry.sdk.resources")
            otlp = importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        except ImportError:
            raise Misconfigured(
                "KEEPSTONE_OTLP_ENDPOINT is set, and OpenTelemetry is not installed: pip install 'keepstone[otel]'."
            ) from None
        resource = resources.Resource.create({"service.name": "keepstone", "service.version": __version__})
        self._provider: Any = trace.TracerProvider(resource=resource)
        exporter = otlp.OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces")
        self._provider.add_span_processor(export.BatchSpanProcessor(exporter))
        self._tracer: Any = self._provider.get_tracer("keepstone")

    @contextmanager
    def span(self, name: str, attributes: Attributes | None = None) -> Generator[TraceSpan]:
        # The exception itself would carry its message along; the status is enough.
        with self._tracer.start_as_current_span(
            name, attributes=dict(attributes or {}), record_exception=False, set_status_on_exception=False
        ) as span:
            yield span

    def close(self) -> None:
        self._provider.shutdown()


def make_tracer(endpoint: str | None) -> Tracer:
    return OtlpTracer(endpoint) if endpoint else NoTracer()
