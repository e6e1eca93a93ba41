"""⌘K and the keyboard: from anywhere to anything, and what single keys do."""

import re
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from browser import NARROW, Held, Visitor, visiting
from live import Live


@pytest.fixture
def server(dashboard: Live) -> Live:
    return dashboard


def fill(visitor: Visitor) -> dict[str, str]:
    """Something of every kind about a lighthouse; ids by what they are."""
    api = visitor.api

    def post(path: str, **body: Any) -> Any:
        return api.post(path, json=body).raise_for_status().json()

    place = post("/v1/workspaces", name="Coast")["id"]
    post("/v1/agents", slug="keeper", name="Keeper", instructions="Be brief.")
    post("/v1/ingest", scope_id="lighthouse-crew", transcript=[{"speaker": "Ada", "text": "The lamp was mended."}])
    file = {"file": ("lighthouse-plan.txt", b"Stairs, lamp and gallery.", "text/plain")}
    return {
        "capsule": post("/v1/memory/capsules", title="Lighthouse visit", content_md="Open on Sundays.")["id"],
        "chat": post("/v1/chats", title="Painting the lighthouse", workspace_id=place)["id"],
        "memory": post(f"/v1/workspaces/{place}/memories", content="Ada repaired the lighthouse lamp.")["id"],
        "document": api.post(f"/v1/workspaces/{place}/files", files=file).raise_for_status().json()["id"],
        "room": post("/v1/rooms", name="Lighthouse watch", agents=["keeper"])["id"],
        "node": post("/v1/graphs/default/nodes", content="The lighthouse stands on the cape.", node_type="fact")["id"],
        "place": place,
    }


async def search(page: Page, text: str) -> Locator:
    await page.keyboard.press("Control+k")
    field = page.get_by_role("textbox", name="Search everything")
    await field.fill(text)
    return page.get_by_role("dialog", name="Search")


async def choose(page: Page, text: str, group: str, name: str) -> None:
    found = await search(page, text)
    await found.get_by_role("group", name=group).get_by_role("button", name=re.compile(name)).click()
    await expect(found).to_have_count(0)


async def test_pages_and_actions_come_first_and_do_what_they_say(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        kept = {"title": "Settings of the old radio", "content_md": "Long wave."}
        visitor.api.post("/v1/memory/capsules", json=kept).raise_for_status()
        await visitor.go("/dashboard/recall")
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        found = await search(page, "settings")
        await expect(found.get_by_role("button", name="Settings of the old radio")).to_be_visible()
        await page.keyboard.press("Enter")
        await expect(page).to_have_url(re.compile("/dashboard/settings"))
        await search(page, "new caps")
        await page.keyboard.press("Enter")
        making = page.get_by_role("dialog")
        await expect(making.get_by_role("textbox").first).to_be_visible()
        await expect(page).to_have_url(re.compile("/dashboard/recall$"))
        await page.keyboard.press("Escape")
        await expect(making).to_have_count(0)
        await search(page, "深色")
        await page.keyboard.press("Enter")
        await expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
        await search(page, "new room")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("dialog").get_by_role("textbox").first).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_have_count(0)
        found = await search(page, "")
        await expect(found.get_by_role("group", name="Where you were")).to_be_visible()
        await expect(found.get_by_role("button", name="New capsule")).to_be_visible()
        await visitor.accessible()
        await page.get_by_role("textbox", name="Search everything").fill("keyboard")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()


async def test_everything_is_found_by_kind_and_opened_where_it_is(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server, viewport={"width": 1500, "height": 900}) as visitor:
        page, made = visitor.page, fill(visitor)
        await visitor.go("/dashboard/recall")
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        found = await search(page, "lighth")
        for group in ("Capsules", "Chats", "Memories", "Files and artifacts", "Rooms and agents", "Nodes", "Scopes"):
            await expect(found.get_by_role("group", name=group)).to_be_visible()
        await expect(found.locator("mark").first).to_have_text(re.compile("lighthouse", re.IGNORECASE))
        await visitor.accessible()
        await page.keyboard.press("Escape")
        for text, group, name, address in (
            ("lighth", "Capsules", "Lighthouse visit", f"recall.capsule={made['capsule']}"),
            ("lighth", "Chats", "Painting the lighthouse", f"playground/{made['chat']}"),
            ("lighth", "Rooms and agents", "Lighthouse watch", f"rooms.room={made['room']}"),
            ("keeper", "Rooms and agents", "Keeper", r"rooms.dm=keeper"),
            ("lighth", "Nodes", "stands on the cape", f"graphs.graph=.*node={made['node']}"),
            ("lighth", "Scopes", "lighthouse-crew", r"scopes.scope=lighthouse-crew"),
            ("lighth", "Memories", "Ada repaired", f"workspace={made['place']}.*memory={made['memory']}"),
            (
                "lighth",
                "Files and artifacts",
                "lighthouse-plan",
                f"side=files.*show={made['document']}",
            ),
        ):
            await choose(page, text, group, name)
            await expect(page).to_have_url(re.compile(address))
        files = page.get_by_role("complementary").locator("[data-shown]")
        await expect(files).to_contain_text("lighthouse-plan.txt")


async def test_nothing_found_is_said_once_it_is_true_and_an_old_answer_never_takes_the_place_of_a_newer(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        fill(visitor)
        await visitor.go("/dashboard/recall")
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        late = Held(answered=True)
        await page.route(re.compile(r"/v1/find\?q=zeppelin"), late)
        async with page.expect_request(re.compile(r"/v1/find\?q=zeppelin")):
            found = await search(page, "zeppelin")
        await late.fetched()
        await expect(found.get_by_text("Nothing found")).to_have_count(0)
        await page.get_by_role("textbox", name="Search everything").fill("lighthouse v")
        visit = found.get_by_role("button", name="Lighthouse visit")
        await expect(visit).to_be_visible()
        late.release()
        await expect(found.get_by_label("Searching…")).to_have_count(0)
        await expect(visit).to_be_visible()
        await page.get_by_role("textbox", name="Search everything").fill("qqzzyy")
        await expect(found.get_by_text("Nothing found")).to_be_visible()
        await expect(visit).to_have_count(0)
        await visitor.accessible()


async def test_single_keys_work_but_not_while_one_writes_and_can_be_switched_off(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        for number in range(3):
            kept = {"title": f"Buoy {number}", "content_md": f"Buoy number {number} is red."}
            visitor.api.post("/v1/memory/capsules", json=kept).raise_for_status()
        await visitor.go("/dashboard/recall")
        rows = page.locator("main [data-row]")
        await expect(rows).to_have_count(3)
        await page.keyboard.press("j")
        await expect(rows.nth(0)).to_be_focused()
        await page.keyboard.press("j")
        await expect(rows.nth(1)).to_be_focused()
        await page.keyboard.press("k")
        await expect(rows.nth(0)).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("dialog")).to_contain_text("Buoy number 2")
        await page.keyboard.press("j")
        await expect(page.get_by_role("dialog")).to_contain_text("Buoy number 1")
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await page.keyboard.press("/")
        field = page.get_by_role("searchbox")
        await expect(field).to_be_focused()
        await page.keyboard.type("n?j")
        await expect(field).to_have_value("n?j")
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await field.fill("")
        await field.blur()
        await page.keyboard.press("n")
        await expect(page.get_by_role("dialog").get_by_role("textbox").first).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await page.keyboard.press("?")
        help_sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
        await expect(help_sheet).to_be_visible()
        await visitor.accessible()
        await page.keyboard.press("n")  # behind a dialog nothing is made
        await expect(page.get_by_role("dialog")).to_have_count(1)
        await help_sheet.get_by_role("switch").uncheck()
        await page.keyboard.press("Escape")
        await expect(help_sheet).to_have_count(0)
        await page.keyboard.press("n")
        await page.keyboard.press("?")
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await page.reload()
        await expect(rows).to_have_count(3)
        await page.keyboard.press("?")
        await page.keyboard.press("Control+k")
        await expect(page.get_by_role("dialog", name="Search")).to_be_visible()
        await expect(help_sheet).to_have_count(0)
        await page.keyboard.press("Escape")
        await visitor.go("/dashboard/quorum")
        await expect(page.get_by_role("heading", level=1)).to_be_visible()


async def test_on_a_phone_in_chinese_and_in_the_dark(chromium: Browser, server: Live) -> None:
    async with visiting(
        chromium, server, viewport=NARROW, has_touch=True, locale="zh-CN", color_scheme="dark"
    ) as visitor:
        page = visitor.page
        fill(visitor)
        await visitor.go("/dashboard/recall")
        await page.get_by_role("button", name="搜索", exact=True).click()
        found = page.get_by_role("dialog", name="搜索")
        await page.get_by_role("textbox", name="搜索全部内容").fill("lighthouse")
        await expect(found.get_by_role("group", name="胶囊")).to_be_visible()
        small = await found.get_by_role("button").evaluate_all(
            "all => all.filter(one => one.getBoundingClientRect().height < 43.5).map(one => one.outerHTML)"
        )
        assert not small
        wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
        await visitor.accessible()
        await page.get_by_role("textbox", name="搜索全部内容").fill("设置")
        await page.keyboard.press("Enter")
        await expect(page).to_have_url(re.compile("/dashboard/settings"))
