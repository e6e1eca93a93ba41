"""Errors as everywhere, and their sentence once more where this client looks for it."""

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import Field

from keepstone import errors
from keepstone.surfaces.http.errors import ErrorOut, error_response, refused
from keepstone.surfaces.http.router import GuardedRoute


class Mem0ErrorOut(ErrorOut):
    detail: str | None = Field(default=None, description="The message once more; not where there is no such address.")


class Mem0Route(GuardedRoute):
    """A route of which every error says in `detail` what to do."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def detailed(request: Request) -> Response:
            try:
                return await handler(request)
            except errors.KeepstoneError as fault:
                return _detailed(request, fault)
            except RequestValidationError as fault:
                return _detailed(request, refused(request, fault))

        return detailed


def _detailed(request: Request, fault: errors.KeepstoneError) -> Response:
    plain = error_response(request, fault)
    headers = {name: value for name, value in plain.headers.items() if not name.startswith("content-")}
    return JSONResponse(json.loads(bytes(plain.body)) | {"detail": fault.message}, plain.status_code, headers)
