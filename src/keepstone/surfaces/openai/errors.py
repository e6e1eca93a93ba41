"""Errors in OpenAI's envelope, for the routes that its clients call. The rest of the app keeps its own."""

from collections.abc import Callable, Coroutine, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from keepstone import errors
from keepstone.relay.dialects.values import as_text, objects_in
from keepstone.surfaces.http.errors import FRAMEWORK, malformed, status_and_headers
from keepstone.surfaces.http.router import GuardedRoute

_TYPES: Mapping[int, str] = {
    401: "invalid_request_error",
    402: "insufficient_quota",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
_CODES: Mapping[int, str] = {401: "invalid_api_key"}
_HEADERS: Mapping[str, str] = {"workspace_id": "x-keepstone-workspace", "chat_id": "x-keepstone-chat"}


class OpenAIErrorBody(BaseModel):
    message: str = Field(description="For people: says what to do.")
    type: str | None
    param: str | None = Field(description="Which part of the request it is about.")
    code: str | None = Field(description="Stable: match on this.")


class OpenAIErrorOut(BaseModel):
    """How every error looks to OpenAI's clients; what an upstream says comes as it is."""

    error: OpenAIErrorBody


class OpenAIRoute(GuardedRoute):
    """A route of which every error is in that envelope."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def enveloped(request: Request) -> Response:
            try:
                return await handler(request)
            except errors.KeepstoneError as fault:
                return _of_domain(fault)
            except RequestValidationError as fault:
                return _of_domain(malformed(fault))
            except HTTPException as fault:
                return _of_framework(fault)

        return enveloped

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().handle(scope, receive, send)
        except HTTPException as fault:  # another method than the route's
            await _of_framework(fault)(scope, receive, send)


def _of_domain(fault: errors.KeepstoneError) -> JSONResponse:
    # They know no 422, and tell a wait for an answer from no answer.
    status, headers = status_and_headers(fault)
    status = 400 if status == 422 else status
    status = 504 if fault.code == "upstream_timeout" else status
    return _response(status, fault.message, code=_CODES.get(status, fault.code), param=_param(fault), headers=headers)


def _of_framework(fault: HTTPException) -> JSONResponse:
    _, message = FRAMEWORK.get(fault.status_code, ("", str(fault.detail)))
    code = HTTPStatus(fault.status_code).phrase.lower().replace(" ", "_")
    return _response(fault.status_code, message, code=code, headers=fault.headers)


def _param(fault: errors.KeepstoneError) -> str | None:
    for name in fault.fields:
        return _HEADERS.get(name, name)
    path = next((as_text(detail.get("path")) for detail in objects_in(fault.details)), "")
    return path.removeprefix("body.").removeprefix("header.") or None


def _response(
    status: int, message: str, *, code: str | None, param: str | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    return JSONResponse({"error": {"message": message, "type": kind, "param": param, "code": code}}, status, headers)
