"""Routes that only call an operation, declared in a line each: show one thing, list some, remove one.

The operation is called with the services, the principal, the ids of the path in their order, the page if it is a list,
then what is in the query and the fields of the body by their names. What it gives is rendered by `show`. A route that
does more than this is an ordinary handler.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from inspect import Parameter, Signature
from types import GenericAlias
from typing import Annotated, Any, Generic, Literal, TypeVar

from fastapi import APIRouter, Query
from pydantic import BaseModel, create_model

from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.wire import PageOut, Paging, show_page

Out = TypeVar("Out", bound=BaseModel)
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Operation = Callable[..., Awaitable[Any]]

_ID = re.compile(r"\{(\w+)")
_REQUIRED = Parameter.empty

InTrash = Annotated[bool, Query(description="What is in the trash instead.")]
Superseded = Annotated[bool, Query(description="Also those that no longer hold.")]


class Routes(Generic[Out]):
    """Those of one router that show one kind of thing. `ids` says what an id in the path is, where it is not any text,
    and `read_id` makes of it what the operation takes. `listed` is a model with a list of such things as its only
    field, or the name for one with `items`.
    """

    def __init__(
        self,
        router: APIRouter,
        out: type[Out],
        show: Callable[[Any], Out] | None = None,
        *,
        ids: Mapping[str, Any] | None = None,
        read_id: Callable[[str], Any] = lambda given: given,
        listed: type[BaseModel] | str | None = None,
    ) -> None:
        self._router = router
        self._out = out
        self._show = show or out.model_validate
        self._ids = ids or {}
        self._read_id = read_id
        items: dict[str, Any] = {"items": (GenericAlias(list, out), ...)}
        self._listed = create_model(listed, **items) if isinstance(listed, str) else listed

    def one(
        self,
        method: Method,
        path: str,
        operation: Operation,
        name: str,
        summary: str,
        *,
        body: type[BaseModel] | None = None,
        changes: type[BaseModel] | None = None,
        status: int = 200,
    ) -> None:
        """`changes` is a body too: of its fields the operation gets those that were sent, in one dictionary."""

        async def call(*ids: Any, body: BaseModel | None = None) -> Out:
            if body is None:
                return self._show(await operation(*ids))
            if changes is not None:
                return self._show(await operation(*ids, body.model_dump(exclude_unset=True)))
            return self._show(await operation(*ids, **dict(body)))

        sent: dict[str, tuple[Any, Any]] = {"body": (body or changes, _REQUIRED)} if body or changes else {}
        self._add(method, path, call, name, summary, self._out, status, sent)

    def page(self, path: str, operation: Operation, name: str, summary: str, **query: tuple[Any, Any]) -> None:
        """`query`: the type of each further parameter, and what it is when it is left out."""

        async def call(*ids: Any, page: Any, **asked: Any) -> PageOut[Out]:
            return show_page(await operation(*ids, page, **asked), self._show)

        self._add("GET", path, call, name, summary, PageOut[self._out], 200, {"page": (Paging, _REQUIRED)} | query)

    def all(self, path: str, operation: Operation, name: str, summary: str, **query: tuple[Any, Any]) -> None:
        """All there are."""
        out = self._listed
        if out is None:
            raise TypeError(f"{name}: say with `listed` what the list stands in")
        (field,) = out.model_fields

        async def call(*ids: Any, **asked: Any) -> BaseModel:
            return out(**{field: [self._show(item) for item in await operation(*ids, **asked)]})

        self._add("GET", path, call, name, summary, out, 200, query)

    def remove(self, path: str, operation: Operation, name: str, summary: str) -> None:
        async def call(*ids: Any) -> None:
            await operation(*ids)

        self._add("DELETE", path, call, name, summary, None, 204, {})

    def _add(
        self,
        method: Method,
        path: str,
        call: Callable[..., Awaitable[Any]],
        name: str,
        summary: str,
        out: Any,
        status: int,
        parameters: Mapping[str, tuple[Any, Any]],
    ) -> None:
        ids = _ID.findall(self._router.prefix + path)

        async def endpoint(**given: Any) -> Any:
            keys = [self._read_id(given.pop(key)) for key in ids]
            return await call(given.pop("services"), given.pop("principal"), *keys, **given)

        # The framework reads the types of the parameters here.
        kinds = {"services": Used, "principal": Caller} | {key: self._ids.get(key, str) for key in ids}
        taken = {key: (kind, _REQUIRED) for key, kind in kinds.items()} | dict(parameters)
        endpoint.__signature__ = Signature(  # pyright: ignore[reportFunctionMemberAccess]
            [
                Parameter(key, Parameter.KEYWORD_ONLY, annotation=kind, default=default)
                for key, (kind, default) in taken.items()
            ]
        )
        self._router.add_api_route(
            path, endpoint, methods=[method], name=name, summary=summary, response_model=out, status_code=status
        )
