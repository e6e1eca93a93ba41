"""Routes that settle who is calling before they read what is sent, and check what is sent before they make anything of
it. The framework would read and parse the body first.
"""

from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.params import Form
from fastapi.routing import APIRoute
from pydantic import BaseModel

from keepstone.surfaces.http.bodies import CheckedRequest
from keepstone.surfaces.http.caller import CALLER_DESCRIBED, SETTLED_FIRST, caller, operator
from keepstone.surfaces.http.errors import BodyRefused


class GuardedRoute(APIRoute):
    def __init__(self, *args: Any, openapi_extra: dict[str, Any] | None = None, **options: Any) -> None:
        super().__init__(*args, openapi_extra=openapi_extra, **options)
        if not {caller, operator}.isdisjoint(_calls(self.dependant)):
            self.openapi_extra = {**CALLER_DESCRIBED, **(openapi_extra or {})}

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()
        first = [call for call in _calls(self.dependant) if call in SETTLED_FIRST]
        reads_json = self.body_field is not None and not isinstance(self.body_field.field_info, Form)
        whole = _model_of(self) if reads_json else None

        async def guarded(request: Request) -> Response:
            for settle in first:
                await settle(request)
            checked = CheckedRequest(request.scope, request.receive)
            try:
                if whole is not None:
                    await checked.read_as(whole)
                elif reads_json:
                    await checked.body()
                return await handler(checked)
            except BodyRefused as refused:
                raise refused.fault from None

        return guarded


class Router(APIRouter):
    """Of guarded routes."""

    def __init__(self, *, route_class: type[GuardedRoute] = GuardedRoute, **options: Any) -> None:
        super().__init__(route_class=route_class, **options)


def _model_of(route: GuardedRoute) -> type[BaseModel] | None:
    """Of a route whose whole body is one model: who is given an instance of it looks no further."""
    [first, *others] = route.dependant.body_params
    model = first.field_info.annotation
    if not others and route.body_field is first and isinstance(model, type) and issubclass(model, BaseModel):
        return model
    return None


def _calls(dependant: Dependant) -> Iterator[Any]:
    for part in dependant.dependencies:
        yield part.call
        yield from _calls(part)
