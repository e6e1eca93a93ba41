"""Settings: a person's profile, keys, MCP, usage, account and data, through the page as they use it."""

import base64
import json
import re
import time

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from browser import NARROW, Held, Visitor, answers, visiting
from keepstone.access.second_factor import STEP_SECONDS, code_at
from live import Live

PASSWORD = "correct horse battery staple"


@pytest.fixture
def server(dashboard: Live) -> Live:
    return dashboard


async def open_section(visitor: Visitor, name: str) -> Page:
    await visitor.page.get_by_role("navigation", name="Sections").get_by_role("link", name=name).click()
    return visitor.page


async def test_a_profile_is_changed_and_another_browser_signed_out(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/settings")
        await expect(page).to_have_url(re.compile("/dashboard/settings/profile$"))
        await page.get_by_label("Name").fill("Olga")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Saved")).to_be_visible()
        zone = page.get_by_role("combobox", name="Time zone")
        await zone.fill("berl")
        await page.get_by_role("option", name="Europe/Berlin").click()
        await expect(page.get_by_role("button", name="Use UTC, as this browser")).to_be_visible()
        for name in ("Cold tier", "The week by e-mail"):
            async with page.expect_response(answers("PATCH", "/v1/me")):
                await page.get_by_role("switch", name=name).click()
            await expect(page.get_by_role("switch", name=name)).to_be_checked()
        await visitor.accessible()
        # The first password needs no old one; the next does.
        await page.get_by_label("New password").fill(PASSWORD)
        await page.get_by_role("button", name="Set password").click()
        await expect(page.get_by_label("Current password")).to_be_visible()
        with httpx.Client(base_url=server.url) as elsewhere:
            body = {"email": visitor.email, "password": PASSWORD}
            agent = "Mozilla/5.0 (Macintosh; Intel Mac OS X 14.5) AppleWebKit/605 Version/17.5 Safari/605.1.15"
            assert elsewhere.post("/auth/login", json=body, headers={"User-Agent": agent}).is_success
            await page.reload()
            row = page.get_by_role("listitem").filter(has_text="Safari on macOS")
            await row.get_by_role("button", name="Sign out there").click()
            await expect(row).to_have_count(0)
            assert elsewhere.get("/v1/me").status_code == 401
        await expect(page.get_by_text("This browser", exact=True)).to_be_visible()
        me = visitor.api.get("/v1/me").json()["user"]
        assert (me["name"], me["timezone"], me["has_password"]) == ("Olga", "Europe/Berlin", True)
        assert (me["cold_tier"], me["weekly_digest"]) == (True, True)
        visitor.allow("400")
        await page.get_by_label("Current password").fill("wrong")
        await page.get_by_label("New password").fill("another passphrase")
        await page.get_by_role("button", name="Change password").click()
        await expect(page.get_by_role("alert")).to_contain_text("password")


async def test_what_is_switched_while_an_answer_is_late_stays_switched(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/settings/profile")
        switches = [page.get_by_role("switch", name=name) for name in ("Cold tier", "The week by e-mail")]
        await expect(switches[0]).not_to_be_checked()
        late = Held(answered=True)
        await page.route("**/v1/me", late)
        async with page.expect_request("**/v1/me"):
            await switches[0].click()
        await switches[1].click()
        for switch in switches:
            await expect(switch).to_be_checked()
        async with page.expect_response(lambda answer: "weekly_digest" in (answer.request.post_data or "")):
            late.release()
        for switch in switches:
            await expect(switch).to_be_checked()
        me = visitor.api.get("/v1/me").json()["user"]
        assert (me["cold_tier"], me["weekly_digest"]) == (True, True)


async def test_a_key_is_made_shown_once_and_revoked(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server, permissions=["clipboard-read", "clipboard-write"]) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/settings/keys")
        await page.get_by_role("button", name="New key").click()
        dialog = page.get_by_role("dialog", name="New key")
        await dialog.get_by_label("Name", exact=True).fill("laptop")
        await dialog.get_by_label("Expires").click()
        await page.get_by_role("option", name="In 90 days").click()
        await visitor.accessible()
        await dialog.get_by_role("button", name="Make key").click()
        shown = page.get_by_role("dialog", name="Your new key")
        await expect(shown).to_contain_text("the only time you see this key")
        await shown.get_by_role("button", name="Copy").click()
        await visitor.accessible()
        key = await shown.get_by_label("laptop").input_value()
        assert await visitor.copied(lambda text: text == key)
        with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {key}"}) as client:
            assert client.get("/v1/me").is_success
            await shown.get_by_role("button", name="I have copied it").click()
            await page.reload()
            row = page.get_by_role("listitem").filter(has_text="laptop")
            await expect(row).to_contain_text("last used")
            await expect(row).to_contain_text("expires")
            assert key not in await page.content()
            await row.get_by_role("button", name="Revoke laptop").click()
            await page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
            await expect(row).to_have_count(0)
            assert client.get("/v1/me").status_code == 401
        await page.get_by_role("switch", name="Show revoked").click()
        await expect(row).to_contain_text("Revoked")
        await expect(page).to_have_url(re.compile(r"\?all"))


async def test_a_configuration_for_each_program_names_this_server_and_a_key_that_works(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/settings")
        await open_section(visitor, "MCP")
        await expect(page.locator("pre")).to_contain_text(f"{server.url}/v1/mcp")
        await page.get_by_role("button", name="Make a key for this").click()
        await expect(page.get_by_text("The key “Claude Desktop” is filled in below")).to_be_visible()
        told = json.loads(await page.locator("pre").inner_text())["mcpServers"]["keepstone"]
        assert told["command"] == "npx"
        assert told["args"][:3] == ["-y", "mcp-remote", f"{server.url}/v1/mcp"]
        assert "--allow-http" not in told["args"], "it is on this machine"
        name, bearer = told["args"][4].split(": ")
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        assert httpx.post(told["args"][2], headers={name: bearer}, json=body).json()["result"]["tools"]
        await visitor.accessible()
        await page.get_by_text("Graphs", exact=True).last.click()
        await page.get_by_text("Claude Code").click()
        await expect(page).to_have_url(re.compile("memory=graphs.*client=code"))
        await expect(page.locator("pre").first).to_contain_text("claude mcp add")
        command = await page.locator("pre").first.inner_text()
        assert command.startswith(f"claude mcp add --transport http keepstone-graph {server.url}/v1/graph/mcp --header")
        assert bearer in command
        await page.get_by_text("Cursor").click()
        await expect(page.locator("pre").first).to_contain_text("mcpServers")
        direct = json.loads(await page.locator("pre").first.inner_text())["mcpServers"]["keepstone-graph"]
        assert direct == {"url": f"{server.url}/v1/graph/mcp", "headers": {"Authorization": bearer}}


async def test_usage_is_empty_at_first_and_then_told_by_day_and_by_call(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/settings/usage")
        await expect(page.get_by_text("Nothing was called in this time")).to_be_visible()
        await visitor.accessible()
        api = visitor.api
        api.post("/v1/memory/capsules", json={"content_md": "a capsule"})
        api.post("/v1/ingest", json={"scope_id": "team", "transcript": [{"speaker": "a", "text": "We took Clerk."}]})
        for number in range(3):
            message = {"speaker": "a", "text": f"What did we take, {number}?"}
            assert api.post("/v1/recall", json={"scope_id": "team", "message": message}).is_success
        user = api.get("/v1/me").json()["user"]["id"]
        api.patch(f"/x_console/api/users/{user}", json={"quota_bytes": 10 * 1024})
        await page.reload()
        bar = page.get_by_role("progressbar", name="Capacity")
        await expect(bar).to_be_visible()
        assert float(await bar.get_attribute("aria-valuenow") or 0) > 79
        await page.get_by_text("30 days").click()
        await page.get_by_text("Credits", exact=True).first.click()
        await expect(page).to_have_url(re.compile("period=30&measure=credits"))
        await expect(page.get_by_role("img", name=re.compile("Credits by day.*3 in all"))).to_be_visible()
        await expect(page.get_by_role("row", name="Recall from a scope 3 0 3 0 0")).to_be_visible()
        await visitor.accessible()
        await page.get_by_role("link", name="See the plans").click()
        await expect(page.get_by_role("heading", name="Pricing")).to_be_visible()
        api.patch(f"/x_console/api/users/{user}", json={"quota_bytes": None})


async def test_two_choices_before_the_page_is_drawn_again_both_count(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/settings/usage")
        for name in ("90 days", "Credits"):
            await expect(page.get_by_role("radio", name=name)).not_to_be_checked()
        await page.evaluate(
            """names => [...document.querySelectorAll('label')]
                .filter(label => names.includes(label.textContent)).forEach(label => label.click())""",
            ["90 days", "Credits"],
        )
        for name in ("90 days", "Credits"):
            await expect(page.get_by_role("radio", name=name)).to_be_checked()
        await expect(page).to_have_url(re.compile("period=90&measure=credits"))


async def test_an_owner_adds_somebody_changes_their_role_and_erases_them(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/settings")
        await open_section(visitor, "People")
        await page.get_by_role("button", name="Add somebody").click()
        dialog = page.get_by_role("dialog", name="Add somebody")
        await dialog.get_by_label("E-mail").fill("ada@example.org")
        await expect(dialog).to_contain_text("keepstone login-link ada@example.org")
        await dialog.get_by_label("Password", exact=True).fill(PASSWORD)
        await visitor.accessible()
        await dialog.get_by_role("button", name="Add somebody").click()
        row = page.get_by_role("listitem").filter(has_text="ada@example.org")
        await expect(row).to_contain_text("Has not been here yet")
        async with visiting(chromium, server) as ada:
            await ada.context.clear_cookies()
            await ada.go("/login?next=/dashboard/settings/people")
            await ada.page.get_by_label("E-mail").fill("ada@example.org")
            await ada.page.get_by_label("Password").fill(PASSWORD)
            await ada.page.get_by_role("button", name="Sign in").click()
            await expect(ada.page).to_have_url(re.compile("/settings/profile$"))
            sections = ada.page.get_by_role("navigation", name="Sections")
            await expect(sections.get_by_role("link", name="Import")).to_be_visible()
            await expect(sections.get_by_role("link", name="People")).to_have_count(0)
            await open_section(ada, "Models and mail")
            await expect(ada.page.get_by_text("Only the operator of this server can change this")).to_be_visible()
        await row.get_by_label("Role of ada@example.org").click()
        await page.get_by_role("option", name="Owner").click()
        await expect(row.get_by_label("Role of")).to_have_value("Owner")
        await row.get_by_role("button", name="Erase ada@example.org").click()
        sure = page.get_by_role("dialog")
        await expect(sure.get_by_role("button", name="Erase")).to_be_disabled()
        await sure.get_by_label("Type ada@example.org to confirm").fill("ada@example.org")
        await visitor.accessible()
        await sure.get_by_role("button", name="Erase").click()
        await expect(row).to_have_count(0)
        assert [one["email"] for one in visitor.api.get("/v1/users").json()["items"]] == [visitor.email]
        await page.get_by_label("Name of the account").fill("The lab")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Saved")).to_be_visible()
        assert visitor.api.get("/v1/me").json()["account"]["name"] == "The lab"


async def test_data_is_deleted_and_told_on_a_phone_in_chinese(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server, viewport=NARROW, locale="zh-CN", color_scheme="dark") as visitor:
        page, api = visitor.page, visitor.api
        for text in ("one", "two"):
            api.post("/v1/memory/capsules", json={"content_md": text})
        await visitor.go("/dashboard/settings")
        await page.get_by_role("link", name="导入与导出").click()
        await expect(page).to_have_url(re.compile("/settings/import$"))
        await visitor.accessible()
        await page.get_by_role("button", name="全部删除").click()
        sure = page.get_by_role("dialog", name="删除全部胶囊？")
        await sure.get_by_label("输入 delete-all 以确认").fill("delete")
        await expect(sure.get_by_role("button", name="删除全部胶囊")).to_be_disabled()
        await sure.get_by_label("输入 delete-all 以确认").fill("delete-all")
        await visitor.accessible()
        await sure.get_by_role("button", name="删除全部胶囊").click()
        await expect(page.get_by_text("2 个胶囊已移入回收站")).to_be_visible()
        assert api.get("/v1/memory/usage").json()["count"] == 0
        await page.get_by_role("link", name="全部设置").click()
        await page.get_by_role("link", name="审计日志").click()
        await expect(page.get_by_text("删除了全部胶囊").first).to_be_visible()
        await visitor.accessible()


async def test_a_key_is_limited_and_says_so(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        place = visitor.api.post("/v1/workspaces", json={"name": "Harbour"}).json()["id"]
        await visitor.go("/dashboard/settings/keys")
        await page.get_by_role("button", name="New key").click()
        dialog = page.get_by_role("dialog", name="New key")
        await dialog.get_by_label("Name", exact=True).fill("reader")
        await dialog.get_by_role("switch", name="Only read").click()
        await dialog.get_by_role("combobox", name="What it opens").click()
        await page.get_by_role("option", name="Workspaces").click()
        await dialog.get_by_role("combobox", name="Where it reaches").fill("Harb")
        await page.get_by_role("option", name="Harbour").click()
        await dialog.get_by_label("Name", exact=True).click()
        await visitor.accessible()
        await dialog.get_by_role("button", name="Make key").click()
        key = await page.get_by_role("dialog", name="Your new key").get_by_label("reader").input_value()
        await page.get_by_role("button", name="I have copied it").click()
        row = page.get_by_role("listitem").filter(has_text="reader")
        for said in ("Only read", "Workspaces", "1 place"):
            await expect(row).to_contain_text(said)
        with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {key}"}) as client:
            assert [item["id"] for item in client.get("/v1/workspaces").json()["items"]] == [place]
            assert client.post(f"/v1/workspaces/{place}/memories", json={"content": "a"}).status_code == 403
            assert client.get("/v1/rooms").status_code == 403


async def test_a_second_factor_is_set_up_asked_for_and_turned_off(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/settings/profile")
        await page.get_by_label("New password").fill(PASSWORD)
        await page.get_by_role("button", name="Set password").click()
        await expect(page.get_by_label("Current password")).to_be_visible()
        await page.get_by_role("button", name="Set up").click()
        dialog = page.get_by_role("dialog", name="Second factor")
        await dialog.get_by_label("Password", exact=True).fill(PASSWORD)
        await dialog.get_by_role("button", name="Next").click()
        await expect(dialog.get_by_role("img", name="QR code of the secret")).to_be_visible()
        await visitor.accessible()
        secret = base64.b32decode(await dialog.get_by_label("Secret").input_value())

        def code(later: int) -> str:  # of this step or the next: it may be a step older when it arrives
            return code_at(secret, int(time.time()) // STEP_SECONDS + later)

        await dialog.get_by_label("Code").fill(code(0))
        await dialog.get_by_role("button", name="Turn on").click()
        recovery = (await dialog.get_by_label("Your recovery codes").inner_text()).split()
        assert len(recovery) == 10
        await visitor.accessible()
        await dialog.get_by_role("button", name="I have kept them").click()
        await expect(page.get_by_text("10 recovery codes are left.")).to_be_visible()

        await page.get_by_role("button", name="Sign out", exact=True).click()
        await expect(page.get_by_role("heading", name="Sign in to Keepstone")).to_be_visible()
        await page.get_by_label("E-mail").fill(visitor.email)
        await page.get_by_label("Password").fill(PASSWORD)
        visitor.allow("401")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_label("Code")).to_be_focused()
        await visitor.accessible()
        await page.get_by_label("Code").fill("000000")
        await page.get_by_label("Code").press("Enter")
        await expect(page.get_by_role("alert")).to_contain_text("This code is not right")
        await page.get_by_label("Code").fill(code(1))
        await page.get_by_label("Code").press("Enter")
        await expect(page).to_have_url(f"{server.url}/dashboard/recall")

        await visitor.go("/dashboard/settings/profile")
        await page.get_by_role("button", name="Turn off").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Password", exact=True).fill(PASSWORD)
        await dialog.get_by_label("Code").fill(recovery[0])
        await dialog.get_by_role("button", name="Turn off").click()
        await expect(page.get_by_role("button", name="Set up")).to_be_visible()
        await page.get_by_role("button", name="Sign out everywhere else").click()
        await expect(page.get_by_text("You are signed out everywhere else.")).to_be_visible()
