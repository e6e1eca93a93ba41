"""Routes that are declared in a line each, and what they show."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI

from conftest import World, http
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.surfaces.http.routes import InTrash, Routes
from keepstone.surfaces.http.wire import Shown, Time, Wire

AT = datetime(2026, 5, 4, tzinfo=UTC)


@dataclass(frozen=True)
class Stone:
    id: str
    weight: int
    at: datetime = AT


class StoneOut(Shown):
    id: str
    weight: int
    at: Time
    source: str | None = None


class StoneIn(Wire):
    weight: int


class StoneChange(Wire):
    weight: int | None = None
    colour: str | None = None


class StoneList(Shown):
    stones: list[StoneOut]


def test_what_is_shown_has_the_fields_of_its_source_and_those_that_are_given() -> None:
    assert StoneOut.of(Stone("a", 3)) == StoneOut(id="a", weight=3, at=AT)
    assert StoneOut.of(Stone("a", 3), weight=4, source="river") == StoneOut(id="a", weight=4, at=AT, source="river")


@pytest.fixture
async def declared(app: FastAPI, services: Services) -> Any:
    calls: list[Any] = []
    router = APIRouter(prefix="/v1/piles/{pile}")
    routes = Routes(router, StoneOut, read_id=str.upper, listed=StoneList)

    async def get(_: Services, principal: Principal, pile: str, stone: str) -> Stone:
        calls.append((principal.user_id, pile, stone))
        return Stone(stone, 1)

    async def put(_: Services, __: Principal, pile: str, *, weight: int) -> Stone:
        return Stone(pile, weight)

    async def change(_: Services, __: Principal, pile: str, changes: dict[str, Any]) -> Stone:
        calls.append(changes)
        return Stone(pile, 2)

    async def page(_: Services, __: Principal, pile: str, asked: PageRequest, *, deleted: bool) -> Page[Stone]:
        stones = [Stone(pile, number) for number in range(asked.limit)]
        return Page(items=stones if deleted else [], next_cursor=None)

    async def every(_: Services, __: Principal, pile: str) -> list[Stone]:
        return [Stone(pile, 7)]

    async def remove(_: Services, __: Principal, pile: str) -> None:
        calls.append(pile)

    routes.one("GET", "/stones/{stone}", get, "get_stone", "One stone")
    routes.one("POST", "/stones", put, "put_stone", "Another stone", body=StoneIn, status=201)
    routes.one("PATCH", "", change, "change_pile", "Change it", changes=StoneChange)
    routes.page("/stones", page, "list_stones", "The stones", deleted=(InTrash, False))
    routes.all("/all", every, "all_stones", "All of them")
    routes.remove("", remove, "remove_pile", "Away")
    app.include_router(router)
    async with http(app) as client:
        yield client, calls


async def test_an_operation_gets_ids_page_query_and_body(
    declared: tuple[httpx.AsyncClient, list[Any]], world: World
) -> None:
    client, calls = declared
    client.headers.update(world.owner.auth)
    shown = {"id": "B", "weight": 1, "at": "2026-05-04T00:00:00Z", "source": None}
    assert (await client.get("/v1/piles/a/stones/b")).json() == shown
    assert calls == [(world.owner.user.id, "A", "B")]
    made = await client.post("/v1/piles/a/stones", json={"weight": 5})
    assert (made.status_code, made.json()["weight"]) == (201, 5)
    assert (await client.post("/v1/piles/a/stones", json={"weight": "much"})).status_code == 422
    await client.patch("/v1/piles/a", json={"colour": None})
    assert calls[-1] == {"colour": None}, "what was sent, and nothing else"
    assert (await client.get("/v1/piles/a/stones")).json() == {"items": [], "next_cursor": None, "has_more": False}
    assert len((await client.get("/v1/piles/a/stones?deleted=true&limit=3")).json()["items"]) == 3
    assert (await client.get("/v1/piles/a/all")).json() == {"stones": [shown | {"id": "A", "weight": 7}]}
    gone = await client.delete("/v1/piles/a")
    assert (gone.status_code, gone.content, calls[-1]) == (204, b"", "A")
    assert (await client.get("/v1/piles/a/all", headers={"Authorization": "Bearer nobody"})).status_code == 401
