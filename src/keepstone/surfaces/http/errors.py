"""The one table from domain errors to HTTP, and the envelope that they travel in."""

import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from keepstone import errors

STATUS: Mapping[type[errors.KeepstoneError], int] = {
    errors.Invalid: 400,
    errors.Malformed: 422,
    errors.Unauthenticated: 401,
    errors.PaymentRequired: 402,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.TooSlow: 408,
    errors.TooLarge: 413,
    errors.QuotaExceeded: 429,
    errors.RateLimited: 429,
    errors.UpstreamError: 502,
    errors.Unavailable: 503,
    errors.DiskFull: 507,
}

_STORING = frozenset({"POST", "PUT", "PATCH"})
# What the framework itself answers, in our words.
FRAMEWORK: Mapping[int, tuple[str, str]] = {
    404: ("not_found", "There is nothing at this address."),
    405: ("method_not_allowed", "This address does not take this method."),
}


class BodyRefused(HTTPException):
    """A fault that was met while a body was read. In this form, because the framework lets no other through there."""

    def __init__(self, fault: errors.KeepstoneError) -> None:
        status, headers = status_and_headers(fault)
        super().__init__(status, fault.message, headers)
        self.fault = fault


class ErrorBody(BaseModel):
    code: str = Field(description="Stable: match on this.")
    message: str = Field(description="For people: says what to do.")
    details: Any = Field(default=None, description="With `VALIDATION_ERROR`: the path and message of each fault.")
    upgrade_url: str | None = None


class ErrorOut(BaseModel):
    """How every error looks."""

    error: ErrorBody
    request_id: str = Field(description="Also in the header X-Request-Id, and in the server's log.")


def envelope(
    request_id: str, code: str, message: str, *, details: Any = None, upgrade_url: str | None = None
) -> dict[str, Any]:
    error: dict[str, Any] = {"code": code, "message": message}
    if details is not None:
        error["details"] = details
    if upgrade_url is not None:
        error["upgrade_url"] = upgrade_url
    return {"error": error, "request_id": request_id}


def install_error_handlers(app: FastAPI) -> None:
    app.add_exception_handler(errors.KeepstoneError, _domain_error)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _framework_error)


def status_and_headers(fault: errors.KeepstoneError) -> tuple[int, dict[str, str]]:
    status = next(STATUS[kind] for kind in type(fault).__mro__ if kind in STATUS)
    headers: dict[str, str] = {}
    if status == 429 or fault.retry_after is not None:
        headers["Retry-After"] = str(max(1, math.ceil(fault.retry_after or 1)))
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status == 408:
        headers["Connection"] = "close"  # the rest of it may still come, and is no request
    return status, headers


def malformed(fault: RequestValidationError, ending: str = ".") -> errors.Malformed:
    """Each fault with its path; what was sent is not repeated, it may be a password."""
    details = [{"path": ".".join(map(str, item["loc"])), "message": item["msg"]} for item in fault.errors()]
    first = details[0] if details else {"path": "body", "message": "not valid"}
    return errors.Malformed(f"{first['path']}: {first['message']}{ending}", details=details)


def refused(request: Request, fault: RequestValidationError) -> errors.Malformed:
    """The same as an answer to this request: whoever wanted to store something learns that nothing was."""
    return malformed(fault, ". Nothing was stored." if request.method in _STORING else ".")


def error_response(request: Request, fault: errors.KeepstoneError) -> JSONResponse:
    status, headers = status_and_headers(fault)
    details = [{"path": f"body.{name}", "message": wrong} for name, wrong in fault.fields.items()] or fault.details
    body = envelope(request_id(request), fault.code, fault.message, details=details, upgrade_url=fault.upgrade_url)
    return JSONResponse(body, status, headers)


def request_id(request: Request) -> str:
    return request.scope.get("state", {}).get("request_id", "")


def chosen_request_id(request: Request) -> str | None:
    """The one that the caller sent, if they did: under it they may send the same again."""
    return request_id(request) if request.scope.get("state", {}).get("request_id_chosen") else None


async def _domain_error(request: Request, fault: Exception) -> JSONResponse:
    if not isinstance(fault, errors.KeepstoneError):
        raise fault
    return error_response(request, fault)


async def _malformed(request: Request, fault: Exception) -> JSONResponse:
    if not isinstance(fault, RequestValidationError):
        raise fault
    return error_response(request, refused(request, fault))


async def _framework_error(request: Request, fault: Exception) -> JSONResponse:
    if not isinstance(fault, HTTPException):
        raise fault
    if isinstance(fault, BodyRefused):
        return error_response(request, fault.fault)
    if fault.status_code == 400:  # what the framework says of a body that is not even JSON text
        details = [{"path": "body", "message": "not JSON in UTF-8, or nested too deeply"}]
        return error_response(request, errors.Malformed("The body can't be read as JSON.", details=details))
    code, message = FRAMEWORK.get(
        fault.status_code, (HTTPStatus(fault.status_code).phrase.lower().replace(" ", "_"), str(fault.detail))
    )
    headers = {"Allow": _allowed(request)} if fault.status_code == 405 else fault.headers
    return JSONResponse(envelope(request_id(request), code, message), fault.status_code, headers)


def _allowed(request: Request) -> str:
    """The methods of every route at this address; the framework names those of the first."""
    routes = iter_route_contexts(request.app.routes)
    responses = {
        method
        for route in routes
        if compile_path(route.path or "")[0].match(request.url.path)
        for method in route.methods or ()
    }
    return ", ".join(sorted(responses))
