"""The page that tries scopes: ingest, recall, ask."""

import re

import pytest
from playwright.async_api import Browser, expect

from browser import NARROW, visiting
from live import Live


@pytest.fixture
def server(dashboard: Live) -> Live:
    return dashboard


async def test_an_example_answers_with_its_evidence_and_says_when_it_does_not_know(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server, permissions=["clipboard-read", "clipboard-write"]) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/scopes")
        await expect(page.get_by_role("heading", name="Try a conversation that answers")).to_be_visible()
        await visitor.accessible()
        await page.get_by_role("button", name="Fill in an example").click()
        await page.get_by_role("button", name="What can Cleo not eat?").click()
        evidence = page.get_by_role("list", name="Evidence")
        await expect(page.get_by_role("heading", name="Answer")).to_be_visible()
        await expect(evidence).to_contain_text("nuts")
        await expect(evidence).to_contain_text("Cleo")
        await expect(evidence.get_by_role("img", name="Relevance").first).to_be_visible()
        await visitor.accessible()

        await page.get_by_role("button", name="The same call with curl").click()
        await page.get_by_role("button", name="Copy the call").click()
        copied = await visitor.copied(lambda text: text.startswith(f"curl {server.url}/v1/ask"))
        assert '"question": "What can Cleo not eat?"' in copied

        await page.get_by_role("button", name="What is the password of the router?").click()
        await expect(page.get_by_text("Not enough evidence")).to_be_visible()
        await visitor.accessible()
        await expect(page).to_have_url(re.compile(r"q=What\+is\+the\+password"))


async def test_a_pasted_transcript_is_kept_and_found_again_and_the_scope_is_remembered_here(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/scopes")
        await page.get_by_role("button", name="Use a scope of my own").click()
        await page.get_by_role("combobox", name="Scope").fill("gardeners")
        await page.get_by_role("tab", name="Ingest").click()
        await page.get_by_role("textbox", name="Transcript").fill(
            "Ida: The tulips were planted by the north wall.\nUwe: I water the tomatoes\non Mondays."
        )
        await expect(page.get_by_text("2 messages of Ida, Uwe")).to_be_visible()
        await visitor.accessible()
        await page.get_by_role("button", name="Ingest").click()
        await expect(page.get_by_text("2 messages were kept in “gardeners”.")).to_be_visible()

        await page.get_by_text("One message", exact=True).click()
        await page.get_by_role("tabpanel", name="Ingest").get_by_label("Who speaks").fill("Ida")
        await page.get_by_label("Text", exact=True).fill("The shed key hangs behind the door.")
        await page.get_by_label("When it was said").fill("2026-03-01T10:00")
        await page.get_by_role("button", name="Ingest").click()
        await expect(page.get_by_text("1 message was kept in “gardeners”.")).to_be_visible()

        await page.get_by_role("tab", name="Recall").click()
        panel = page.get_by_role("tabpanel", name="Recall")
        await panel.get_by_label("What is being said").fill("Where is the key of the shed?")
        await panel.get_by_label("Least relevance").fill("0")
        await panel.get_by_role("switch").click()
        await panel.get_by_role("button", name="Recall").click()
        first = panel.get_by_role("list", name="Evidence").get_by_role("listitem").first
        await expect(first).to_contain_text("The shed key hangs behind the door.")
        await expect(first).to_contain_text("Mar 1, 2026")
        await panel.get_by_role("button", name="Context for a prompt").click()
        await expect(panel.get_by_role("region", name="Context for a prompt")).to_contain_text("The shed key")
        await visitor.accessible()

        await visitor.go("/dashboard/scopes")
        await expect(page.get_by_role("combobox", name="Scope")).to_have_value("gardeners")


async def test_on_a_phone_in_chinese_a_scope_is_filled_and_asked(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server, viewport=NARROW, locale="zh-CN") as visitor:
        page = visitor.page
        await visitor.go("/dashboard/scopes")
        await page.get_by_role("button", name="填入一个示例").click()
        await page.get_by_role("button", name="克莱奥不能吃什么？").click()
        await expect(page.get_by_role("list", name="依据")).to_contain_text("坚果")
        await visitor.accessible()
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
