"""The operator's console over HTTP: who is here, how much they keep, what the queue does. Never what anybody keeps."""

import httpx
from fastapi import FastAPI

from capsules import CAPSULES
from conftest import World, http, make_person
from keepstone.access import operator, plans
from keepstone.access.readscope import account_scope
from keepstone.jobs.worker import run_until_empty
from keepstone.model.capsule import OVERHEAD
from keepstone.services import Services
from leaks import routes_of

USERS, JOBS = "/x_console/api/users", "/x_console/api/jobs"
SECRET = "the recipe of the black forest cake"


async def fail(services: Services, account: int) -> None:
    """A job that fails, with a message that quotes what nobody may see."""

    async def stumbles(account: int) -> None:
        raise ZeroDivisionError(SECRET)

    if "stumbles" not in services.queue.app.tasks:
        services.queue.app.task(name="stumbles")(stumbles)
    async with services.db.transaction(account_scope(account)) as conn:
        await services.queue.add(conn, "stumbles", account=account)
    await run_until_empty(services)


async def test_the_operator_sees_who_is_here_and_how_much_they_keep(
    client: httpx.AsyncClient, console: httpx.AsyncClient, services: Services, world: World
) -> None:
    kept = await client.post(CAPSULES, headers=world.member.auth, json={"title": "cake", "content_md": SECRET})
    assert kept.is_success
    await operator.set_allowance(services, "olga@example.org", plan="pro")
    await operator.set_quota(services, world.member.user.id, 123_456)
    answer = await console.get(USERS)
    listed = {one["email"]: one for one in answer.json()["items"]}
    assert list(listed) == ["olga@example.org", "max@example.org", "stan@elsewhere.example"]
    olga, max_ = listed["olga@example.org"], listed["max@example.org"]
    assert (olga["plan"], olga["quota_bytes"], olga["capacity_bytes"], olga["used_bytes"]) == (
        "pro", None, 50 * 1024 * 1024, 0
    )  # fmt: skip
    assert (max_["quota_bytes"], max_["capacity_bytes"]) == (123_456, 123_456)
    assert max_["used_bytes"] == OVERHEAD + len("cake") + len(SECRET)
    assert max_["last_login_at"] is None
    assert (max_["role"], max_["is_admin"], max_["account_id"]) == ("member", False, world.owner.principal.account_id)
    assert listed["stan@elsewhere.example"]["capacity_bytes"] is None
    assert SECRET not in answer.text
    assert (await console.get(f"{USERS}/{world.member.user.id}")).json() == max_


async def test_users_are_found_by_how_their_address_begins_and_come_in_pages(
    client: httpx.AsyncClient, console: httpx.AsyncClient, services: Services, world: World
) -> None:
    for number in range(5):
        await make_person(services, f"max{number}@example.net")

    async def found(**params: str | int) -> list[str]:
        return [one["email"] for one in (await console.get(USERS, params=params)).json()["items"]]

    assert await found(q="  MAX@") == ["max@example.org"]
    assert await found(q="nobody") == []
    assert await found(q="%") == [], "no pattern"
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = (
            await console.get(USERS, params={"q": "max", "limit": 2} | ({"cursor": cursor} if cursor else {}))
        ).json()
        seen += [one["email"] for one in page["items"]]
        cursor = page["next_cursor"]
        assert page["has_more"] == (cursor is not None)
        if cursor is None:
            break
    assert seen == ["max@example.org", *(f"max{number}@example.net" for number in range(5))]
    assert (await console.get(USERS, params={"q": "a\0"})).status_code == 422


async def test_a_failed_job_is_shown_without_its_text_and_runs_again(
    client: httpx.AsyncClient, console: httpx.AsyncClient, services: Services, world: World
) -> None:
    await fail(services, world.owner.user.account)
    answer = await console.get(JOBS)
    told = answer.json()
    assert told["counts"] == {"todo": 0, "doing": 0, "failed": 1}
    assert [lane["lane"] for lane in told["lanes"]] == [
        "first", "reading", "embedding", "importing", "housekeeping"
    ]  # fmt: skip
    assert told["lanes"][1] == {"lane": "reading", "todo": 0, "doing": 0, "failed": 1}
    assert told["tasks"] == [{"task": "stumbles", "todo": 0, "doing": 0, "failed": 1}]
    (failure,) = told["failures"]
    assert failure.items() >= {"task": "stumbles", "error": "ZeroDivisionError", "attempts": 1}.items()
    assert set(failure) == {"id", "task", "attempts", "error", "changed_at"}, "no arguments"
    assert SECRET not in answer.text
    retry = f"{JOBS}/{failure['id']}/retry"
    assert (await console.post(retry)).status_code == 204
    assert (await console.post(retry)).status_code == 404, "it waits, it has not failed"
    assert (await console.get(JOBS)).json()["counts"] == {"todo": 1, "doing": 0, "failed": 0}
    for wrong, status in (("0", 422), ("x", 422), ("9999999", 404), (str(2**63), 422)):
        assert (await console.post(f"{JOBS}/{wrong}/retry")).status_code == status
    await run_until_empty(services)
    assert (await console.get(JOBS)).json()["counts"]["failed"] == 1, "and failed again"
    await services.queue.app.job_manager.delete_old_jobs(nb_hours=0, include_failed=True)
    await services.queue.forget_faults()
    assert (await console.get(JOBS)).json()["failures"] == []


async def test_the_console_is_for_admins_wherever_they_call_from(
    app: FastAPI, services: Services, world: World
) -> None:
    objects = {"user_id": world.owner.user.id, "plan": "pro", "job_id": 1, "query_id": "qry_" + "a" * 24}
    routes = [route for route in routes_of(app) if route[2].startswith("/x_console/api/")]
    calls = [(method, path.format(**objects)) for _, method, path in routes]
    assert len(calls) >= 9
    for address in ("127.0.0.1", "::1", "192.0.2.7"):
        async with http(app, address=address) as client:
            for auth, status in ((dict[str, str](), 401), (world.owner.auth, 403), (world.service_auth, 403)):
                for method, path in calls:
                    answer = await client.request(method, path, headers=auth)
                    assert answer.status_code == status, (address, method, path)
    await operator.set_allowance(services, "stan@elsewhere.example", admin=True)
    async with http(app, address="192.0.2.7", headers=world.stranger.auth) as away:
        assert [(await away.get(path)).status_code for path in (USERS, JOBS)] == [200, 200]
        assert (await away.post(f"{JOBS}/1/retry")).status_code == 404


async def test_what_the_operator_changes_and_whom_they_look_at_is_audited_with_who_it_was(
    client: httpx.AsyncClient, console: httpx.AsyncClient, services: Services, world: World
) -> None:
    stan, max_ = world.stranger, world.member.user
    await console.patch(f"{USERS}/{max_.id}", json={"quota_bytes": 5})
    for _ in range(2):
        assert (await console.get(f"{USERS}/{max_.id}")).is_success
    plan = (await console.get("/x_console/api/plans/pro")).json()
    limits = {name: value for name, value in plan.items() if name != "name"}
    assert (await console.put("/x_console/api/plans/pro", json=limits)).is_success
    await fail(services, world.owner.user.account)
    (failure,) = (await console.get(JOBS)).json()["failures"]
    assert (await console.post(f"{JOBS}/{failure['id']}/retry")).is_success

    async def lines(auth: dict[str, str]) -> list[tuple[str, str, str]]:
        items = (await client.get("/v1/audit", headers=auth)).json()["items"]
        mine = [line for line in items if line["user_id"] == stan.user.id]
        return [(line["action"], line["object_id"], line["credential_id"]) for line in mine]

    assert await lines(world.owner.auth) == [
        ("console.user", max_.id, stan.key_id), ("user.quota", max_.id, stan.key_id)
    ], "looked at twice within a minute, it is told once"  # fmt: skip
    assert (await lines(stan.auth))[:2] == [
        ("job.retry", str(failure["id"]), stan.key_id), ("plan.put", "pro", stan.key_id)
    ]  # fmt: skip


async def test_a_plan_that_is_set_on_the_command_line_is_audited_with_the_first_admin(
    client: httpx.AsyncClient, services: Services, world: World, operator_auth: dict[str, str]
) -> None:
    await plans.change_plan(services, "pro", price="$11/mo")
    line = (await client.get("/v1/audit", headers=operator_auth)).json()["items"][0]
    assert (line["action"], line["object_id"], line["via"]) == ("plan.put", "pro", "cli")
