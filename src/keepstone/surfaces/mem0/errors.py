"""Errors as everywhere, and their sentence once more where this client looks for it."""

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import Field

from keepstone import errors
from keepstone.surfaces.http.errors import ErrorOut, error_response


class Mem0ErrorOut(ErrorOut):
    detail: str | None = Field(default=None, description="The message once more; not where there is no such address.")


class Mem0Route(APIRoute):
    """A route of which every error says in `detail` what to do."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def detailed(request: Request) -> Response:
            try:
                return await handler(request)
            except errors.KeepstoneError as fault:
                return _detailed(request, fault)
            except RequestValidationError as fault:
                return _detailed(request, _malformed(fault))

        return detailed


def _detailed(request: Request, fault: errors.KeepstoneError) -> Response:
    plain = error_response(request, fault)
    headers = {name: value for name, value in plain.headers.items() if not name.startswith("content-")}
    return JSONResponse(json.loads(bytes(plain.body)) | {"detail": fault.message}, plain.status_code, headers)


def _malformed(fault: RequestValidationError) -> errors.Malformed:
    """Each fault with its path; what was sent is not repeated."""
    details = [{"path": ".".join(map(str, item["loc"])), "message": item["msg"]} for item in fault.errors()]
    first = details[0] if details else {"path": "body", "message": "not valid"}
    return errors.Malformed(f"{first['path']}: {first['message']}. Nothing was stored.", details=details)
