"""The quorum: two models side by side on one question."""

import json
import re
from collections.abc import Generator
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from browser import NARROW, Visitor, dashboard_server, visiting
from live import Live
from upstream import Answer, Received, ScriptedUpstream, chunks, completion, error, streamed, whole


class Models:
    """Two models behind one address: each says its own name, unless something else is to come from it next."""

    def __init__(self) -> None:
        self.upstream = ScriptedUpstream()
        self.upstream.otherwise = self._answer
        self.asked: dict[str, list[Any]] = {"granite": [], "slate": []}
        self.next: dict[str, Answer] = {}

    def _answer(self, request: Received) -> Answer:
        if request.path.endswith("/models"):
            listed = [
                {"id": name, "object": "model", "created": 1, "owned_by": "acme"} for name in ("granite", "slate")
            ]
            return whole({"object": "list", "data": listed})
        if not request.json.get("stream"):
            return completion("Early or late")
        name = request.json["model"]
        self.asked[name].append(request.json["messages"])
        return self.next.pop(name, None) or streamed(*chunks(f"The **{name}** way"))


@pytest.fixture(scope="module")
def models() -> Generator[Models]:
    made = Models()
    try:
        yield made
    finally:
        made.upstream.stop()


@pytest.fixture(scope="module")
def server(models: Models) -> Generator[Live]:
    live = dashboard_server(
        KEEPSTONE_LLM_PROVIDER="openai", KEEPSTONE_LLM_BASE_URL=models.upstream.url, KEEPSTONE_LLM_API_KEY="key",
        KEEPSTONE_LLM_MODEL="granite",
    )  # fmt: skip
    yield live
    live.stop()


def remember(visitor: Visitor, content: str) -> None:
    places = visitor.api.get("/v1/workspaces").json()["items"]
    place = next(one["id"] for one in places if one["is_default"])
    visitor.api.post(f"/v1/workspaces/{place}/memories", json={"content": content})


async def ask(page: Page, text: str) -> None:
    await expect(page.get_by_role("button", name="Send")).to_be_visible()  # nothing is being answered any more
    await page.get_by_label("Question", exact=True).fill(text)
    await page.get_by_label("Question", exact=True).press("Enter")


def answers(page: Page, side: str) -> Locator:
    return page.get_by_role("log").get_by_role("group", name=side)


async def test_two_models_answer_one_question_side_by_side_and_it_is_found_again(
    chromium: Browser, server: Live, models: Models
) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        remember(visitor, "I get seasick on rough water")
        capsule = {"title": "Getting to the islands", "content_md": "The ferry leaves from pier 3 at seven."}
        visitor.api.post("/v1/memory/capsules", json=capsule)
        await visitor.go("/dashboard/quorum")
        left, right = answers(page, "First model"), answers(page, "Second model")
        await expect(page.get_by_role("button", name="Second model: slate")).to_be_visible()
        await expect(page.get_by_text("What you ask stays here")).to_be_visible()
        await visitor.accessible()

        # A capsule goes with the question, and relevant memories by themselves.
        await page.get_by_role("button", name="Attach a capsule").click()
        await page.get_by_role("dialog").get_by_label("Getting to the islands").check()
        await page.get_by_role("dialog").get_by_role("button", name="Done").click()
        models.next = {"slate": streamed(*chunks("The **slate** way", usage=True))}
        await ask(page, "Which ferry do I take if I get seasick?")
        await expect(left).to_contain_text("The granite way")
        await expect(right).to_contain_text("The slate way")
        for name in ("granite", "slate"):
            sent = json.dumps(models.asked[name][-1])
            assert "leaves from pier 3 at seven" in sent
            assert "seasick on rough water" in sent
        await left.get_by_role("button", name="Looked up 1").click()
        await expect(left).to_contain_text("I get seasick on rough water")
        await expect(right).to_contain_text(re.compile(r"\d s · 10 tokens"))
        await expect(left).to_contain_text(re.compile(r"\d s"))
        # The question spans both; the answers begin at one line.
        boxes = [await one.bounding_box() for one in (page.get_by_role("article").first, left, right)]
        assert boxes[0]
        assert boxes[1]
        assert boxes[2]
        assert boxes[1]["y"] == boxes[2]["y"] > boxes[0]["y"]
        assert boxes[2]["x"] > boxes[1]["x"] + boxes[1]["width"] / 2
        await visitor.accessible()

        # Either answer is kept, with the question.
        await right.get_by_role("button", name="Save as capsule").click()
        sheet = page.get_by_role("dialog")
        await expect(sheet.get_by_label("Title")).to_have_value("Early or late")
        await sheet.get_by_role("button", name="Save capsule").click()
        await expect(sheet).to_have_count(0)
        kept = visitor.api.get("/v1/memory/capsules", params={"kind": "decision"}).json()["items"][0]
        assert kept["tags"] == ["quorum"]
        assert "Which ferry do I take" in kept["content_md"]
        assert "The **slate** way" in kept["content_md"]

        # The conversation goes on in both; what fails on one side is asked again there.
        visitor.allow("429")
        models.next = {"granite": streamed(*chunks("On and on")[:-3], ending="hang"), "slate": error(429, "Too fast")}
        await ask(page, "And back?")
        await expect(right.last.get_by_role("alert")).to_contain_text("Too fast")
        await expect(left.last).to_contain_text("On and")
        await page.get_by_role("button", name="Stop", exact=True).click()
        await expect(left.last).to_contain_text("Stopped here.")
        await right.last.get_by_role("button", name="Ask again").click()
        await expect(right.last).to_contain_text("The slate way")
        await expect(page.get_by_role("button", name="Send")).to_be_visible()  # it is kept as well
        said = [one["content"] for one in models.asked["slate"][-1] if one["role"] != "system"]
        assert said == ["Which ferry do I take if I get seasick?", "The **slate** way", "And back?"]

        # It is in a history of its own, with time and tokens, and not among the playground's chats.
        await page.get_by_role("button", name="New question").click()
        await expect(left).to_have_count(0)
        history = page.get_by_role("navigation", name="Asked before")
        await history.get_by_role("link", name="Which ferry do I take").click()
        await expect(right).to_have_count(2)
        await page.reload()
        await expect(right).to_have_count(2)
        await expect(right.first).to_contain_text(re.compile(r"\d s · 10 tokens"))
        await expect(left.last).to_contain_text("On and")  # what was said until it was stopped
        await visitor.accessible()
        assert visitor.api.get("/v1/chats", params={"kind": "chat"}).json()["items"] == []

        # Deleted, and brought back.
        await history.get_by_role("button", name="Delete “Which ferry").click()
        await expect(history.get_by_role("link")).to_have_count(0)
        await page.get_by_role("button", name="Undo").click()
        await expect(history.get_by_role("link")).to_have_count(1)

        # Without memory the question goes out as it is, and nothing is kept. The choice of a model stays.
        await page.get_by_role("button", name="Second model: slate").click()
        await page.get_by_role("option", name="granite", exact=True).click()
        await visitor.go("/dashboard/quorum")
        await expect(page.get_by_role("button", name="Second model: granite")).to_be_visible()
        await page.get_by_role("switch", name="Use memory").click()
        await ask(page, "Do I get seasick?")
        await expect(right).to_contain_text("The granite way")
        assert models.asked["granite"][-1] == [{"role": "user", "content": "Do I get seasick?"}]
        assert len(visitor.api.get("/v1/chats").json()["items"]) == 2


async def test_on_a_phone_in_chinese_the_answers_stand_below_each_other(chromium: Browser, server: Live) -> None:
    phone: dict[str, Any] = {"viewport": NARROW, "has_touch": True, "is_mobile": True}
    async with visiting(chromium, server, locale="zh-CN", color_scheme="dark", **phone) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/quorum")
        await page.get_by_label("问题", exact=True).fill("坐哪一班船？")
        await page.get_by_role("button", name="发送").tap()
        left, right = answers(page, "第一个模型"), answers(page, "第二个模型")
        await expect(left).to_contain_text("The granite way")
        await expect(right).to_contain_text("The slate way")
        above, below = await left.bounding_box(), await right.bounding_box()
        assert above
        assert below
        assert below["y"] >= above["y"] + above["height"]
        await visitor.accessible()
        await page.get_by_role("button", name="显示问过的问题").tap()
        await expect(page.get_by_role("dialog").get_by_role("link")).to_contain_text("坐哪一班船？")
        assert await page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


async def test_without_a_model_it_says_how_to_connect_one(chromium: Browser, dashboard: Live) -> None:
    async with visiting(chromium, dashboard) as visitor:
        await visitor.go("/dashboard/quorum")
        await expect(visitor.page.get_by_role("heading", name="Connect a language model")).to_be_visible()
        await expect(visitor.page.get_by_label("Question", exact=True)).to_have_count(0)
        await visitor.accessible()
