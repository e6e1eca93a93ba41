"""One browser of all memory and one trash: every kind is listed, filtered, corrected, deleted and brought back."""

import re
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, Locator, Page, expect

from browser import HUGE, NARROW, Visitor, visiting
from live import Live

CAPSULES = "/v1/memory/capsules"


@pytest.fixture
def server(dashboard: Live) -> Live:
    return dashboard


def made(answer: httpx.Response) -> Any:
    assert answer.is_success, answer.text
    return answer.json()


def fill(api: httpx.Client) -> None:
    """Something of most kinds."""
    made(api.post(CAPSULES, json={"title": "Ferry times", "content_md": "The ferry leaves at nine."}))
    workspace = made(api.post("/v1/workspaces", json={"name": "Harbour office"}))["id"]
    made(api.post(f"/v1/workspaces/{workspace}/memories", json={"content": "Tickets are sold on the pier."}))
    made(api.post("/v1/agents", json={"slug": "pilot", "name": "Pilot", "context_window": 8000, "instructions": "-"}))
    room = made(api.post("/v1/rooms", json={"name": "Captains", "agents": ["pilot"]}))["id"]
    made(api.post(f"/v1/rooms/{room}/landmarks", json={"text": "We sail on Fridays."}))
    user = api.get("/v1/me").json()["user"]["id"]
    made(api.post(f"/v1/profiles/{user}/memories", json={"text": "I get seasick easily."}))
    graph = made(api.post("/v1/graphs", json={"name": "Harbours"}))["id"]
    made(api.post(f"/v1/graphs/{graph}/nodes", json={"content": "The pier was built in 1911.", "node_type": "fact"}))
    said = [{"role": "user", "content": "Anna likes the upper deck."}]
    made(api.post("/v3/memories/add/", json={"messages": said, "user_id": "anna", "app_id": "deck", "infer": False}))
    item = {"namespace": ["ships", "north"], "key": "aurora", "value": {"berths": 42}}
    made(api.put("/v1/stores/fleet/items", json=item))


def rows(page: Page) -> Locator:
    return page.get_by_role("region", name="Memories").get_by_role("article")


async def choose(visitor: Visitor, label: str, option: str) -> None:
    await visitor.page.get_by_role("combobox", name=label, exact=True).click()
    await visitor.page.get_by_role("option", name=option).click()


async def test_all_kinds_of_memory_are_browsed_filtered_corrected_and_deleted_in_one_page(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server, viewport=HUGE) as visitor:
        page, api = visitor.page, visitor.api
        fill(api)
        await visitor.go("/dashboard/memory")
        await expect(rows(page)).to_have_count(7)
        await expect(page.get_by_text("7 memories, of every kind")).to_be_visible()
        for name in ("Harbour office", "Captains", "Harbours", "mem0 · anna · deck", "Store fleet", "Your profile"):
            await expect(rows(page).filter(has_text=name)).to_have_count(1)
        assert await page.locator("[data-row]").count() == 7
        await visitor.accessible()

        # Each filter says how many it leaves, under the others.
        await choose(visitor, "Source", "Kept by a program (2)")
        await expect(rows(page)).to_have_count(2)
        await choose(visitor, "Person", "anna (1)")
        await expect(rows(page)).to_have_count(1)
        await expect(rows(page)).to_contain_text("upper deck")
        await page.get_by_role("button", name="Filters").click()
        await page.get_by_role("button", name="Clear all filters").click()
        await page.keyboard.press("Escape")
        await page.get_by_role("searchbox", name="Search all memory for words").fill("pier SOLD")
        await expect(rows(page)).to_have_count(1)
        await page.get_by_role("button", name="Clear the search").click()
        await expect(rows(page)).to_have_count(7)

        await rows(page).filter(has_text="Aurora".lower()).click()
        sheet = page.get_by_role("dialog", name="Store item")
        await expect(sheet).to_contain_text('"berths": 42')
        await sheet.get_by_role("button", name="Edit").click()
        await sheet.get_by_label("Text").fill("[1]")
        await sheet.get_by_role("button", name="Save").click()
        await expect(sheet.get_by_role("alert")).to_contain_text("no JSON object")
        await sheet.get_by_label("Text").fill('{"berths": 43}')
        await sheet.get_by_role("button", name="Save").click()
        await expect(sheet).to_contain_text('"berths": 43')
        await expect(sheet.get_by_role("button", name=re.compile("Version 1"))).to_be_visible()
        await visitor.accessible()

        for text, kind, words in (
            ("seasick", "About you", "I like the sea by now."),
            ("Fridays", "Landmark", "We sail on Mondays."),
            ("1911", "Graph node", "The pier was built in 1912."),
            ("upper deck", "mem0 memory", "Anna likes the lower deck."),
            ("Tickets", "Workspace memory", "Tickets are sold on board."),
            ("Ferry times", "Capsule", "The ferry leaves at ten."),
        ):
            await rows(page).filter(has_text=text).click()
            sheet = page.get_by_role("dialog", name=kind)
            await sheet.get_by_role("button", name="Edit").click()
            await sheet.get_by_label("Text").fill(words)
            await sheet.get_by_role("button", name="Save").click()
            await expect(sheet.get_by_role("button", name=re.compile("Version 2"))).to_be_visible()
            await expect(rows(page).filter(has_text=words)).to_have_count(1)
            await sheet.get_by_role("button", name="Delete").click()
            await expect(rows(page).filter(has_text=words)).to_have_count(0)
        await expect(rows(page)).to_have_count(1)
        await page.get_by_role("alert").filter(has_text="Ferry times").get_by_role("button", name="Undo").click()
        await expect(rows(page).filter(has_text="Ferry times")).to_have_count(1)

        await page.get_by_role("link", name="Trash").last.click()
        gone = page.get_by_role("region", name="Deleted")
        await expect(gone.get_by_role("listitem")).to_have_count(5)


async def test_what_was_deleted_anywhere_is_brought_back_from_one_trash(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server, viewport=NARROW) as visitor:
        page, api = visitor.page, visitor.api
        await visitor.go("/dashboard/trash")
        await expect(page.get_by_role("heading", name="The trash is empty")).to_be_visible()
        await visitor.accessible()

        room = made(api.post("/v1/rooms", json={"name": "Captains"}))["id"]
        chat = made(api.post("/v1/chats", json={"title": "About the ferry"}))["id"]
        project = made(api.post("/v1/projects", json={"name": "New pier"}))["id"]
        capsule = made(api.post(CAPSULES, json={"title": "Ferry times", "content_md": "At nine."}))["id"]
        paths = (f"/v1/rooms/{room}", f"/v1/chats/{chat}", f"/v1/projects/{project}", f"{CAPSULES}/{capsule}")
        for path in paths:
            assert api.delete(path).status_code == 204
        await page.reload()
        gone = page.get_by_role("region", name="Deleted", exact=True).get_by_role("listitem")
        await expect(gone).to_have_count(4)
        await expect(gone.filter(has_text="Ferry times")).to_contain_text(re.compile(r"by you.*30 days left"))
        await visitor.accessible()

        await page.get_by_role("combobox", name="Kind").click()
        await page.get_by_role("option", name="Project (1)").click()
        await expect(gone).to_have_count(1)
        await page.get_by_role("button", name="Restore New pier").click()
        await expect(page.get_by_text("“New pier” is back")).to_be_visible()
        await page.get_by_role("button", name="Show everything").click()
        await page.get_by_role("searchbox").fill("ferry")
        await expect(gone).to_have_count(2)
        await page.get_by_role("checkbox", name="Select all").check()
        await page.get_by_role("button", name="Restore", exact=True).first.click()
        await expect(page.get_by_text("2 things are back where they were")).to_be_visible()
        await page.get_by_role("button", name="Show everything").click()
        await expect(gone).to_have_count(1)
        await page.get_by_role("button", name="Restore Captains").click()
        await expect(page.get_by_role("heading", name="The trash is empty")).to_be_visible()
        await page.get_by_role("link", name="Show it").last.click()
        await expect(page).to_have_url(re.compile(f"room={room}"))
        for path in paths:
            assert api.get(path).status_code == 200
