"""The operator's console as an API: for admins, from wherever they call. It never shows memory, and says in the audit
trail who changed what and who looked at whom.
"""

from typing import Annotated

from fastapi import Path, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from keepstone.access import audit, plans, usage
from keepstone.access import operator as operations
from keepstone.memory import graph_recall
from keepstone.model import graph
from keepstone.model.ids import pattern
from keepstone.model.plan import PLAN_NAME
from keepstone.store.queue import JobRow, LaneCount, TaskCount
from keepstone.surfaces.http.caller import Operator, Used
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.wire import PageOut, Paging, Shown, Time, Wire, fields_of, refuse, show_page
from keepstone.surfaces.rest import keys as key_routes
from keepstone.surfaces.rest import usage as usage_routes

router = Router(prefix="/x_console/api", tags=["console"])


class ResidentOut(Shown):
    id: str = Field(validation_alias="user_id")
    email: str
    account_id: str
    plan: str
    role: str
    is_admin: bool
    quota_bytes: int | None = Field(description="Set for this user alone; null: as the plan says.")
    capacity_bytes: int | None = Field(description="How much they may keep; null: no limit.")
    used_bytes: int
    created_at: Time
    last_login_at: Time | None


class AllowanceIn(Wire):
    quota_bytes: Annotated[
        int | None, Field(ge=0, le=2**60, description="Capacity of this user; null goes back to the plan's.")
    ]


@router.patch("/users/{user_id:usr}", summary="Set how much a user may keep")
async def set_quota(services: Used, principal: Operator, user_id: str, body: AllowanceIn) -> ResidentOut:
    await operations.set_quota(services, user_id, body.quota_bytes, by=principal)
    return ResidentOut.model_validate(await operations.resident(services, user_id))


@router.get("/users/{user_id:usr}", summary="Who a user is and what they may use")
async def get_resident(services: Used, principal: Operator, user_id: str) -> ResidentOut:
    return ResidentOut.model_validate(await operations.look_at_resident(services, principal, user_id))


@router.get("/users", summary="Who is on this server, in the order in which they came")
async def list_residents(
    services: Used,
    principal: Operator,
    page: Paging,
    q: Annotated[str | None, Query(max_length=254, description="How their e-mail address begins.")] = None,
) -> PageOut[ResidentOut]:
    refuse("q", q)
    return show_page(
        await operations.residents_page(services, principal, page, beginning=q), ResidentOut.model_validate
    )


# ------------------------------------------------------------------------------------------------------- plans

PlanName = Annotated[str, Path(pattern=PLAN_NAME, description="a-z, 0-9, - and _, up to 63 of them.")]
_Limit = Annotated[int | None, Field(ge=0, le=2**53, description="null: no limit.")]
_PerMinute = Annotated[int | None, Field(ge=1, le=1_000_000, description="null: no limit.")]


class PlanOut(usage_routes.LimitsOut):
    position: int = Field(description="Where it stands among the others.")
    price: str | None = Field(description="As it is shown; null: the plan is not on the price page.")


class PlansOut(BaseModel):
    items: list[PlanOut]


class PlanIn(Wire):
    """All of its limits: null is none. Without `position` it stays where it is, and a new one is behind the rest;
    without `price` or `monthly_tokens` that stays, too.
    """

    capacity_bytes: _Limit
    monthly_queries: _Limit
    monthly_credits: _Limit
    key_per_minute: _PerMinute
    account_per_minute: _PerMinute
    monthly_tokens: _Limit = None
    position: Annotated[int | None, Field(ge=0, le=1_000_000)] = None
    price: Annotated[
        str | None, Field(min_length=1, max_length=40, description="Such as `$10/mo`; null: not on the price page.")
    ] = None


@router.get("/plans", summary="The plans of this server")
async def list_plans(services: Used, _: Operator) -> PlansOut:
    return PlansOut(items=[PlanOut.model_validate(plan) for plan in await plans.list_plans(services)])


@router.get("/plans/{plan}", summary="One of them")
async def get_plan(services: Used, _: Operator, plan: PlanName) -> PlanOut:
    return PlanOut.model_validate(await plans.get_plan(services, plan))


@router.put("/plans/{plan}", summary="Make a plan, or make it another")
async def put_plan(services: Used, principal: Operator, plan: PlanName, body: PlanIn) -> PlanOut:
    left_out = {"position"} if body.position is None else set[str]()
    left_out |= {"price", "monthly_tokens"} - body.model_fields_set
    changes = body.model_dump(exclude=left_out)
    return PlanOut.model_validate(await plans.change_plan(services, plan, by=principal, **changes))


# ------------------------------------------------------------------------------------------------------- usage


class OneOfAllOut(usage_routes.SpentOut):
    account_id: str
    plan: str
    credits_left: int | None = Field(description="null: not counted.")


class AllUsageOut(BaseModel):
    since: Time = Field(serialization_alias="from")
    until: Time = Field(serialization_alias="to")
    accounts: list[OneOfAllOut]


@router.get("/usage", summary="What an account used, or each of them")
async def usage_of_accounts(
    services: Used,
    _: Operator,
    account_id: Annotated[
        str | None, Query(pattern=f"^{pattern('acct')}$", description="Whose. Without: one line for each account.")
    ] = None,
    since: usage_routes.From = None,
    until: usage_routes.To = None,
    by: usage_routes.Grouped = "day,action",
) -> usage_routes.AccountUsageOut | AllUsageOut:
    begin, end = usage_routes.first(since), usage_routes.last(until)
    if account_id is not None:
        groups = usage_routes.groups(by)
        return usage_routes.shown(await usage.usage_of(services, account_id, since=begin, until=end, by=groups))
    begin, end, lines = await usage.usage_of_all(services, since=begin, until=end)
    return AllUsageOut(since=begin, until=end, accounts=[OneOfAllOut.model_validate(line) for line in lines])


# -------------------------------------------------------------------------------------------------------- jobs


class TaskOut(fields_of(TaskCount, "task todo doing failed")):
    pass


class LaneOut(fields_of(LaneCount, "lane todo doing failed")):
    pass


class FailureOut(fields_of(JobRow, "id task attempts error changed_at")):
    error: str | None = Field(description="The class of what it ended with; its text is in nobody's log.")


class JobsOut(Shown):
    workers: int = Field(description="That gave a sign of life lately.")
    counts: dict[str, int] = Field(description="By status: `todo`, `doing`, `failed`.")
    lanes: list[LaneOut] = Field(description="In the order in which they are served.")
    tasks: list[TaskOut]
    failures: list[FailureOut] = Field(description="The newest first, up to 100.")


@router.get("/jobs", summary="Background jobs: what waits, what runs, what failed")
async def list_jobs(services: Used, _: Operator) -> JobsOut:
    return JobsOut.model_validate(await operations.jobs(services))


@router.post("/jobs/{job_id}/retry", status_code=204, summary="Run a failed job again")
async def retry_job(services: Used, principal: Operator, job_id: Annotated[int, Path(ge=1, le=2**63 - 1)]) -> None:
    await operations.retry_job(services, principal, job_id)


# ----------------------------------------------------------------------------------- recalls: numbers, never a text


class QueryOut(
    fields_of(
        graph.Query,
        "id account_id at user_id credential_id graph_id filters max_results min_relevance returned total best "
        "degraded milliseconds",
    )
):
    best: float | None = Field(description="The relevance of the first result.")


@router.get("/queries/{query_id:qry}", summary="What a recall from a graph did")
async def get_query(services: Used, _: Operator, query_id: str) -> QueryOut:
    return QueryOut.model_validate(await graph_recall.get_query(services, query_id))


# ------------------------------------------------------------------------------------------------------- who did what

_Account = Annotated[str | None, Query(pattern=f"^{pattern('acct')}$", description="Of this account alone.")]


class ServerAuditOut(key_routes.AuditOut):
    account_id: str


@router.get("/audit", summary="Who did what in all accounts, the newest first")
async def list_server_audit(
    services: Used, principal: Operator, page: Paging, wanted: key_routes.AuditWanted, account_id: _Account = None
) -> PageOut[ServerAuditOut]:
    lines = await audit.list_of_server(services, principal, page, wanted=wanted, account_id=account_id)
    return show_page(lines, ServerAuditOut.model_validate)


@router.get("/audit/export", summary="The same as a file, all of it", response_class=StreamingResponse)
async def export_server_audit(
    services: Used,
    principal: Operator,
    wanted: key_routes.AuditWanted,
    account_id: _Account = None,
    form: key_routes.AuditFormat = "csv",
) -> StreamingResponse:
    lines = audit.export_of_server(services, principal, wanted=wanted, account_id=account_id)
    return await key_routes.audit_file(lines, form)
