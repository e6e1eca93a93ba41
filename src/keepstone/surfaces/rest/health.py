"""Alive, ready, measured."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from fastapi import Depends, Request, Response
from prometheus_client.metrics_core import Metric
from pydantic import BaseModel, Field

from keepstone import __version__
from keepstone.home import fingerprint
from keepstone.model.provider import Outage
from keepstone.observe.metrics import render
from keepstone.providers.llm import name_of, outage_of
from keepstone.services import Services
from keepstone.store import health
from keepstone.surfaces.http.caller import Used, from_loopback, is_operator, measured
from keepstone.surfaces.http.router import Router

router = Router(tags=["health"])


class Alive(BaseModel):
    status: str = "ok"
    version: str | None = Field(description="To whoever is on this machine.")


class Part(BaseModel):
    ok: bool
    status: str
    details: dict[str, Any] = Field(default_factory=dict[str, Any])


class Ready(BaseModel):
    status: str = Field(
        description="`ready`; or with status 503 `not_ready`, or `draining`: about to stop, and serving until it does."
    )
    version: str | None = Field(
        default=__version__, description="For operators alone, as the versions of the parts are."
    )
    database: Part = Field(
        description="Not ok and still ready: a machine of a cluster is away; accounts on the others are served."
    )
    worker: Part
    embedder: Part = Field(description="Not ok: an endpoint that fails is not asked, and search is by terms.")
    language_model: Part = Field(
        description="Not ok: it failed and is not asked, and what it would do is done without. Tried again by itself."
    )
    disk: Part = Field(description="`low`: make room. `full`: nothing more is stored, and the rest goes on.")
    redis: Part = Field(
        description="Not ok: it does not answer, and Postgres and each server by itself do its work. Without one there "
        "is nothing that could fail."
    )
    servers: Part = Field(
        description="Not ok: one at this database has another secret, and refuses the tokens of this one."
    )
    pending_embeddings: int | None = Field(description="Passages that are stored and not yet found by meaning.")


@router.get("/healthz", summary="Is the process alive?")
async def healthz(request: Request) -> Alive:
    return Alive(version=__version__ if from_loopback(request) else None)


@router.get(
    "/readyz",
    summary="Can it do its work? Each part by name.",
    responses={503: {"model": Ready, "description": "At least one part is not ready, or the server is about to stop."}},
)
async def readyz(request: Request, services: Used, response: Response) -> Ready:
    ready = await readiness(services)
    if request.app.state.draining:
        ready.status = "draining"
    response.status_code = 200 if ready.status == "ready" else 503
    return ready if await is_operator(request) else _without_details(ready)


@router.get("/metrics", summary="Prometheus metrics", dependencies=[Depends(measured)], response_class=Response)
async def metrics(request: Request, services: Used) -> Response:
    """Of all processes of the server, whichever was asked."""
    measure = request.app.state.measure or partial(measure_server, services)
    return Response(await measure(), media_type="text/plain; version=0.0.4")


async def measure_server(
    services: Services,
    others: Iterable[Sequence[Metric]] = (),
    ended: Sequence[Metric] = (),
    *,
    processes: int = 1,
    restarts: int = 0,
) -> bytes:
    """In the first process, or the only one: with what the `others` have counted and those that have `ended` had."""
    state = await health.look(services.db, services.queue)
    for status, count in state.jobs.items():
        services.metrics.queue.labels(status).set(count)
    services.metrics.pending_embeddings.set(state.pending_embeddings or 0)
    space = services.disk.look()
    if space is not None:
        services.metrics.disk_free.set(space.free)
        services.metrics.disk_reserve.set(space.reserve)
    for use, outage in (("embeddings", services.embedders.outage), ("language_model", outage_of(services.llm))):
        services.metrics.provider_down.labels(use).set(outage is not None)
    if services.working is not None:
        services.metrics.redis_down.set(not await services.working.answers())
    services.metrics.processes.set(processes)
    services.metrics.postgres_restarts.set(restarts)
    return render(services.metrics.collect(), others, ended)


def _without_details(ready: Ready) -> Ready:
    """What everybody may know: which part works, and how much is left to do."""
    names = ("database", "embedder", "language_model", "disk", "redis", "servers")
    parts = {name: getattr(ready, name).model_copy(update={"details": {}}) for name in names}
    return ready.model_copy(update={"version": None, **parts})


async def _redis(services: Services) -> Part:
    if services.working is None:
        return Part(ok=True, status="not configured")
    answers = await services.working.answers()
    return Part(ok=answers, status="ok" if answers else "does not answer: Postgres and each server do its work")


def _told(outage: Outage) -> str:
    return f"{outage.reason}, since {outage.since.strftime('%Y-%m-%dT%H:%M:%SZ')}"


def _state_of_database(state: health.State) -> str:
    if not state.answers:
        return "down"
    if state.past:
        return "a newer Keepstone has finished its upgrade: start that one"
    if state.pending_migrations:
        return "migrations are missing"
    return "ok" if state.whole else "a part does not answer: the accounts that lie there are not served"


async def readiness(services: Services) -> Ready:
    try:
        async with asyncio.timeout(3):
            state = await health.look(services.db, services.queue, fingerprint(services.jwt_secret))
    except TimeoutError:
        state = health.State()
    database = Part(
        ok=state.whole,
        status=_state_of_database(state),
        details={"server_version": state.server_version, "pgvector": state.pgvector},
    )
    worker = Part(
        ok=state.workers > 0,
        status="ok" if state.workers else "no worker is running",
        details={"workers": state.workers, "jobs": state.jobs},
    )
    outage = services.embedders.outage
    embedder = Part(
        ok=outage is None,
        status=services.embedders.status if outage is None else f"search is by terms: the endpoint {_told(outage)}",
        details={
            "models": [embedder.name for embedder in services.embedders.active],
            "former_models": [embedder.name for embedder in services.embedders.former],
            "filling": [asdict(model) for model in state.filling],
        },
    )
    llm, fault = name_of(services.llm), outage_of(services.llm)
    language_model = Part(
        ok=fault is None,
        status="none" if llm is None else "ok" if fault is None else f"not asked: it {_told(fault)}",
        details={} if llm is None else {"model": llm},
    )
    space = services.disk.look()
    state_of_disk = "the database's own" if space is None else space.state
    disk = Part(ok=state_of_disk != "full", status=state_of_disk)
    agree = state.servers.agree
    servers = Part(
        ok=agree,
        status="ok" if agree else "one has another secret: give all the same KEEPSTONE_JWT_SECRET",
        details={"serving": state.servers.serving, "working": state.servers.working},
    )
    # Without models or Redis everything works, if not as well; with a machine of a cluster away, the accounts on the
    # others do.
    ready = state.answers and not state.past and not state.pending_migrations and worker.ok
    return Ready(
        status="ready" if ready else "not_ready",
        database=database,
        worker=worker,
        embedder=embedder,
        language_model=language_model,
        disk=disk,
        redis=await _redis(services),
        servers=servers,
        pending_embeddings=state.pending_embeddings,
    )
