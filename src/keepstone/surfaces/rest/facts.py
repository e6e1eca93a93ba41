"""Facts: exact values, with their history. What is put in comes out digit by digit, so values travel as JSON text."""

import json
from decimal import Decimal
from typing import Annotated, Any, cast

from fastapi import Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from keepstone.errors import Malformed
from keepstone.memory import facts
from keepstone.model.room import Fact, ScopeKind
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.wire import Time, fields_of, refuse_unstorable

router = Router(prefix="/v1/facts", tags=["facts"])

LARGEST = 64 * 1024  # bytes of a value
_DEEPEST = 100
_LARGEST_EXPONENT = 1_000
_DIGITS = 4_300  # of a number; the database keeps more before the point than behind it


class FactIn(BaseModel):
    value: Any = Field(description="Any JSON value.")
    visibility: str = Field(default="shared", pattern="^(shared|private)$")


class FactOut(
    fields_of(Fact, "id scope_kind scope_id key value visibility valid_from valid_to recorded_at recorded_by")
):
    value: Any


class FactList(BaseModel):
    items: list[FactOut]


_ONE: dict[int | str, dict[str, Any]] = {200: {"model": FactOut}}
_MANY: dict[int | str, dict[str, Any]] = {200: {"model": FactList}}
_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": FactIn.model_json_schema()}},
    }
}


@router.get("", summary="The facts of a scope, or those of an earlier time", responses=_MANY)
async def list_facts(
    services: Used,
    principal: Caller,
    scope_kind: ScopeKind,
    scope_id: Annotated[str, Query(min_length=1, max_length=255)] = facts.ANYWHERE,
    as_of: Time | None = None,
) -> Response:
    listed = await facts.list_facts(services, principal, scope_kind, _plain(scope_id), as_of=as_of)
    return _shown('{"items":[' + ",".join(_written(fact) for fact in listed) + "]}")


@router.put(
    "/{scope_kind}/{scope_id}/{key}", summary="Set a fact; the value before stays in its history", responses=_ONE,
    openapi_extra=_BODY,
)  # fmt: skip
async def put_fact(
    services: Used, principal: Caller, request: Request, scope_kind: ScopeKind, scope_id: str, key: str
) -> Response:
    value, visibility = _given(await request.body())
    made = await facts.put(services, principal, scope_kind, _plain(scope_id), _key(key), value, visibility=visibility)
    return _shown(_written(made))


@router.get("/{scope_kind}/{scope_id}/{key}", summary="One fact", responses=_ONE)
async def get_fact(
    services: Used, principal: Caller, scope_kind: ScopeKind, scope_id: str, key: str, as_of: Time | None = None
) -> Response:
    fact = await facts.get(services, principal, scope_kind, _plain(scope_id), _key(key), as_of=as_of)
    return _shown(_written(fact))


@router.delete("/{scope_kind}/{scope_id}/{key}", status_code=204, summary="A fact that holds no longer")
async def delete_fact(services: Used, principal: Caller, scope_kind: ScopeKind, scope_id: str, key: str) -> None:
    await facts.delete(services, principal, scope_kind, _plain(scope_id), _key(key))


@router.get(
    "/{scope_kind}/{scope_id}/{key}/history", summary="Every value of a fact, the latest first", responses=_MANY
)
async def get_fact_history(
    services: Used, principal: Caller, scope_kind: ScopeKind, scope_id: str, key: str
) -> Response:
    versions = await facts.history(services, principal, scope_kind, _plain(scope_id), _key(key))
    return _shown('{"items":[' + ",".join(_written(fact) for fact in versions) + "]}")


def _given(body: bytes) -> tuple[str, str]:
    """The value as JSON text with all its digits, and the visibility."""
    try:
        read = json.loads(body, parse_float=Decimal, parse_constant=_no_constant)
        refuse_unstorable(read, ())
        given = cast("dict[str, object]", read) if isinstance(read, dict) else {}
        if "value" not in given or not set(given) <= {"value", "visibility"}:
            raise ValueError("give an object with `value`, any JSON value, and nothing else but `visibility`")
        visibility = given.get("visibility", "shared")
        if visibility not in ("shared", "private"):  # no set: it may be what has no hash
            raise ValueError("visibility is shared or private")
        value = _json(given["value"], 0)
        if len(value.encode()) > LARGEST:
            raise ValueError("the value has more than 64 KB")
    except (ValueError, RecursionError) as fault:
        message = (
            str(fault) if isinstance(fault, ValueError) and not isinstance(fault, json.JSONDecodeError) else "not JSON"
        )
        raise Malformed(
            f"body: {message}. Nothing was stored.", details=[{"path": "body", "message": message}]
        ) from None
    return value, str(visibility)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number that JSON has")


def _json(value: object, depth: int) -> str:
    """As `json.dumps`, but a number keeps its digits."""
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    if isinstance(value, Decimal):
        if not -_LARGEST_EXPONENT < value.adjusted() < _LARGEST_EXPONENT:
            raise ValueError("a number is larger, or nearer to zero, than can be kept")
        if len(value.as_tuple().digits) > _DIGITS:
            raise ValueError("a number has more digits than can be kept")
        return str(value)
    if isinstance(value, dict):
        pairs = cast("dict[str, object]", value).items()
        return "{" + ",".join(f"{json.dumps(key)}:{_json(item, depth + 1)}" for key, item in pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_json(item, depth + 1) for item in cast("list[object]", value)) + "]"
    return json.dumps(value)


def _written(fact: Fact) -> str:
    """With the value as it is stored."""
    text = FactOut.of(fact).model_dump_json(exclude={"value"})
    return f'{text[:-1]},"value":{fact.value}}}'


def _shown(text: str) -> Response:
    return Response(text, media_type="application/json")


def _plain(text: str) -> str:
    return text.replace("\0", "")[:255]


def _key(key: str) -> str:
    if not 1 <= len(key) <= 255 or "\0" in key:
        raise Malformed("A key has 1 to 255 characters.", details=[{"path": "path.key", "message": "too long"}])
    return key
