"""The page of graphs: nodes as a list and as a picture, recall, and all that can be done with a node."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from browser import NARROW, visiting
from live import Live


@pytest.fixture
def server(dashboard: Live) -> Live:
    return dashboard


async def store(page: Page, content: str, *, type: str = "note", metadata: str = "{}") -> None:
    await page.get_by_role("button", name="Store a node").first.click()
    form = page.get_by_role("dialog", name="Store a node")
    await form.get_by_label("Content").fill(content)
    await form.get_by_label("Type").fill(type)
    await form.get_by_label("Metadata").fill(metadata)
    await form.get_by_role("button", name="Save").click()
    await expect(form).to_be_hidden()


async def test_an_example_is_found_by_meaning_looked_at_and_drawn(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server, permissions=["clipboard-read", "clipboard-write"]) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/graphs")
        await expect(page.get_by_role("heading", name="Nothing in this graph yet")).to_be_visible()
        await visitor.accessible()
        await page.get_by_role("button", name="Fill in an example").click()
        await expect(page.get_by_text("Sarah leads the backend team")).to_be_visible()

        await page.get_by_role("textbox", name="What do you want to know?").fill("Does Sarah prefer e-mail?")
        await page.get_by_role("button", name="Filters").click()
        await page.get_by_label("How well must it fit").select_option(label="Anything that comes close")
        await page.get_by_role("button", name="Recall", exact=True).click()
        first = page.get_by_role("main").get_by_role("listitem").filter(has=page.locator("[data-row]")).first
        await expect(first).to_contain_text("Sarah prefers e-mail over phone calls")
        await expect(first.get_by_role("img", name="Relevance")).to_be_visible()
        await expect(page.get_by_text("relevant enough")).to_be_visible()
        await page.get_by_role("button", name="Copy the id").click()
        await visitor.copied(lambda text: text.startswith("qry_"))
        await visitor.accessible()

        await page.get_by_label("Metadata has").fill('{"team": "backend"}')
        await expect(first).not_to_contain_text("prefers e-mail")
        await page.get_by_label("Metadata has").fill("{")
        await expect(page.get_by_text("This is no JSON object yet.")).to_be_visible()
        await page.get_by_role("button", name="Clear the filters").click()
        await page.get_by_role("button", name="Back to all nodes").click()

        await page.get_by_role("button", name="Sarah leads").click()
        sheet = page.get_by_role("dialog", name="Node", exact=True)
        await expect(sheet).to_contain_text("owns to Q3 priority is improving API response times")
        await visitor.accessible()
        await sheet.get_by_role("button", name="Show in the picture").click()
        await expect(page.get_by_role("img", name="3 nodes")).to_be_visible()
        await page.get_by_text("Two steps", exact=True).click()
        await expect(page.get_by_role("img", name="5 nodes")).to_be_visible()
        await page.get_by_text("All", exact=True).click()
        await expect(page.get_by_role("img", name="7 nodes")).to_be_visible()
        await visitor.accessible()


async def test_a_node_is_kept_corrected_superseded_related_forgotten_and_brought_back(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        graph = visitor.api.post("/v1/graphs", json={"name": "Workshop"}).json()["id"]
        await visitor.go(f"/dashboard/graphs?graph={graph}")
        await store(page, "The office is in Porto", type="fact", metadata='{"floor": 3}')
        sheet = page.get_by_role("dialog", name="Node", exact=True)
        await expect(sheet.get_by_role("row", name="floor 3")).to_be_visible()
        await sheet.get_by_role("button", name="Edit").click()
        form = page.get_by_role("dialog", name="Edit the node")
        await form.get_by_label("Content").fill("The office is in Porto, by the river")
        await form.get_by_role("button", name="Save").click()
        await expect(sheet.get_by_text("Version 2")).to_be_visible()

        await sheet.get_by_role("button", name="It has changed").click()
        form = page.get_by_role("dialog", name="What holds now")
        await form.get_by_label("Content").fill("The office is in Faro")
        await visitor.accessible()
        await form.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("1 older node no longer holds")).to_be_visible()
        await sheet.get_by_role("button", name="Close").click()
        rows = page.locator("[data-row]")
        await expect(rows).to_have_count(1)

        await store(page, "Rui runs the office")
        await sheet.get_by_role("button", name="Relate").click()
        form = page.get_by_role("dialog", name="Relate two nodes")
        await form.get_by_role("combobox", name="How").fill("works_at")
        await form.get_by_role("combobox", name="The other node").fill("Faro")
        await page.get_by_role("option", name="The office is in Faro").click()
        await form.get_by_role("button", name="Relate").click()
        await expect(sheet).to_contain_text("works_at to The office is in Faro")
        await sheet.get_by_role("button", name="End this edge: works_at").click()
        await expect(sheet.get_by_text("Not related to anything yet.")).to_be_visible()
        await sheet.get_by_role("switch", name="Show edges that ended").click()
        await expect(sheet.get_by_text("Ended", exact=True)).to_be_visible()

        await sheet.get_by_role("button", name="Forget").click()
        await expect(rows).to_have_count(1)
        await page.get_by_role("alert").last.get_by_role("button", name="Undo").click()
        await expect(rows).to_have_count(2)
        await page.get_by_role("button", name="Rui runs the office").click()
        await sheet.get_by_role("button", name="Forget").click()
        await expect(rows).to_have_count(1)
        await page.get_by_role("button", name="Filters").click()
        await page.get_by_role("switch", name="Only what was forgotten").click()
        await page.get_by_role("button", name="Restore").click()
        await expect(page.get_by_text("Nothing here matches the filters.")).to_be_visible()


async def test_what_a_node_superseded_holds_again_with_a_click(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        graph = visitor.api.post("/v1/graphs", json={"name": "Hours"}).json()["id"]
        await visitor.go(f"/dashboard/graphs?graph={graph}")
        sheet = page.get_by_role("dialog", name="Node", exact=True)
        rows = page.locator("[data-row]")
        path = f"/v1/graphs/{graph}/nodes"
        old = visitor.api.post(path, json={"content": "The office is open on Mondays"}).json()["id"]
        newer = {"content": "The office is no longer open on Mondays", "supersede": [old]}
        new = visitor.api.post(path, json=newer).json()["id"]
        while visitor.api.get("/readyz").json()["pending_embeddings"]:
            await asyncio.sleep(0.2)
        await visitor.go(f"/dashboard/graphs?graph={graph}&node={new}")
        await sheet.get_by_role("button", name="The office is open on Mondays").click()
        await expect(sheet).to_contain_text("Superseded by")
        await visitor.accessible()
        await sheet.get_by_role("button", name="Let it hold again").click()
        await expect(sheet.get_by_text("Superseded by")).to_have_count(0)
        await sheet.get_by_role("button", name="Close").click()
        await expect(rows).to_have_count(2)

        await store(page, "The office is open on Mondays again instead")
        await sheet.get_by_role("button", name="Close").click()
        await page.get_by_role("alert").last.get_by_role("button", name="Undo").click()
        await expect(rows).to_have_count(3)


async def test_filters_that_are_filled_in_one_after_the_other_all_count(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        graph = visitor.api.post("/v1/graphs", json={"name": "Filtered"}).json()["id"]
        for content, kind, team in (("Ann", "person", "a"), ("Bob", "person", "b"), ("Cup", "thing", "a")):
            node = {"content": content, "node_type": kind, "metadata": {"team": team}}
            assert visitor.api.post(f"/v1/graphs/{graph}/nodes", json=node).is_success
        await visitor.go(f"/dashboard/graphs?graph={graph}")
        rows = page.locator("[data-row]")
        await expect(rows).to_have_count(3)
        await page.get_by_role("button", name="Filters").click()
        await page.get_by_label("Type").fill("person")
        await page.get_by_label("Metadata has").fill('{"team": "a"}')
        await expect(page).to_have_url(re.compile("type=person&meta="))
        await expect(rows).to_have_count(1)
        await expect(rows).to_contain_text("Ann")


async def test_graphs_are_made_and_deleted_and_come_back(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/graphs")
        await page.get_by_role("button", name="More about this graph").click()
        await page.get_by_role("menuitem", name="New graph").click()
        await page.get_by_role("dialog").get_by_label("Name").fill("Garden")
        await page.get_by_role("button", name="Create").click()
        chosen = page.get_by_role("combobox", name="Graph")
        await expect(chosen).to_have_value("Garden")
        await page.get_by_role("button", name="More about this graph").click()
        await page.get_by_role("menuitem", name="Delete this graph").click()
        await expect(chosen).to_have_value("Default")
        await page.get_by_role("button", name="Undo").click()
        await expect(chosen).to_have_value("Garden")
        await page.get_by_role("button", name="More about this graph").click()
        await page.get_by_role("menuitem", name="Delete this graph").click()
        await expect(chosen).to_have_value("Default")
        await page.get_by_role("button", name="More about this graph").click()
        await page.get_by_role("menuitem", name="Deleted graphs").click()
        await visitor.accessible()
        await page.get_by_role("dialog").get_by_role("button", name="Restore").click()
        await expect(chosen).to_have_value("Garden")


async def test_on_a_phone_in_chinese_the_list_the_picture_and_a_node_fit(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server, viewport=NARROW, locale="zh-CN") as visitor:
        page = visitor.page
        graph = visitor.api.post("/v1/graphs", json={"name": "手机"}).json()["id"]
        await visitor.go(f"/dashboard/graphs?graph={graph}")
        await page.get_by_role("button", name="填入一个示例").click()
        await page.get_by_role("button", name="莎拉负责后端团队").click()
        await expect(page.get_by_role("dialog", name="节点")).to_contain_text("owns")
        await visitor.accessible()
        await page.get_by_role("button", name="关闭").click()
        await page.get_by_text("图形", exact=True).click()
        await expect(page.get_by_role("img", name="7 个节点")).to_be_visible()
        await visitor.accessible()
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def test_a_graph_is_looked_at_as_it_was_with_what_no_longer_holds_and_page_by_page(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page, api = visitor.page, visitor.api
        graph = api.post("/v1/graphs", json={"name": "Harbour"}).json()["id"]
        path = f"/v1/graphs/{graph}"
        long_ago = (datetime.now(UTC) - timedelta(days=100)).isoformat()

        def keep(content: str, **more: Any) -> str:
            node = {"content": content, "supersede": "off", **more}
            return api.post(f"{path}/nodes", json=node).raise_for_status().json()["id"]

        hub = keep("The harbour master", node_type="person", valid_from=long_ago)
        old = keep("The ferry leaves from pier 3", node_type="fact", valid_from=long_ago)
        new = keep("The ferry leaves from pier 5", node_type="fact", supersede=[old])
        for number in range(52):
            edge = {"from_id": hub, "to_id": keep(f"Ship {number} of the fleet"), "edge_type": "knows"}
            assert api.post(f"{path}/edges", json=edge).is_success

        await visitor.go(f"/dashboard/graphs?graph={graph}")
        overview = page.get_by_role("region", name="What is in this graph")
        await expect(overview).to_contain_text("54 nodes · 53 edges · 1 no longer holds")
        await page.locator("label", has_text="fact 1").click()
        rows = page.locator("[data-row]")
        await expect(rows).to_have_count(1)
        await page.get_by_role("switch", name="Show what no longer holds").click()
        await expect(rows).to_have_count(2)
        await visitor.accessible()

        await page.get_by_text("Picture", exact=True).click()
        await expect(page.get_by_role("img", name="2 nodes")).to_be_visible()
        await page.locator("label", has_text="fact 1").click()
        picture = page.get_by_role("img", name="55 nodes")
        await expect(picture).to_be_visible()
        await visitor.accessible()
        moment = page.get_by_role("slider", name="As it was at")
        await moment.press("Home")
        await moment.press("ArrowRight")
        await expect(page.get_by_role("img", name="2 nodes")).to_be_visible()
        await expect(overview).to_contain_text("2 nodes · 0 edges")
        await moment.press("End")
        await expect(picture).to_be_visible()

        await picture.focus()
        await picture.press("ArrowRight")
        await picture.press("Enter")
        sheet = page.get_by_role("dialog", name="Node", exact=True)
        await expect(sheet).to_be_visible()
        await visitor.go(f"/dashboard/graphs?graph={graph}&node={hub}")
        edges = sheet.get_by_role("button", name=re.compile("^Ship"))
        await expect(edges).to_have_count(50)
        await sheet.get_by_role("button", name="Next 50").click()
        await expect(edges).to_have_count(52)

        await visitor.go(f"/dashboard/graphs?graph={graph}&superseded=1&type=fact")
        await page.get_by_role("listitem").filter(has_text="pier 3").get_by_role("button", name="Let it hold").click()
        await expect(overview).to_contain_text("55 nodes · 52 edges")
        assert api.get(f"{path}/nodes/{old}").json()["superseded_by"] is None
        assert api.get(f"{path}/nodes/{new}").json()["valid_to"] is None


async def test_what_a_recall_found_is_lit_in_the_picture(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/graphs")
        await page.get_by_role("button", name="Fill in an example").click()
        await expect(page.get_by_text("Sarah leads the backend team")).to_be_visible()
        await visitor.go("/dashboard/graphs?q=Sarah+prefers+e-mail&least=0.25&view=picture")
        await expect(page.get_by_text("relevant enough")).to_be_visible()
        await expect(page.get_by_role("img", name="7 nodes")).to_be_visible()
        await expect(page.locator("[data-row]")).to_have_count(0)
        await page.get_by_text("List", exact=True).click()
        await expect(page.locator("[data-row]").first).to_contain_text("prefers e-mail")
