"""The page of traces: what memory did, live, and each with all that was found, left out and handed on."""

import re

import pytest
from playwright.async_api import Browser, Locator, expect

from browser import NARROW, Visitor, visiting
from live import Live

TALK = [
    {"speaker": "Ada", "text": "The ferry to Naxos leaves at nine from pier 3."},
    {"speaker": "Ben", "text": "I always forget the sun cream."},
    {"speaker": "Ada", "text": "The ferry back leaves on Sunday at noon."},
]


@pytest.fixture
def server(dashboard: Live) -> Live:
    return dashboard


def recall(visitor: Visitor, text: str = "When does the ferry leave?", speaker: str = "Ben") -> str:
    body = {"scope_id": "harbour", "message": {"speaker": speaker, "text": text}, "limit": 1}
    return visitor.api.post("/v1/recall", json=body).raise_for_status().json()["trace_id"]


async def added_up(part: Locator) -> int:
    """The tokens of the parts, which are those of the whole."""
    parts = await part.locator("[data-tokens]").evaluate_all("all => all.map(one => +one.dataset.tokens)")
    whole = await part.locator("[data-total]").get_attribute("data-total")
    assert parts
    assert sum(parts) == int(whole or 0)
    return sum(parts)


async def test_what_memory_does_appears_by_itself_and_opens_with_scores_reasons_and_tokens_that_add_up(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/traces")
        await expect(page.get_by_role("heading", name="Nothing was asked yet")).to_be_visible()
        await visitor.accessible()
        visitor.api.post("/v1/ingest", json={"scope_id": "harbour", "transcript": TALK}).raise_for_status()
        first = recall(visitor)
        rows = page.get_by_role("list", name="What memory did").get_by_role("link")
        await expect(rows).to_have_count(1)
        await expect(rows.first).to_contain_text("When does the ferry leave?")
        await expect(rows.first).to_contain_text("harbour")

        await page.get_by_role("button", name="Pause").click()
        await expect(page.get_by_text("Paused")).to_be_visible()
        visitor.api.get("/v1/memory/capsules", params={"q": "sails", "mode": "semantic"}).raise_for_status()
        visitor.api.post("/v1/ask", json={"scope_id": "harbour", "question": "Which pier does the ferry leave from?"})
        await page.get_by_role("button", name="Go on").click()
        await expect(rows).to_have_count(3)
        await expect(rows.first).to_contain_text("Which pier")

        await page.get_by_role("searchbox", name="Words of the question").fill("WHEN does")
        await expect(rows).to_have_count(1)
        await expect(page).to_have_url(re.compile("q=WHEN"))
        await rows.first.press("Enter")
        await expect(page).to_have_url(re.compile(f"/traces/{first}"))
        sheet = page.get_by_role("dialog")
        await expect(sheet.get_by_role("link", name="harbour")).to_be_visible()
        await expect(sheet.get_by_role("region", name="How it was understood")).to_contain_text("Said by Ben")
        used, left = sheet.get_by_role("list", name="Used", exact=True), sheet.get_by_role("list", name="Left out")
        await expect(used.get_by_role("listitem")).to_have_count(1)
        await expect(used).to_contain_text("The ferry")
        await expect(used).to_contain_text(re.compile(r"Ada · .*\d+%", re.DOTALL))
        await expect(left).to_contain_text("More than were asked for")
        await used.get_by_role("button", name="Why this score").click()
        await expect(used).to_contain_text("Same words")
        handed = sheet.get_by_role("region", name="What was handed on")
        kept = visitor.api.get(f"/v1/traces/{first}").json()
        assert await added_up(handed) == kept["tokens"]
        await handed.get_by_text("The exact text").click()
        exact = await handed.locator("pre").inner_text()
        assert exact.split() == "".join(piece["text"] for piece in kept["handed_out"]).split()
        await expect(sheet.get_by_role("region", name="How long it took")).to_contain_text("Searching")
        await visitor.accessible()

        await used.get_by_role("link", name="Open").click()
        await expect(page).to_have_url(re.compile("/dashboard/scopes"))
        await expect(page.get_by_role("log").locator("[aria-current]")).to_contain_text("The ferry")


async def test_traces_are_found_by_what_they_are_and_where_and_one_that_is_not_there_is_said_kindly(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server, viewport={"width": 1280, "height": 420}) as visitor:
        page = visitor.page
        visitor.api.post("/v1/ingest", json={"scope_id": "harbour", "transcript": TALK}).raise_for_status()
        for number in range(12):
            recall(visitor, f"When does ferry {number} leave?")
        visitor.api.post("/v1/ask", json={"scope_id": "harbour", "question": "Which pier?"}).raise_for_status()
        visitor.api.post("/v1/agents", json={"slug": "mate", "name": "First Mate", "instructions": "Be brief."})
        room = visitor.api.post("/v1/rooms", json={"name": "Bridge", "agents": ["mate"]}).raise_for_status().json()
        said = {"text": "Where do we sail?"}
        visitor.api.post(f"/v1/rooms/{room['id']}/messages", json=said).raise_for_status()
        composed = visitor.api.post(f"/v1/rooms/{room['id']}/compose", json={"agent": "mate", "message": said}).json()
        answer = {"text": "To **Naxos**.", "agent": "mate", "trace_id": composed["trace_id"]}
        visitor.api.post(f"/v1/rooms/{room['id']}/messages", json=answer).raise_for_status()

        await visitor.go("/dashboard/traces")
        rows = page.get_by_role("list", name="What memory did").get_by_role("link")
        await expect(rows).to_have_count(14)
        await expect(rows.first).to_contain_text("Where do we sail?")
        await rows.last.scroll_into_view_if_needed()
        recall(visitor, "When is the last one?")
        await page.get_by_role("button", name="1 new").click()
        await expect(rows.first).to_contain_text("When is the last one?")

        await page.get_by_role("combobox", name="Where").click()
        await page.get_by_role("option", name="Bridge").click()
        await expect(rows).to_have_count(1)
        await page.get_by_role("combobox", name="What it was").click()
        await page.get_by_role("option", name="Search").click()
        await expect(page.get_by_role("heading", name="Nothing fits these filters")).to_be_visible()
        await page.get_by_role("button", name="Show everything").click()
        await expect(rows).to_have_count(15)

        await visitor.go(f"/dashboard/rooms?room={room['id']}")
        await page.get_by_role("link", name="What memory did").click()
        sheet = page.get_by_role("dialog")
        await expect(sheet).to_contain_text("For First Mate")
        assert await added_up(sheet.get_by_role("region", name="What was handed on")) == composed["tokens"]["prompt"]
        await expect(sheet.get_by_role("region", name="What was answered")).to_contain_text("To Naxos.")

        visitor.allow("404")
        await visitor.go("/dashboard/traces/trc_aaaaaaaaaaaaaaaaaaaaaaaa")
        await expect(page.get_by_role("heading", name="This trace is not there")).to_be_visible()
        await visitor.accessible()


async def test_a_recall_of_a_graph_leads_to_its_trace_also_on_a_phone_in_chinese(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server, viewport=NARROW, locale="zh-CN") as visitor:
        page = visitor.page
        visitor.api.post("/v1/graphs/default/nodes", json={"content": "We chose Postgres.", "node_type": "decision"})
        await visitor.go("/dashboard/graphs?q=Which+database%3F")
        await page.get_by_role("link", name="记忆做了什么").click()
        sheet = page.get_by_role("dialog")
        await expect(sheet).to_contain_text("Which database?")
        await expect(sheet).to_contain_text("We chose Postgres.")
        await visitor.accessible()
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
