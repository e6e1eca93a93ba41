"""The operator's console over HTTP: who is here, how much they keep, what the queue does. Never what anybody keeps."""

import httpx
from fastapi import FastAPI

from capsules import CAPSULES
from conftest import World, http, make_person
from keepstone.access import operator
from keepstone.access.readscope import account_scope
from keepstone.jobs.worker import run_until_empty
from keepstone.model.capsule import OVERHEAD
from keepstone.services import Services

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
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    kept = await client.post(CAPSULES, headers=world.member.auth, json={"title": "cake", "content_md": SECRET})
    assert kept.is_success
    await operator.set_allowance(services, "olga@example.org", plan="pro")
    await operator.set_quota(services, world.member.user.id, 123_456)
    answer = await client.get(USERS)
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
    assert (await client.get(f"{USERS}/{world.member.user.id}")).json() == max_


async def test_users_are_found_by_how_their_address_begins_and_come_in_pages(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    for number in range(5):
        await make_person(services, f"max{number}@example.net")

    async def found(**params: str | int) -> list[str]:
        return [one["email"] for one in (await client.get(USERS, params=params)).json()["items"]]

    assert await found(q="  MAX@") == ["max@example.org"]
    assert await found(q="nobody") == []
    assert await found(q="%") == [], "no pattern"
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = (
            await client.get(USERS, params={"q": "max", "limit": 2} | ({"cursor": cursor} if cursor else {}))
        ).json()
        seen += [one["email"] for one in page["items"]]
        cursor = page["next_cursor"]
        assert page["has_more"] == (cursor is not None)
        if cursor is None:
            break
    assert seen == ["max@example.org", *(f"max{number}@example.net" for number in range(5))]
    assert (await client.get(USERS, params={"q": "a\0"})).status_code == 422


async def test_a_failed_job_is_shown_without_its_text_and_runs_again(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    await fail(services, world.owner.user.account)
    answer = await client.get(JOBS)
    told = answer.json()
    assert told["counts"] == {"todo": 0, "doing": 0, "failed": 1}
    assert [lane["lane"] for lane in told["lanes"]] == ["first", "reading", "embedding", "housekeeping"]
    assert told["lanes"][1] == {"lane": "reading", "todo": 0, "doing": 0, "failed": 1}
    assert told["tasks"] == [{"task": "stumbles", "todo": 0, "doing": 0, "failed": 1}]
    (failure,) = told["failures"]
    assert failure.items() >= {"task": "stumbles", "error": "ZeroDivisionError", "attempts": 1}.items()
    assert set(failure) == {"id", "task", "attempts", "error", "changed_at"}, "no arguments"
    assert SECRET not in answer.text
    retry = f"{JOBS}/{failure['id']}/retry"
    assert (await client.post(retry)).status_code == 204
    assert (await client.post(retry)).status_code == 404, "it waits, it has not failed"
    assert (await client.get(JOBS)).json()["counts"] == {"todo": 1, "doing": 0, "failed": 0}
    for wrong, status in (("0", 422), ("x", 422), ("9999999", 404), (str(2**63), 422)):
        assert (await client.post(f"{JOBS}/{wrong}/retry")).status_code == status
    await run_until_empty(services)
    assert (await client.get(JOBS)).json()["counts"]["failed"] == 1, "and failed again"
    await services.queue.app.job_manager.delete_old_jobs(nb_hours=0, include_failed=True)
    await services.queue.forget_faults()
    assert (await client.get(JOBS)).json()["failures"] == []


async def test_from_elsewhere_the_console_is_for_admins(app: FastAPI, services: Services, world: World) -> None:
    async with http(app, address="192.0.2.7") as away:
        calls = (("GET", USERS), ("GET", JOBS), ("POST", f"{JOBS}/1/retry"))
        for auth, status in ((dict[str, str](), 401), (world.owner.auth, 403), (world.service_auth, 403)):
            for method, path in calls:
                assert (await away.request(method, path, headers=auth)).status_code == status
        await operator.set_allowance(services, "stan@elsewhere.example", admin=True)
        for (method, path), status in zip(calls, (200, 200, 404), strict=True):
            assert (await away.request(method, path, headers=world.stranger.auth)).status_code == status
