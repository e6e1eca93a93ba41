"""The operator's console in a browser: health, users, plans, jobs, queries. And the refusal for everybody else."""

import re
from collections.abc import Generator

import psycopg
import pytest
from playwright.async_api import Browser, expect

from browser import NARROW, Visitor, dashboard_server, visiting
from keepstone.postgres.cluster import open_cluster
from keepstone.postgres.supervisor import Supervisor
from live import Live

PASSWORD = "correct horse battery staple"


@pytest.fixture(scope="module")
def server() -> Generator[Live]:
    live = dashboard_server(KEEPSTONE_EMBEDDINGS_PROVIDER="none")
    yield live
    live.stop()


async def tab(visitor: Visitor, name: str) -> None:
    await visitor.page.get_by_role("tab", name=name).click()


async def test_the_overview_says_how_the_server_is(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server, as_owner=True) as visitor:
        page = visitor.page
        await visitor.go("/x_console")
        await expect(page.get_by_role("status", name="").filter(has_text="All is well")).to_be_visible()
        await expect(page.get_by_text("Database: ok")).to_be_visible()
        await expect(page.get_by_text(re.compile(r"Version \d"))).to_be_visible()
        await expect(page.get_by_role("row").filter(has_text="acct_")).to_contain_text("unlimited")
        await visitor.accessible()


async def test_a_user_is_found_given_another_capacity_and_put_back_on_the_plan(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server, as_owner=True) as visitor:
        page, api = visitor.page, visitor.api
        for number in range(60):
            assert api.post("/v1/users", json={"email": f"user{number}@example.org"}).is_success
        await visitor.go("/x_console/users")
        await expect(page.get_by_role("link", name="@")).to_have_count(50)
        await page.get_by_role("button", name="Show more").click()
        await expect(page.get_by_role("link", name="@")).to_have_count(61)
        await visitor.accessible()
        await page.get_by_role("searchbox").fill("user42")
        await expect(page).to_have_url(re.compile("q=user42"))
        await page.get_by_role("link", name="user42@example.org").click()
        await expect(page).to_have_url(re.compile("/x_console/users/usr_"))
        user_id = page.url.rpartition("/")[2]
        await page.get_by_label("Another capacity").check()
        await page.get_by_label("Capacity in MB").fill("2.5")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("0 B of 2.5 MB")).to_be_visible()
        assert api.get(f"/x_console/api/users/{user_id}").json()["quota_bytes"] == 2.5 * 1024 * 1024
        await visitor.accessible()
        await page.get_by_label("As the plan “unlimited” says").check()
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("0 B, no limit")).to_be_visible()
        assert api.get(f"/x_console/api/users/{user_id}").json()["quota_bytes"] is None
        await page.get_by_role("link", name="All users").click()
        await page.get_by_role("searchbox").fill("nobody")
        await expect(page.get_by_text("Nobody’s address begins so")).to_be_visible()


async def test_a_plan_is_edited_in_its_place_and_another_made(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server, as_owner=True) as visitor:
        page, api = visitor.page, visitor.api
        await visitor.go("/x_console")
        await tab(visitor, "Plans")
        await page.get_by_role("button", name="Edit pro").click()
        pro = page.get_by_role("region", name="pro")
        await pro.get_by_label("Price").fill("$12/mo")
        await pro.get_by_label("Queries a month").fill("1000")
        await visitor.accessible()
        await pro.get_by_role("button", name="Save").click()
        await expect(pro).to_contain_text("$12/mo")
        await expect(pro).to_contain_text("1,000")
        plan = api.get("/x_console/api/plans/pro").json()
        assert (plan["price"], plan["monthly_queries"], plan["capacity_bytes"]) == ("$12/mo", 1000, 50 * 1024 * 1024)
        await page.get_by_role("button", name="New plan").click()
        new = page.get_by_role("region", name="New plan")
        await new.get_by_label("Name").fill("no spaces")
        await expect(new.get_by_role("button", name="Save")).to_be_disabled()
        await new.get_by_label("Name").fill("team")
        await new.get_by_label("Capacity, MB").fill("100")
        await new.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("region", name="team")).to_contain_text("Not for sale")
        assert api.get("/x_console/api/plans/team").json()["capacity_bytes"] == 100 * 1024 * 1024
        await visitor.accessible()


async def test_a_failed_job_is_shown_with_its_error_and_run_again(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server, as_owner=True) as visitor:
        page = visitor.page
        await visitor.go("/x_console/jobs")
        await expect(page.get_by_text("Nothing has failed")).to_be_visible()
        for lane in ("first", "reading", "embedding", "housekeeping"):
            await expect(page.get_by_role("region", name="By lane").get_by_role("cell", name=lane)).to_be_visible()
        await visitor.accessible()
        conninfo = Supervisor(open_cluster(server.home)).conninfo
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as conn:
            await conn.execute("SET search_path = keepstone")
            (job,) = await (
                await conn.execute(
                    "INSERT INTO procrastinate_jobs (queue_name, task_name, args, status, attempts) "
                    """VALUES ('nowhere', 'send_digest', '{"account": 1}', 'failed', 15) RETURNING id"""
                )
            ).fetchone() or (0,)
            await conn.execute("INSERT INTO job_faults (job, error) VALUES (%s, 'SMTPServerDisconnected')", [job])
        row = page.get_by_role("row").filter(has_text="SMTPServerDisconnected")
        await expect(row).to_contain_text("send_digest")
        await visitor.accessible()
        await row.get_by_role("button", name=f"Run again: job {job}").click()
        await expect(page.get_by_text("Nothing has failed")).to_be_visible()


async def test_a_query_is_looked_up_by_its_id_on_a_phone_in_chinese(chromium: Browser, server: Live) -> None:
    async with visiting(
        chromium, server, as_owner=True, viewport=NARROW, locale="zh-CN", color_scheme="dark"
    ) as visitor:
        page, api = visitor.page, visitor.api
        graph = api.post("/v1/graphs", json={"name": "work"}).json()["id"]
        api.post(f"/v1/graphs/{graph}/nodes", json={"content": "Anna leads the migration."})
        asked = api.post(f"/v1/graphs/{graph}/recall", json={"query": "migration", "min_relevance": 0}).json()
        await visitor.go("/x_console/queries")
        await page.get_by_label("查询编号").fill("qry_x")
        await page.get_by_role("button", name="查找").click()
        await expect(page.get_by_text("编号以 qry_ 开头")).to_be_visible()
        await page.get_by_label("查询编号").fill(asked["query_id"])
        await page.get_by_role("button", name="查找").click()
        await expect(page.get_by_role("region", name=asked["query_id"])).to_contain_text(graph)
        assert "Anna" not in await page.content()
        assert await page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
        await visitor.accessible()
        visitor.allow("404")
        await visitor.go("/x_console/queries?id=qry_" + "a" * 24)
        await expect(page.get_by_text("没有这个查询")).to_be_visible()


async def test_whoever_is_no_admin_is_told_so(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server, as_owner=True) as visitor:
        body = {"email": "max@example.org", "password": PASSWORD}
        assert visitor.api.post("/v1/users", json=body).is_success
    async with visiting(chromium, server, as_owner=True) as visitor:
        await visitor.context.clear_cookies()
        page = visitor.page
        await visitor.go("/x_console/users")
        await page.get_by_label("E-mail").fill("max@example.org")
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page).to_have_url(f"{server.url}/x_console/users")
        await expect(page.get_by_role("heading", name="This is for whoever runs the server")).to_be_visible()
        await expect(page.get_by_role("navigation", name="Pages").get_by_role("link", name="Console")).to_have_count(0)
        await visitor.accessible()


async def test_the_operator_reads_who_did_what_filters_it_and_takes_it_out(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server, as_owner=True) as visitor:
        page = visitor.page
        key = visitor.api.post("/v1/keys", json={"name": "a secret name"}).json()["id"]
        await visitor.go("/x_console/audit")
        table = page.get_by_role("table", name="Audit log")
        await expect(table.get_by_role("row").filter(has_text=key)).to_contain_text("key.create")
        await visitor.accessible()
        await page.get_by_role("searchbox").fill("key.create")
        await expect(table.get_by_role("row").filter(has_text="session.")).to_have_count(0)
        await expect(table.get_by_role("row").filter(has_text=key)).to_be_visible()
        assert "a secret name" not in await page.content()
        async with page.expect_download() as started:
            await page.get_by_role("link", name="Download CSV").click()
        text = (await (await started.value).path()).read_text()
        assert key in text
        assert "session." not in text
