"""Nobody sees another's: the walk over all routes finds nothing, and it would find something."""

from fastapi import FastAPI

from conftest import World
from keepstone.app import make_app
from keepstone.services import Services
from leaks import CANARY, routes_of, walk


async def test_no_route_shows_or_changes_anything_of_somebody_else(
    app: FastAPI, services: Services, world: World, database: str
) -> None:
    findings = await walk(app, services, world, database)
    assert findings == [], "\n".join(findings)


async def test_the_walk_reaches_every_route(app: FastAPI) -> None:
    labels = {label for label, _, _ in routes_of(app)}
    described = {f"{method.upper()} {path}" for path, methods in app.openapi()["paths"].items() for method in methods}
    assert described < labels
    assert {"GET /", "POST /login", "GET /openapi.json", "DELETE /v1/users/{user_id}"} <= labels


async def test_the_walk_finds_a_leak_a_forgotten_check_and_what_it_cant_exercise(
    services: Services, world: World, database: str
) -> None:
    app = make_app(services)

    async def everybody() -> dict[str, str]:
        return {"name": CANARY}

    async def unchecked(key_id: str) -> dict[str, str]:
        return {"thanks": "it is gone"}

    async def unknown(thing_id: str) -> None:
        return None

    async def body(name: dict[str, str]) -> None:
        return None

    app.add_api_route("/v1/leak", everybody)
    app.add_api_route("/v1/unchecked/{key_id}", unchecked, methods=["DELETE"])
    app.add_api_route("/v1/unknown/{thing_id}", unknown)
    app.add_api_route("/v1/body", body, methods=["POST"])
    findings = await walk(app, services, world, database)
    assert f"GET /v1/leak: another account sees '{CANARY}'" in findings
    assert f"GET /v1/leak: nobody sees '{CANARY}'" in findings
    assert "DELETE /v1/unchecked/{key_id}: another account gets 200, not 404" in findings
    assert "GET /v1/unknown/{thing_id}: the walk has no thing_id of the victim's" in findings
    assert "POST /v1/body: the walk does not know what to send" in findings
