"""What is said on the page of rooms: drafts that an agent answers, corrections, the trash, what is new."""

from typing import Any

import pytest
from playwright.async_api import Browser, Route, expect

from browser import Held, visiting
from live import Live
from test_page_rooms import ANSWER, make
from upstream import Answer, Received, ScriptedUpstream, chunks, completion, streamed, whole


@pytest.fixture
def model(dashboard_model: ScriptedUpstream) -> ScriptedUpstream:
    dashboard_model.script()
    dashboard_model.otherwise = _answer
    return dashboard_model


@pytest.fixture
def server(dashboard_with_model: Live, model: ScriptedUpstream) -> Live:
    return dashboard_with_model


def _answer(request: Received) -> Answer:
    if request.path.endswith("/models"):
        return whole({"object": "list", "data": [{"id": "m-1", "object": "model", "created": 1, "owned_by": "acme"}]})
    asked: dict[str, Any] = request.json if request.body else {}
    return streamed(*chunks(ANSWER)) if asked.get("stream") else completion("[]")


async def test_a_draft_is_posted_as_ones_own_and_answered_by_the_agent_that_is_chosen(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page, api = visitor.page, visitor.api
        room = make(visitor, "Camp", "scout")
        await visitor.go(f"/dashboard/rooms?room={room}")
        answer = page.get_by_role("button", name="Let Scout answer")
        await expect(answer).to_be_disabled()
        await page.get_by_label("Say something").fill("Where do we sleep tonight?")
        await answer.click()
        log = page.get_by_role("log")
        await expect(log).to_contain_text(ANSWER)
        await expect(page.get_by_label("Say something")).to_have_value("")
        await expect(log.get_by_role("link", name="What memory did")).to_have_count(1)  # it was posted
        said = api.get(f"/v1/rooms/{room}/messages").json()["items"]
        assert [(one["agent"], one["text"]) for one in said] == [
            (None, "Where do we sleep tonight?"), ("scout", ANSWER),
        ]  # fmt: skip
        await expect(log.get_by_role("link", name="What memory did")).to_have_attribute(
            "href", f"/dashboard/traces/{said[1]['trace_id']}"
        )

        api.post("/v1/agents", json={"slug": "cook", "name": "Cook"})
        api.post(f"/v1/rooms/{room}/agents", json={"agent": "cook"})
        await visitor.go(f"/dashboard/rooms?room={room}")
        await page.get_by_label("Say something").fill("And what do we eat?")
        await page.get_by_role("button", name="Let an agent answer").click()
        await page.get_by_role("menuitem", name="Cook").click()
        await expect(log.get_by_role("link", name="What memory did")).to_have_count(2)
        said = api.get(f"/v1/rooms/{room}/messages").json()["items"]
        assert [one["agent"] for one in said] == [None, "scout", None, "cook"]


async def test_a_draft_in_direct_messages_is_answered_too(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        visitor.api.post("/v1/agents", json={"slug": "friend", "name": "Friend"})
        await visitor.go("/dashboard/rooms?dm=friend")
        await page.get_by_label("Say something").fill("Only between us?")
        await page.get_by_role("button", name="Let Friend answer").click()
        await expect(page.get_by_role("log").get_by_role("link", name="What memory did")).to_be_visible()
        said = visitor.api.get("/v1/dms/friend/messages").json()["items"]
        assert [(one["agent"], one["text"]) for one in said] == [(None, "Only between us?"), ("friend", ANSWER)]


async def test_an_answer_is_stopped_and_one_that_failed_is_asked_for_again(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        visitor.allow("503")
        page = visitor.page
        room = make(visitor, "Ridge", "guide")
        visitor.api.post(f"/v1/rooms/{room}/messages", json={"text": "Which way?"})
        held = Held()
        await page.route("**/v1/chat/completions", held)
        await visitor.go(f"/dashboard/rooms?room={room}")
        await page.get_by_role("button", name="Let Guide answer").click()
        await page.get_by_role("button", name="Stop").click()
        log = page.get_by_role("log")
        await expect(log.get_by_role("alert")).to_contain_text("You stopped this answer.")
        await visitor.accessible()
        held.release()

        async def refuse(route: Route) -> None:
            await route.fulfill(status=503, json={"error": {"code": "unavailable", "message": "Not now."}})

        await page.route("**/v1/chat/completions", refuse)
        await log.get_by_role("button", name="Try again").click()
        await expect(log.get_by_role("alert")).to_contain_text("No answer came")
        await expect(log.get_by_role("alert")).to_contain_text("Not now.")
        await page.unroute("**/v1/chat/completions", refuse)
        await log.get_by_role("button", name="Try again").click()
        await expect(log).to_contain_text(ANSWER)
        await expect(log.get_by_role("alert")).to_have_count(0)


async def test_a_message_is_reworded_in_place_and_deleted_and_comes_back(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page, api = visitor.page, visitor.api
        room = make(visitor, "Dock", "clerk")
        for text in ("The crane is red.", "The gate closes at six."):
            api.post(f"/v1/rooms/{room}/messages", json={"text": text})
        await visitor.go(f"/dashboard/rooms?room={room}")
        log = page.get_by_role("log")
        await log.get_by_role("button", name="More about what You said").first.click()
        await page.get_by_role("menuitem", name="Edit").click()
        await expect(log.get_by_label("New wording")).to_have_value("The crane is red.")
        await log.get_by_label("New wording").fill("The crane is green.")
        await log.get_by_label("New wording").press("Enter")
        await expect(log).to_contain_text("The crane is green.")
        await log.get_by_role("button", name="edited").click()
        history = page.get_by_role("dialog", name="History")
        await expect(history).to_contain_text("The crane is red.")
        await expect(history).to_contain_text("You")
        await visitor.accessible()
        await history.get_by_role("button", name="Close").click()

        await log.get_by_role("button", name="More about what You said").last.click()
        await page.get_by_role("menuitem", name="Delete").click()
        await expect(log).not_to_contain_text("The gate closes at six.")
        await page.get_by_role("button", name="Undo").click()
        await expect(log).to_contain_text("The gate closes at six.")

        await log.get_by_role("button", name="More about what You said").last.click()
        await page.get_by_role("menuitem", name="Delete").click()
        await expect(log).not_to_contain_text("The gate closes at six.")
        await page.get_by_role("button", name="Trash of this conversation").click()
        trash = page.get_by_role("dialog", name="Trash")
        await expect(trash.get_by_role("listitem").filter(has_text="The gate closes at six.")).to_be_visible()
        await visitor.accessible()
        await trash.get_by_role("listitem").filter(has_text="Message").get_by_role("button", name="Restore").click()
        await expect(trash).to_contain_text("Nothing is in the trash.")
        await trash.get_by_role("button", name="Close").click()
        await expect(log).to_contain_text("The gate closes at six.")
