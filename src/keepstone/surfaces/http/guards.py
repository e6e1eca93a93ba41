"""What stands before every request, as plain ASGI: a request id and a log line, the Host and Origin checks; the limits
on bodies are in `bodies.py`. None of them looks into a body or logs a path; the route's template is enough.
"""

import ipaddress
import logging
import re
import time
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keepstone.model.ids import random_text
from keepstone.observe.logs import describe
from keepstone.observe.metrics import Metrics
from keepstone.observe.tracing import RequestUnderWay, Tracer, request_under_way, route_template
from keepstone.settings import Settings
from keepstone.surfaces.http.errors import envelope

log = logging.getLogger(__name__)

_REQUEST_ID = re.compile(r"[A-Za-z0-9_.-]{8,64}")
_GONE = 499  # as others call it: nobody was there to be answered
_SAFE = {"GET", "HEAD", "OPTIONS"}
_SECURITY_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with none, browsers send the forms of our own pages with `Origin: null`
    "cross-origin-opener-policy": "same-origin",
    "content-security-policy": (
        "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
}


class Observed:
    """Outermost: names the request, times it, and turns what nobody caught into a 500 that tells nothing."""

    def __init__(self, app: ASGIApp, metrics: Metrics, tracer: Tracer) -> None:
        self._app = app
        self._metrics = metrics
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        chosen = _REQUEST_ID.fullmatch(given) is not None
        request_id = given if chosen else random_text(24)
        scope.setdefault("state", {}).update(request_id=request_id, request_id_chosen=chosen)
        under_way = RequestUnderWay(request_id, scope)
        token = request_under_way.set(under_way)
        status = 500
        started = False

        async def send_named(message: Message) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                status, started = message["status"], True
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = request_id
                if under_way.traces:
                    headers["x-keepstone-trace"] = under_way.traces[0]
                for name, value in _SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                if not scope["path"].startswith("/static/"):
                    headers.setdefault("cache-control", "no-store")
            await send(message)

        begun = time.perf_counter()
        self._metrics.in_flight.inc()
        with self._tracer.span("request", {"http.request.method": scope["method"]}) as span:
            try:
                await self._app(scope, receive, send_named)
            except Exception as fault:
                log.error("unhandled", extra={"request_id": request_id, **describe(fault)})
                if not started:
                    body = envelope(request_id, "internal", "Something went wrong here. The log has this request_id.")
                    await JSONResponse(body, 500)(scope, receive, send_named)
            finally:
                seconds = time.perf_counter() - begun
                status = _GONE if "client_gone" in scope["state"] else status
                route = route_template(scope)
                span.set_attribute("http.route", route)
                span.set_attribute("http.response.status_code", status)
                if under_way.traces:
                    span.set_attribute("keepstone.trace", ",".join(under_way.traces))
                request_under_way.reset(token)
                self._metrics.in_flight.dec()
                self._metrics.requests.labels(scope["method"], route, str(status)).observe(seconds)
                log.info(
                    "request",
                    extra={
                        "request_id": request_id,
                        "method": scope["method"],
                        "route": route,
                        "status": status,
                        "ms": round(seconds * 1000, 1),
                    },
                )


class OwnHost:
    """Answers only under its own names, and takes changes only from its own pages.

    A page that made its name point at this machine (DNS rebinding) comes with a foreign Host; a page elsewhere that
    sends a form with the visitor's cookie comes with a foreign Origin. An address made of numbers can't be rebound.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        public = urlsplit(settings.public_url or "").hostname
        self._names = {"localhost", settings.host, *settings.allowed_hosts} | ({public} if public else set[str]())
        self._origins = {*settings.cors_origins, settings.public_url}
        self._unknown_proxy = not settings.trusted_proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            refusal = self._refusal(scope)
            if refusal is not None:
                status, code, message = refusal
                body = envelope(scope["state"]["request_id"], code, message)
                await JSONResponse(body, status)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str, str] | None:
        headers = Headers(scope=scope)
        if self._unknown_proxy and "x-forwarded-for" in headers:
            self._unknown_proxy = False  # said once
            log.warning("X-Forwarded-For is not believed: name the proxy in KEEPSTONE_TRUSTED_PROXIES if there is one")
        host = headers.get("host", "")
        if not self._known(host):
            return (
                421,
                "wrong_host",
                "This server does not answer to that name: add it to KEEPSTONE_ALLOWED_HOSTS.",
            )
        origin = headers.get("origin")
        if origin is None or scope["method"] in _SAFE:
            return None
        if origin in self._origins or origin in {f"http://{host}", f"https://{host}"}:
            return None
        return (
            403,
            "forbidden",
            "This request comes from another site's page: add its origin to KEEPSTONE_CORS_ORIGINS.",
        )

    def _known(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            return False
        if name is None:
            return False
        if name in self._names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True
