"""Recall: keeping something, finding it again, reading and changing it, and seeing all of it over time and on a map."""

import json
import random
import re
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, Locator, Page, expect

from browser import NARROW, Held, Visitor, visiting
from live import Live

CAPSULES = "/v1/memory/capsules"
SUBJECTS = {
    "ferry": ("The ferry to the island", "Boats leave the harbour at nine; tickets are sold on the pier."),
    "bread": ("Sourdough bread", "The dough rests overnight in the cold and is baked with steam in the morning."),
    "login": ("Hosted login", "We decided to pay for hosted accounts, because nobody has to run them."),
}
MANY = 240


@pytest.fixture
def server(dashboard: Live) -> Live:
    return dashboard


def wait_for_meaning(api: httpx.Client) -> None:
    """Until the models are read, which the first capsule begins: before that, nothing is seen to be the same."""
    keep(api, "The first one.")
    deadline = time.monotonic() + 60
    while not api.get("/readyz").json()["embedder"]["details"]["models"]:
        assert time.monotonic() < deadline, "the models were not read within a minute"
        time.sleep(0.1)
    empty(api)


def keep(api: httpx.Client, content: str, **more: Any) -> Any:
    answer = api.post(CAPSULES, json={"content_md": content, **more})
    assert answer.status_code == 201, answer.text
    return answer.json()


def empty(api: httpx.Client) -> None:
    assert api.post(f"{CAPSULES}/delete-all", json={"confirm": "delete-all"}).status_code == 200


def allow_bytes(api: httpx.Client, quota: int | None) -> None:
    user = api.get("/v1/me").json()["user"]["id"]
    assert api.patch(f"/x_console/api/users/{user}", json={"quota_bytes": quota}).status_code == 200


def read_in(api: httpx.Client, many: int) -> None:
    """Capsules of three subjects, of the last year, by way of an archive: each alone would take long."""
    chance = random.Random(7)
    capsules = []
    for number in range(many):
        tag = list(SUBJECTS)[number % 3]
        title, text = SUBJECTS[tag]
        time = (datetime.now(UTC) - timedelta(hours=number * 24 * 365 / many)).isoformat()
        capsules.append({
            "id": "cap_" + "".join(chance.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=24)),
            "title": f"{title}, part {number}", "content_md": f"{text} This is **note {number}**.",
            "kind": "decision" if tag == "login" else "note", "tags": [tag],
            "created_at": time, "updated_at": time, "accessed_at": time,
        })  # fmt: skip
    answer = api.post("/v1/memory/import", json={"format": "keepstone-archive", "version": 1, "capsules": capsules})
    assert answer.json() == {"imported": many, "skipped": 0}


def rows(page: Page) -> Locator:
    return page.get_by_role("article")


async def write(visitor: Visitor, content: str, title: str = "") -> Locator:
    """A new capsule, in its sheet, not yet saved."""
    await visitor.page.get_by_role("button", name="New capsule").first.click()
    sheet = visitor.page.get_by_role("dialog", name="New capsule")
    await sheet.get_by_label("Content").fill(content)
    if title:
        await sheet.get_by_role("textbox", name="Title").fill(title)
    return sheet


async def test_a_newcomer_is_welcomed_and_the_first_capsule_is_celebrated_once(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/recall")
        await expect(page.get_by_role("region", name="Welcome to Keepstone")).to_be_visible()
        await visitor.accessible()

        sheet = await write(visitor, "The ferry to the island leaves at nine.")
        await visitor.accessible()
        await page.keyboard.press("Escape")
        await (
            page.get_by_role("dialog", name="Discard your changes?").get_by_role("button", name="Keep writing").click()
        )
        await sheet.get_by_role("button", name="Suggest a title").click()
        await expect(sheet.get_by_role("textbox", name="Title")).to_have_value(re.compile("ferry"))
        await sheet.get_by_label("Tags").fill("trip")
        await sheet.get_by_label("Tags").press("Enter")
        await sheet.get_by_label("Kind").fill("Decision")
        await page.keyboard.press("Escape")
        await sheet.get_by_role("button", name="Save capsule").click()
        cheer = page.get_by_role("dialog", name="Your first capsule")
        await expect(cheer).to_contain_text("keeps its place")
        await visitor.accessible()
        await cheer.get_by_role("button", name="Carry on").click()
        await expect(rows(page)).to_have_count(1)
        await expect(rows(page)).to_contain_text("#trip")
        [kept] = visitor.api.get(CAPSULES).json()["items"]
        assert (kept["kind"], kept["tags"]) == ("decision", ["trip"])

        sheet = await write(visitor, "Rye bread needs a long rest.", title="Rye")
        await sheet.get_by_role("button", name="Save capsule").click()
        await expect(page.get_by_text("Saved. You have 2 capsules now.")).to_be_visible()
        await page.get_by_role("link", name="Open in Recall").click()
        await expect(page.get_by_role("dialog", name="Rye")).to_contain_text("long rest")
        await expect(cheer).to_have_count(0)


async def test_what_is_nearly_the_same_can_be_merged_and_what_does_not_fit_is_said_in_the_sheet(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        empty(visitor.api)
        wait_for_meaning(visitor.api)
        text = "The boat to the island leaves on the 14th of June, and tickets are sold at the harbour."
        old = keep(visitor.api, text, title="Ferry to the island")
        await visitor.go("/dashboard/recall")
        sheet = await write(visitor, text + " (second)", title="Ferry to the island")
        await sheet.get_by_role("button", name="Save capsule").click()
        await expect(sheet.get_by_text("Looks like one you have")).to_be_visible()
        await expect(sheet.get_by_role("button", name="Save anyway")).to_be_visible()
        assert len(visitor.api.get(CAPSULES).json()["items"]) == 1, "it is said before anything is saved"
        await visitor.accessible()
        await sheet.get_by_role("button", name="Add to this one: “Ferry to the island”").click()
        await expect(page.get_by_text("Merged into “Ferry to the island”.")).to_be_visible()
        [kept] = visitor.api.get(CAPSULES).json()["items"]
        assert kept["id"] == old["id"]
        assert "(second)" in kept["content_md"]

        allow_bytes(visitor.api, 9_000)
        visitor.allow("429|413")
        try:
            sheet = await write(visitor, "One too many.")
            await sheet.get_by_role("button", name="Save capsule").click()
            await expect(sheet.get_by_role("alert")).to_contain_text("Your memory is full")
            await expect(sheet.get_by_role("link", name="See plans")).to_have_attribute("href", f"{server.url}/pricing")
            await expect(page.get_by_role("progressbar", include_hidden=True).first).to_be_attached()
            await visitor.accessible()
            await sheet.get_by_label("Content").fill("x" * 1_100_000)
            await sheet.get_by_role("button", name="Save capsule").click()
            await expect(sheet.get_by_role("alert")).to_contain_text("too large for one capsule")
            await sheet.get_by_role("button", name="Cancel").click()
            await page.get_by_role("button", name="Discard").click()
            await expect(sheet).to_have_count(0)
        finally:
            allow_bytes(visitor.api, None)


async def test_a_capsule_is_read_changed_brought_back_to_an_old_version_merged_deleted_and_restored(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server, permissions=["clipboard-read", "clipboard-write"]) as visitor:
        page, api = visitor.page, visitor.api
        empty(api)
        wait_for_meaning(api)
        ferry = keep(api, "It **leaves** at nine from the harbour.<script>alert(1)</script>", title="Ferry",
                     tags=["trip"], source={"chat_id": "chat_" + "a" * 24})  # fmt: skip
        keep(api, "The ferry leaves at nine from the harbour. Tickets cost 12 euros.", title="Ferry tickets")
        await visitor.go(f"/dashboard/recall?capsule={ferry['id']}")
        sheet = page.get_by_role("dialog", name="Ferry", exact=True)
        await expect(sheet.locator("strong")).to_have_text("leaves")
        await expect(sheet.get_by_role("link", name="Open the chat it came from")).to_have_attribute(
            "href", "/dashboard/playground/chat_" + "a" * 24
        )
        await visitor.accessible()
        await sheet.get_by_role("button", name="Copy as Markdown").click()
        await expect(sheet.get_by_role("button", name="Copied")).to_be_visible()
        await visitor.copied(lambda text: text.startswith("# Ferry\n\nIt **leaves**"))

        await sheet.get_by_role("button", name="Edit").click()
        await sheet.get_by_label("Content").fill("It leaves at *ten*.")
        await visitor.accessible()
        await sheet.get_by_role("button", name="Close").click()
        ask = page.get_by_role("dialog", name="Discard your changes?")
        await ask.get_by_role("button", name="Keep writing").click()
        await expect(sheet.get_by_label("Content")).to_have_value("It leaves at *ten*.")
        await sheet.get_by_role("button", name="Save").click()
        await expect(sheet.locator("em")).to_have_text("ten")
        await expect(rows(page).filter(has_text="It leaves at ten")).to_have_count(1)

        await sheet.get_by_role("tab", name="History").click()
        await sheet.get_by_role("button", name="Version 1").click()
        await expect(sheet.locator("strong")).to_have_text("leaves")
        await visitor.accessible()
        await sheet.get_by_role("button", name="Restore this version").click()
        await expect(page.get_by_text("Version 1 is back.")).to_be_visible()
        await expect(sheet.locator("strong")).to_have_text("leaves")
        assert [one["version"] for one in api.get(f"{CAPSULES}/{ferry['id']}/history").json()["items"]] == [3, 2, 1]

        await sheet.get_by_role("button", name="Merge “Ferry tickets” into this one").click()
        await page.get_by_role("dialog", name="Merge these two?").get_by_role("button", name="Merge").click()
        await expect(sheet.get_by_text("12 euros")).to_be_visible()
        await expect(rows(page)).to_have_count(1)

        await sheet.get_by_role("button", name="Delete").click()
        await expect(sheet).to_have_count(0)
        await page.get_by_role("alert").filter(has_text="trash").get_by_role("button", name="Undo").click()
        await expect(rows(page)).to_have_count(1)
        assert api.get(f"{CAPSULES}/{ferry['id']}").status_code == 200

        # What was still being asked of it is not asked for any more: nothing says that it is not found.
        late = Held()
        await page.route(f"**{CAPSULES}/{ferry['id']}", late)
        async with page.expect_request(f"**{CAPSULES}/{ferry['id']}"):
            await rows(page).get_by_role("link", name="Ferry").click()
        await sheet.get_by_role("button", name="Delete").click()
        await expect(sheet).to_have_count(0)
        late.release()
        await page.get_by_role("main").get_by_role("link", name="Trash").click()
        await page.get_by_role("button", name="Ferry Deleted").click()
        await expect(page.get_by_text("gone for good on").first).to_be_visible()
        await expect(page.locator("strong")).to_have_text("leaves")
        await visitor.accessible()
        await page.get_by_role("button", name="Restore “Ferry”").click()
        await expect(page.get_by_text("“Ferry” is back.")).to_be_visible()
        await page.get_by_role("link", name="Back to all capsules").click()
        await expect(rows(page)).to_have_count(1)

        visitor.allow("404")
        await visitor.go("/dashboard/recall?capsule=cap_" + "0" * 24)
        await expect(page.get_by_role("heading", name="This capsule is not here any more")).to_be_visible()
        await page.get_by_role("link", name="Look in the trash").click()
        await expect(page.get_by_role("heading", name="Trash")).to_be_visible()


async def test_what_was_moved_to_the_cold_tier_can_be_recovered(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page, api = visitor.page, visitor.api
        empty(api)
        keep(api, "An old thought about sailing.", title="Sailing")
        api.patch("/v1/me", json={"cold_tier": True})
        allow_bytes(api, 9_000)
        try:
            keep(api, "A new thought about bread.", title="Bread")
            allow_bytes(api, None)
            await visitor.go("/dashboard/recall")
            await page.get_by_role("link", name="Cold tier 1").click()
            await visitor.accessible()
            await page.get_by_role("button", name="Recover “Sailing”").click()
            await expect(page.get_by_role("heading", name="Nothing is in the cold tier")).to_be_visible()
            await page.get_by_role("link", name="Back to all capsules").click()
            await expect(rows(page)).to_have_count(2)
        finally:
            allow_bytes(api, None)
            api.patch("/v1/me", json={"cold_tier": False})


def hold_many(api: httpx.Client) -> None:
    """Whichever test was before."""
    if api.get("/v1/memory/usage").json()["count"] != MANY:
        empty(api)
        read_in(api, MANY)
    deadline = time.monotonic() + 60
    while api.get("/readyz").json()["pending_embeddings"]:
        assert time.monotonic() < deadline, "they were not read within a minute"
        time.sleep(0.1)


async def test_many_capsules_are_listed_by_month_with_few_rows_in_the_page_and_found_by_words_meaning_and_filters(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page, api = visitor.page, visitor.api
        empty(api)
        keep(api, "Nothing yet.", title="Alone")
        await visitor.go("/dashboard/recall?view=constellation")
        await expect(page.get_by_text("29 more capsules, and it is drawn.")).to_be_visible()
        await visitor.accessible()
        empty(api)
        read_in(api, MANY)

        await visitor.go("/dashboard/recall")
        month = page.get_by_role("heading", level=2).first.get_by_role("button")
        await expect(month).to_have_attribute("aria-expanded", "true")
        await visitor.accessible()
        first = rows(page).filter(has_text="part 0").first
        await month.click()
        await expect(first).to_have_count(0)
        await month.click()
        await expect(first).to_be_visible()
        last = rows(page).filter(has_text=f"part {MANY - 1}")
        for _ in range(60):
            await page.keyboard.press("End")
            await page.evaluate("new Promise(requestAnimationFrame)")
            if await last.count():
                break
            await page.wait_for_load_state("networkidle")
        await expect(last).to_be_visible()
        assert await rows(page).count() < 40, "what is not seen is not in the page"
        await page.keyboard.press("Home")

        await rows(page).first.get_by_role("button", name="Show only #").click()
        await expect(page).to_have_url(re.compile("tag="))
        await page.get_by_role("button", name="Remove filter: #").click()
        await expect(page).not_to_have_url(re.compile("tag="))

        await page.get_by_role("searchbox", name="Search your capsules").fill("part 17")
        await page.get_by_text("Words", exact=True).click()
        await expect(page.get_by_text("1 found")).to_be_visible()
        await expect(rows(page).locator("mark").first).to_have_text(re.compile("part|17"))
        await page.reload()
        await expect(rows(page)).to_have_count(1)

        await page.get_by_role("searchbox").fill("managing passwords ourselves")
        await expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()
        await visitor.accessible()
        await page.get_by_role("button", name="Search by meaning").click()
        await expect(rows(page).first).to_contain_text("Hosted login")
        await expect(rows(page).first).to_contain_text("Relevance")
        await visitor.accessible()

        await page.get_by_role("button", name="Filters").click()
        await page.get_by_label("Kind", exact=True).first.click()
        await page.get_by_role("option", name=re.compile(r"^Note \(")).click()
        await page.get_by_label("From").fill("2001-01-01")
        await page.get_by_label("To", exact=True).fill("2001-12-31")
        await expect(page.locator("[aria-busy=true]")).to_have_count(0)  # what is old is dimmed
        await visitor.accessible()
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()
        await page.get_by_role("button", name="Clear the filters").click()
        await expect(rows(page).first).to_contain_text("Hosted login")


async def test_below_a_title_stands_what_goes_on_and_never_a_lone_full_stop(chromium: Browser, server: Live) -> None:
    """A title that was made is the first sentence without its mark."""
    async with visiting(chromium, server) as visitor:
        page, api = visitor.page, visitor.api
        empty(api)
        keep(api, "The ferry leaves at nine.", title="The ferry leaves at nine")
        keep(api, "We use Clerk. It costs 25 dollars.", title="We use Clerk")
        await visitor.go("/dashboard/recall")
        for title, below in (("ferry", "The ferry leaves at nine."), ("Clerk", "It costs 25 dollars.")):
            excerpt = rows(page).filter(has_text=title).locator("[class*=excerpt]")
            await expect(excerpt).to_have_text(below)


async def test_nothing_found_is_not_said_of_a_question_that_waits_for_its_answer(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        keep(visitor.api, "The boat leaves at nine.", title="Boat")
        await visitor.go("/dashboard/recall?mode=literal&q=zeppelin")
        nothing = page.get_by_role("heading", name="Nothing found")
        await expect(nothing).to_be_visible()
        late = Held()
        await page.route(re.compile(r"/v1/memory/capsules\?.*q=boat"), late)
        async with page.expect_request(re.compile("q=boat")):
            await page.get_by_role("searchbox", name="Search your capsules").fill("boat")
        await expect(nothing).to_have_count(0)
        await expect(page.get_by_role("status", name="Loading…")).to_be_visible()
        late.release()
        await expect(rows(page)).to_have_count(1)


async def test_a_period_is_chosen_on_the_timeline_and_a_capsule_on_the_map(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page, api = visitor.page, visitor.api
        hold_many(api)
        await visitor.go("/dashboard/recall?view=timeline")
        band = page.get_by_role("img", name=f"Capsules over time: {MANY}")
        await expect(band.locator("canvas")).to_be_visible()
        await expect(band).to_have_attribute("aria-busy", "false")
        await expect(rows(page).first).to_be_visible()
        await visitor.accessible()
        box = await band.bounding_box()
        assert box
        await page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 60)
        await page.mouse.down()
        await page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 70, steps=5)
        await page.mouse.up()
        await expect(page).to_have_url(re.compile(r"from=\d{4}-\d\d-\d\d&to="))
        dragged = page.url
        await expect(page.get_by_text("found")).to_be_visible()
        await expect(band).to_have_attribute("aria-busy", "false")
        await page.mouse.click(box["x"] + box["width"] * 0.8, box["y"] + 80)
        await expect(page).not_to_have_url(dragged)
        await page.get_by_role("button", name="Show all of it").click()
        await expect(page).not_to_have_url(re.compile("from="))
        await page.get_by_role("button", name="bread", exact=True).click()
        await expect(page).to_have_url(re.compile("tag=bread"))

        await page.get_by_text("Constellation", exact=True).click()
        sky = page.get_by_role("img", name="Map of")
        await expect(sky).to_have_attribute("data-view", re.compile("across"))
        await visitor.accessible()
        found = api.get(f"{CAPSULES}/constellation").json()
        sheet = page.get_by_role("dialog")
        await sky.click(position=await place_of(sky, found["points"][0]))
        await expect(sheet).to_contain_text("This is note")
        await page.keyboard.press("Escape")
        await sky.focus()
        await sky.press("ArrowRight")
        await sky.press("Enter")
        await expect(sheet).to_contain_text("This is note")
        await page.keyboard.press("Escape")


async def test_the_map_is_searched_wound_back_and_drawn_anew(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page, api = visitor.page, visitor.api
        wait_for_meaning(api)
        hold_many(api)
        await visitor.go("/dashboard/recall?view=constellation")
        sky = page.get_by_role("img", name=f"Map of {MANY}")
        await expect(sky).to_be_visible(timeout=90_000)  # a job draws the map
        clusters = page.locator("section", has=page.get_by_role("heading", name="Clusters"))
        whole = await sky.get_attribute("data-view")

        search = page.get_by_role("searchbox", name="Find on the map")
        title = api.get(f"{CAPSULES}/constellation").json()["points"][0]["title"]
        await search.fill(title)
        await expect(page.get_by_text(re.compile(r"^\d+ stars?$"))).to_be_visible()
        await search.press("Enter")
        await expect(page.get_by_text(re.compile(r"^1 of \d+$"))).to_be_visible()
        await expect(sky).not_to_have_attribute("data-view", str(whole))
        await search.press("Escape")
        await expect(search).to_have_value("")

        moment = page.get_by_role("slider", name="Until when")
        await moment.press("Home")
        await expect(page.get_by_text("had been kept by then")).to_be_visible()
        await moment.press("End")
        await clusters.get_by_role("button").first.click()
        await clusters.get_by_role("link").first.click()
        await expect(page.get_by_role("dialog")).to_contain_text("This is note")
        await page.keyboard.press("Escape")

        keep(api, "A zeppelin crossed the bay at noon.", title="Zeppelin")
        await visitor.go("/dashboard/recall?view=constellation")
        await expect(page.get_by_text("1 capsule has come since this map was drawn.")).to_be_visible()
        await page.get_by_role("button", name="Draw it anew").click()
        await expect(page.get_by_role("img", name=f"Map of {MANY + 1}")).to_be_visible(timeout=90_000)
        await expect(page.get_by_text("since this map was drawn")).to_have_count(0)


async def place_of(sky: Locator, star: dict[str, Any]) -> Any:
    """Where a star is drawn, by what the map says of the part of it that is seen."""
    box = await sky.bounding_box()
    view = json.loads(await sky.get_attribute("data-view") or "")
    assert box
    return {
        "x": box["width"] / 2 + (star["x"] - view["x"]) * view["across"],
        "y": box["height"] / 2 + (-star["y"] - view["y"]) * view["down"],
    }


async def test_it_works_on_a_phone_in_the_dark_and_in_chinese(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server, viewport=NARROW, color_scheme="dark", locale="zh-CN") as visitor:
        page = visitor.page
        wait_for_meaning(visitor.api)
        hold_many(visitor.api)
        await visitor.go("/dashboard/recall?q=ferry")
        await expect(page.get_by_role("heading", level=1, name="回忆")).to_be_visible()
        await expect(rows(page).first).to_contain_text("相关度")
        await visitor.accessible()
        await rows(page).first.get_by_role("link").click()
        sheet = page.get_by_role("dialog")
        await expect(sheet.get_by_role("button", name="编辑")).to_be_visible()
        await visitor.accessible()
        await sheet.get_by_role("button", name="关闭").click()
        for view, name in (("timeline", "胶囊随时间的分布"), ("constellation", "个胶囊的星图")):
            await visitor.go(f"/dashboard/recall?view={view}")
            await expect(page.get_by_role("img", name=name)).to_be_visible(timeout=90_000)  # a job draws the map
            await visitor.accessible()
            wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, f"{view} is wider than the phone by {wide} pixels"
