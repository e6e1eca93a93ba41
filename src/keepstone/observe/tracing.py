"""OpenTelemetry traces when `KEEPSTONE_OTLP_ENDPOINT` is set; else spans that cost nothing.

The SDK is an extra (`pip install 'keepstone[otel]'`). Attributes are names and numbers out of the code.
"""

import importlib
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from keepstone import __version__
from keepstone.errors import Misconfigured

Attributes = Mapping[str, str | int | float | bool]


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
