"""The playground: chats with a model, with what the workspace remembers beside them."""

import json
import re
import threading
from typing import Any

import pytest
from playwright.async_api import Browser, FilePayload, Locator, Page, expect

from browser import NARROW, Held, Visitor, visiting
from live import Live
from upstream import Answer, Received, ScriptedUpstream, asks, chunks, completion, error, streamed, whole

ANSWER = "Take the **early** ferry:\n\n- it is calmer\n- it leaves from pier 3"
LEARNT = "The group takes the early ferry on Friday."
LONG = "The early crossing is better in every respect. " * 8 + f"\n\n## Conclusion\n\n{LEARNT}"


class Model:
    """What the upstream says: to a chat what comes next, else the usual; to our own questions a title."""

    def __init__(self, upstream: ScriptedUpstream) -> None:
        upstream.script()
        upstream.otherwise = self._answer
        self.asked: list[Any] = []
        self.next: list[Answer] = []

    def _answer(self, request: Received) -> Answer:
        if request.path.endswith("/models"):
            listed = [{"id": "m-1", "object": "model", "created": 1, "owned_by": "acme"}]
            return whole({"object": "list", "data": listed})
        if request.json.get("stream"):
            self.asked.append(request.json)
            return self.next.pop(0) if self.next else streamed(*chunks(ANSWER))
        return completion("The early ferry")


@pytest.fixture
def model(dashboard_model: ScriptedUpstream) -> Model:
    return Model(dashboard_model)


@pytest.fixture
def server(dashboard_with_model: Live, model: Model) -> Live:
    return dashboard_with_model


def workspace(visitor: Visitor, name: str) -> str:
    return visitor.api.post("/v1/workspaces", json={"name": name}).json()["id"]


def remember(visitor: Visitor, place: str, content: str, category: str | None = None) -> str:
    body = {"content": content, "category": category}
    return visitor.api.post(f"/v1/workspaces/{place}/memories", json=body).json()["id"]


async def say(page: Page, text: str) -> None:
    # Pressed in the field: a menu or dialog that closes gives its focus back a moment later, and would take the key.
    await page.get_by_label("Message", exact=True).fill(text)
    await page.get_by_label("Message", exact=True).press("Enter")


def messages(page: Page) -> Locator:
    return page.get_by_role("log", name="Conversation").get_by_role("article")


async def test_a_chat_uses_what_is_remembered_and_keeps_what_is_worth_it(
    chromium: Browser, server: Live, model: Model
) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        place = workspace(visitor, "Island trip")
        seasick = "I get seasick on rough water"
        remember(visitor, place, seasick, "preference")
        capsule = {"title": "Getting to the islands", "content_md": "The early ferry leaves from pier 3 at seven."}
        visitor.api.post("/v1/memory/capsules", json=capsule)

        await visitor.go(f"/dashboard/playground?workspace={place}")
        await expect(page.get_by_role("heading", name="Ask something")).to_be_visible()
        await visitor.accessible()

        # What is being typed finds a capsule; one click attaches it.
        await page.get_by_label("Message", exact=True).fill("Which ferry should I take if I get seasick?")
        await page.get_by_role("button", name="Attach “Getting to the islands”").click()
        await expect(page.get_by_role("button", name="Attach “Getting to the islands”")).to_have_count(0)
        await page.get_by_label("Message", exact=True).press("Enter")
        await expect(page).to_have_url(re.compile(r"/dashboard/playground/chat_[a-z0-9]{24}"))
        await expect(messages(page)).to_have_count(2)
        await expect(messages(page).last.get_by_role("listitem").first).to_have_text("it is calmer")
        sent = json.dumps(model.asked[-1]["messages"])
        assert seasick in sent
        assert "leaves from pier 3 at seven" in sent

        # What was looked up is said under the answer, with the way to each memory and to the trace.
        await page.get_by_role("button", name="Looked up 1").click()
        await expect(messages(page).last).to_contain_text(re.compile(seasick + r".*\d+% relevant", re.DOTALL))
        await expect(messages(page).first).to_contain_text("Getting to the islands")
        await visitor.accessible()
        await messages(page).last.get_by_role("link", name="Open this memory").click()
        await expect(page.get_by_role("complementary").get_by_role("article").first).to_contain_text(seasick)
        await page.get_by_role("button", name="Close the sidebar").click()

        # Asked again without it; it stays out, until it is taken back. The first answer is one version back.
        await page.get_by_role("button", name="Ask again without it").click()
        await expect(messages(page).last.get_by_role("group", name="Other versions")).to_contain_text("2/2")
        await expect(messages(page)).to_have_count(2)
        await expect(messages(page).last).to_contain_text("it is calmer")
        assert seasick not in json.dumps(model.asked[-1]["messages"][0])
        await expect(page.get_by_role("group", name="Left out in this chat")).to_contain_text(seasick)
        await page.get_by_role("button", name=f"Use “{seasick}” again").click()
        await expect(page.get_by_role("group", name="Left out in this chat")).to_have_count(0)

        # Remembering a message: it lights up, and the badge counts it.
        await expect(page.get_by_role("button", name="Memories")).to_contain_text("1")
        await messages(page).last.hover()
        await messages(page).last.get_by_role("button", name="Remember this").click()
        await expect(messages(page).last.get_by_role("button", name="Remembered")).to_be_visible()
        await expect(messages(page).last).to_contain_text("Saved: Take the **early** ferry")
        await expect(page.get_by_role("button", name="Memories")).to_contain_text("2")

        # Saving it as a capsule: a title is made.
        await messages(page).last.get_by_role("button", name="Save as capsule").click()
        sheet = page.get_by_role("dialog")
        await expect(sheet.get_by_label("Title")).to_have_value("The early ferry")
        await sheet.get_by_role("button", name="Save capsule").click()
        await expect(sheet).to_have_count(0)
        kept = visitor.api.get("/v1/memory/capsules", params={"kind": "answer"}).json()["items"][0]
        assert kept["content_md"] == ANSWER
        assert kept["source"]["chat_id"] in page.url

        # All of it is there after a reload, with what was used.
        await page.reload()
        await expect(messages(page)).to_have_count(2)
        await page.get_by_role("button", name="Version before").click()
        await page.get_by_role("button", name="Looked up 1").click()
        await expect(messages(page).last).to_contain_text(seasick)


async def test_an_answer_can_be_stopped_and_what_failed_is_asked_again(
    chromium: Browser, server: Live, model: Model
) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        await visitor.go(f"/dashboard/playground?workspace={workspace(visitor, 'Stopping')}")
        await expect(page.get_by_role("heading", name="Ask something")).to_be_visible()
        model.next = [streamed(*chunks("Well, it depends on")[:-3], ending="hang"), error(500, "The oven is cold")]
        await say(page, "Is it far?")
        await expect(messages(page).last).to_contain_text("Well, it")
        await page.get_by_role("button", name="Stop", exact=True).click()
        await expect(page.get_by_text("Stopped. What was written so far")).to_be_visible()
        await expect(messages(page).last).to_contain_text("Well, it")

        await page.get_by_role("button", name="Ask again").click()
        await expect(page.get_by_role("alert")).to_contain_text("The oven is cold")
        await visitor.accessible()
        await page.reload()
        await expect(messages(page)).to_have_count(2)
        await expect(messages(page).last).to_contain_text("Well, it")
        await expect(page.get_by_text("Stopped. What was written so far is kept")).to_be_visible()
        await page.get_by_role("button", name="Ask again").click()
        await expect(messages(page).last).to_contain_text("it is calmer")
        await expect(messages(page)).to_have_count(2)
        await expect(messages(page).last.get_by_role("group", name="Other versions")).to_contain_text("2/2")
        await say(page, "And back?")
        await expect(messages(page)).to_have_count(4)
        await expect(messages(page).last).to_contain_text("it is calmer")
        said = [one["content"] for one in model.asked[-1]["messages"][1:]]
        assert said == ["Is it far?", ANSWER, "And back?"]  # what was stopped is on another branch


async def test_what_memory_saved_is_said_and_taken_back_and_questions_are_asked_anew(
    chromium: Browser, server: Live, model: Model
) -> None:
    permitted = ["clipboard-read", "clipboard-write"]
    async with visiting(chromium, server, permissions=permitted) as visitor:
        page = visitor.page
        place = workspace(visitor, "Branches")
        pier = "The ferry leaves from pier 3"
        await visitor.go(f"/dashboard/playground?workspace={place}")
        await expect(page.get_by_role("list", name="Ways to begin").get_by_role("button")).to_have_count(3)
        code = "Run this:\n\n```\nmake ferry\n```"
        model.next = [streamed(*chunks("", asks("x_save_memory", "c1", content=pier))), streamed(*chunks(code))]
        await say(page, "And the pier?")
        answer = messages(page).last
        await expect(answer).to_contain_text(f"Saved: {pier}")
        await expect(answer.get_by_role("link", name="What memory did")).to_have_attribute(
            "href", re.compile("/dashboard/traces/")
        )
        await answer.locator("pre").hover()
        await answer.get_by_role("button", name="Copy this code").click()
        await visitor.copied(lambda text: text == "make ferry")

        # Taken back, and brought back; it is the same after a reload.
        await answer.get_by_role("button", name="Undo: forget").click()
        await expect(answer).to_contain_text(f"Undone: {pier}")
        await expect(page.get_by_role("button", name="Memories")).to_contain_text("0")
        await answer.get_by_role("button", name="Bring it back").click()
        await expect(page.get_by_role("button", name="Memories")).to_contain_text("1")
        await page.reload()
        await expect(answer).to_contain_text(f"Saved: {pier}")
        await expect(answer.get_by_role("link", name="What memory did")).to_be_visible()
        await visitor.accessible()

        # The same again is known already.
        model.next = [streamed(*chunks("", asks("x_save_memory", "c2", content=pier)))]
        await say(page, "Which one again?")
        await expect(answer.get_by_role("link", name="Already known")).to_be_visible()

        # Worded anew: the model is told of nothing after it, and what was said stays one version back.
        first = messages(page).first
        await first.hover()
        await first.get_by_role("button", name="Edit").click()
        await page.get_by_label("Word it anew").fill("Which pier is it?")
        await visitor.accessible()
        await page.get_by_role("button", name="Ask this").click()
        await expect(first).to_contain_text("Which pier is it?")
        await expect(first.get_by_role("group", name="Other versions")).to_contain_text("2/2")
        await expect(messages(page)).to_have_count(2)
        assert [one["content"] for one in model.asked[-1]["messages"][1:]] == ["Which pier is it?"]
        await page.reload()
        await first.get_by_role("button", name="Version before").click()
        await expect(first).to_contain_text("And the pier?")
        await expect(messages(page)).to_have_count(4)

        # Answered again.
        await answer.hover()
        model.next = [streamed(*chunks("Another answer"))]
        await answer.get_by_role("button", name="Answer again").click()
        await expect(answer).to_contain_text("Another answer")
        await expect(answer.get_by_role("group", name="Other versions")).to_contain_text("2/2")
        await visitor.accessible()


async def test_chats_are_found_by_title_and_by_what_was_said_the_last_active_first(
    chromium: Browser, server: Live, model: Model
) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        place = workspace(visitor, "Many")
        for title in ("Bread", "Soup"):
            made = visitor.api.post("/v1/chats", json={"title": title, "workspace_id": place}).json()
            visitor.api.post(f"/v1/chats/{made['id']}/messages", json={"content": f"About {title}"})
        first = visitor.api.get("/v1/chats", params={"workspace_id": place, "q": "bread"}).json()["items"][0]["id"]
        model.next = [streamed(*chunks("Use rye and patience"))]
        visitor.api.post(f"/v1/chats/{first}/messages", json={"content": "Which flour?"})
        await visitor.go(f"/dashboard/playground?workspace={place}")
        chats = page.get_by_role("navigation", name="Chats")
        await expect(chats.locator("[data-row]").first).to_contain_text("Bread")
        await expect(chats.locator("[data-row]")).to_have_count(2)
        await chats.get_by_label("Search chats").fill("sou")
        await expect(chats.get_by_role("link")).to_have_count(1)
        await expect(chats.get_by_role("link")).to_contain_text("Soup")
        await chats.get_by_label("Search chats").fill("patience")
        await chats.get_by_role("button", name="Bread").click()
        await expect(messages(page).last).to_contain_text("Use rye and patience")
        await visitor.accessible()


async def test_a_workspace_is_shared_left_and_deleted_with_a_way_back(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        place = workspace(visitor, "Shared")
        other = f"friend-{place[3:11]}@example.org"
        visitor.api.post("/v1/users", json={"email": other}).raise_for_status()
        await visitor.go(f"/dashboard/playground?workspace={place}")
        await page.get_by_role("button", name="Members").click()
        sheet = page.get_by_role("dialog", name="Shared")
        await expect(sheet.get_by_role("listitem")).to_have_count(1)
        await sheet.get_by_label("Let somebody in").fill(other)
        await sheet.get_by_role("button", name="Add", exact=True).click()
        await expect(sheet.get_by_role("listitem")).to_have_count(2)
        await visitor.accessible()
        await sheet.get_by_role("combobox", name="What friend").click()
        await page.get_by_role("option", name="Editor").click()
        await expect(sheet.get_by_role("combobox", name="What friend")).to_have_value("Editor")
        roles = {one["role"] for one in visitor.api.get(f"/v1/workspaces/{place}/members").json()["items"]}
        assert roles == {"owner", "editor"}
        await sheet.get_by_role("button", name="Send friend").click()
        await expect(sheet.get_by_role("listitem")).to_have_count(1)
        await sheet.get_by_role("button", name="Delete this workspace").click()
        await expect(page.get_by_role("button", name="Workspace: My workspace")).to_be_visible()
        await page.get_by_role("button", name="Undo").click()
        await page.get_by_role("button", name="Workspace: ").click()
        await expect(page.get_by_role("menuitem", name="Shared")).to_be_visible()


async def test_workspaces_and_chats_are_made_named_and_deleted(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/playground")
        await page.get_by_role("button", name="Workspace: ").click()
        await page.get_by_role("menuitem", name="New workspace").click()
        await page.get_by_role("dialog").get_by_label("Name").fill("Kitchen")
        await page.get_by_role("dialog").get_by_label("Name").press("Enter")
        await expect(page.get_by_role("button", name="Workspace: Kitchen")).to_be_visible()
        await page.get_by_role("button", name="Workspace: Kitchen").click()
        await page.get_by_role("menuitem", name="Members and settings").click()
        await page.get_by_role("dialog").get_by_label("Name").fill("Bakery")
        await page.get_by_role("button", name="Rename").click()
        await expect(page.get_by_role("button", name="Workspace: Bakery")).to_be_visible()
        await page.get_by_role("dialog").get_by_role("button", name="Close").click()

        await say(page, "How long does bread rise?")
        chats = page.get_by_role("navigation", name="Chats")
        await expect(chats.get_by_role("link", name="How long does bread rise?")).to_be_visible()
        await expect(messages(page)).to_have_count(2)
        await chats.get_by_role("button", name="More for").click()
        await page.get_by_role("menuitem", name="Rename").click()
        await page.get_by_role("dialog").get_by_label("Name").fill("Bread")
        await page.get_by_role("dialog").get_by_label("Name").press("Enter")
        await expect(chats.get_by_role("link", name="Bread")).to_be_visible()

        await chats.get_by_role("button", name="New chat").click()
        await expect(page.get_by_role("heading", name="Ask something")).to_be_visible()
        await say(page, "And rolls?")
        await expect(messages(page)).to_have_count(2)
        await expect(chats.get_by_role("link")).to_have_count(2)
        await chats.get_by_role("button", name="More for “And rolls?”").click()
        await page.get_by_role("menuitem", name="Delete").click()
        await expect(chats.get_by_role("link")).to_have_count(1)
        await expect(page.get_by_role("heading", name="Ask something")).to_be_visible()
        await page.get_by_role("button", name="Undo").click()
        await expect(chats.get_by_role("link")).to_have_count(2)
        await chats.get_by_role("link", name="Bread").click()
        await expect(messages(page).first).to_contain_text("How long does bread rise?")


async def test_a_chat_that_begins_late_takes_nobody_back_and_closes_nothing(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        place = workspace(visitor, "Slow")
        for elsewhere in (False, True):
            await visitor.go(f"/dashboard/playground?workspace={place}")
            await expect(page.get_by_role("heading", name="Ask something")).to_be_visible()
            late = Held()
            await page.route("**/chat/api/chats", late)
            async with page.expect_request("**/chat/api/chats"):
                await say(page, "Is it slow?")
            if elsewhere:
                await page.get_by_role("link", name="Settings", exact=True).click()
                await expect(page).to_have_url(re.compile("/dashboard/settings/profile"))
            else:
                await page.get_by_role("button", name="Memories").click()
                await expect(page.get_by_role("complementary")).to_be_visible()
            async with page.expect_response(re.compile(r"/chat/api/chat_\w+/messages")):
                late.release()
            if elsewhere:
                await expect(page).to_have_url(re.compile("/dashboard/settings/profile"))
            else:
                await expect(messages(page)).to_have_count(2)
                await expect(page.get_by_role("complementary")).to_be_visible()


@pytest.mark.parametrize("answered", [False, True])
async def test_what_is_said_before_a_chat_has_come_stays_in_it(
    answered: bool, chromium: Browser, server: Live, model: Model
) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        await visitor.go(f"/dashboard/playground?workspace={workspace(visitor, 'Early')}")
        await say(page, "The first question")
        await expect(messages(page)).to_have_count(2)
        await expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
        late = Held(answered=True)
        earlier = re.compile(r"/chat/api/chat_\w+/messages\?")
        await page.route(earlier, late)
        async with page.expect_request(earlier):
            await page.reload()
        await late.fetched()  # what it says is of before the second question
        speaks = threading.Event()
        model.next.append(streamed(*chunks(ANSWER), after=speaks))
        await say(page, "The second question")
        await expect(page.get_by_role("status", name="Loading")).to_have_count(0)  # the question is kept and shown
        if answered:
            speaks.set()
            await expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
            late.release()
        else:
            async with page.expect_response(earlier):
                late.release()
            speaks.set()
        await expect(messages(page)).to_have_count(4)
        await expect(messages(page).nth(2)).to_contain_text("The second question")
        await expect(messages(page).nth(3)).to_contain_text("it is calmer")


async def test_what_was_superseded_is_shown_to_who_asks_and_holds_again_with_a_click(
    chromium: Browser, server: Live, model: Model
) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        place = workspace(visitor, "Opening hours")
        old = remember(visitor, place, "The museum opens at ten", "fact")
        newer = {"content": "The museum now opens at nine", "supersede": [old]}
        visitor.api.post(f"/v1/workspaces/{place}/memories", json=newer)
        await visitor.go(f"/dashboard/playground?workspace={place}")
        await page.get_by_role("button", name="Memories").click()
        side = page.get_by_role("complementary")
        await expect(side.get_by_role("article")).to_have_count(1)
        await side.get_by_role("switch", name="Show what no longer holds").click()
        await expect(side.get_by_text("superseded by “The museum now opens at nine”")).to_be_visible()
        await visitor.accessible()
        await side.get_by_role("button", name="Undo").click()
        await expect(side.get_by_text("superseded by")).to_have_count(0)
        await side.get_by_role("switch", name="Show what no longer holds").click()
        await expect(side.get_by_role("article")).to_have_count(2)


async def test_the_sidebar_shows_changes_and_finds_what_is_remembered(
    chromium: Browser, server: Live, model: Model
) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        place = workspace(visitor, "Remembering")
        remember(visitor, place, "The hotel is booked until the 14th of June", "fact")
        await visitor.go(f"/dashboard/playground?workspace={place}")
        await page.get_by_role("button", name="Memories").click()
        side = page.get_by_role("complementary")
        hotel = side.get_by_role("article").filter(has_text="hotel")
        await expect(hotel).to_contain_text(re.compile(r"fact.*By you.*20\d\d", re.DOTALL))
        await side.get_by_role("button", name="Add a memory").click()
        await side.get_by_label("What to remember").fill("Bring cash for the market")
        await side.get_by_label("Category").fill("instr")
        await page.get_by_role("option", name="instruction").click()
        await side.get_by_role("button", name="Add", exact=True).click()
        await expect(side.get_by_role("article")).to_have_count(2)
        await expect(page.get_by_role("button", name="Memories")).to_contain_text("2")
        await visitor.accessible()

        await hotel.get_by_role("button", name="Edit this memory").click()
        await side.get_by_label("What to remember").fill("The hotel is booked until the 20th of June")
        await side.get_by_role("button", name="Save").click()
        await expect(side.get_by_text("until the 20th")).to_be_visible()

        await side.get_by_label("Search these memories").fill("cash")
        await expect(side.get_by_role("article").first.locator("mark")).to_have_text("cash")
        await side.get_by_role("article").first.get_by_role("button", name="Delete this memory").click()
        await expect(side.locator("mark")).to_have_count(0)
        await page.get_by_role("button", name="Undo").click()
        await expect(side.locator("mark")).to_have_text("cash")
        await side.get_by_label("Search these memories").fill("")
        await expect(side.get_by_role("article")).to_have_count(2)

        # A long answer in another mode is read for memories, which appear by themselves. What a page tells at its foot
        # stays as long as the mouse is over it.
        await page.mouse.move(0, 0)
        await page.get_by_role("button", name="How to answer").click()
        await page.get_by_role("menuitem", name="Deep think").click()
        model.next = [streamed(*chunks(LONG))]
        await say(page, "Which ferry do we take?")
        learnt = side.get_by_role("article").filter(has_text=LEARNT)
        await expect(learnt).to_contain_text("From deep thinking")
        await expect(learnt).to_contain_text("New")
        await visitor.accessible()


async def test_files_are_uploaded_read_and_deleted_and_artifacts_keep_their_versions(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        place = workspace(visitor, "Papers")
        art = visitor.api.post(f"/v1/workspaces/{place}/artifacts", json={"name": "plan.md", "content": "Pack a coat."})
        change = {"content": "Pack a coat and **boots**."}
        visitor.api.patch(f"/v1/workspaces/{place}/artifacts/{art.json()['id']}", json=change)
        await visitor.go(f"/dashboard/playground?workspace={place}&side=files")
        side = page.get_by_role("complementary")
        await expect(side.get_by_text("No files yet.")).to_be_visible()
        visitor.allow("422")
        text: FilePayload = {
            "name": "timetable.md",
            "mimeType": "text/markdown",
            "buffer": b"# Timetable\n\nThe ferry leaves at nine.",
        }
        program: FilePayload = {"name": "program.exe", "mimeType": "application/octet-stream", "buffer": b"MZ\x90\x00"}
        await page.locator("input[type=file]").set_input_files([text, program])
        await expect(side.get_by_text("1 part can be found")).to_be_visible()
        await expect(side.get_by_text("Keepstone reads txt, md, html, pdf, docx, xlsx")).to_be_visible()
        await visitor.accessible()
        async with page.expect_download() as download:
            await side.get_by_role("link", name="Download timetable.md").click()
        assert (await (await download.value).path()).read_bytes() == text["buffer"]
        await side.get_by_role("button", name="Delete timetable.md").click()
        await expect(side.get_by_text("1 part can be found")).to_have_count(0)
        await page.get_by_role("button", name="Undo").click()
        await expect(side.get_by_text("1 part can be found")).to_be_visible()

        # The same name again is another version; an earlier one is brought back.
        newer: FilePayload = {**text, "buffer": b"# Timetable\n\nThe ferry leaves at ten."}
        await page.locator("input[type=file]").set_input_files([newer])
        row = side.locator("[data-row]").filter(has_text="timetable.md")
        await expect(row).to_contain_text(re.compile(r"MD · .* · Version \d"))
        await row.click()
        sheet = page.get_by_role("dialog", name="timetable.md")
        await expect(sheet.get_by_role("article")).to_contain_text("leaves at ten")
        await visitor.accessible()
        await sheet.get_by_role("combobox", name="Versions").click()
        await page.get_by_role("option", name="Version 1").click()
        await sheet.get_by_role("button", name="Make this the newest").click()
        await expect(sheet.get_by_role("article")).to_contain_text("leaves at nine")
        await page.keyboard.press("Escape")

        # Dropped from another window.
        data = await page.evaluate_handle(
            "() => { const t = new DataTransfer(); t.items.add(new File(['Bring cash'], 'list.txt')); return t }"
        )
        for event in ("dragover", "drop"):
            await side.get_by_text("Upload files").dispatch_event(event, {"dataTransfer": data})
        await expect(side.get_by_role("link", name="Download list.txt")).to_be_visible()

        await side.get_by_role("button", name="plan.md Version 2").click()
        shown = page.get_by_role("dialog", name="plan.md")
        await expect(shown.locator("strong")).to_have_text("boots")
        await visitor.accessible()
        await shown.get_by_role("combobox", name="Versions").click()
        await page.get_by_role("option", name="Version 1").click()
        await expect(shown.get_by_text("Pack a coat.")).to_be_visible()
        await shown.get_by_role("button", name="Make this the newest").click()
        await expect(page.get_by_text("Version 1 is the newest again.").last).to_be_visible()
        await expect(shown.get_by_role("combobox", name="Versions")).to_have_value(re.compile("Version 3 .*newest"))
        await expect(shown.get_by_text("Pack a coat.")).to_be_visible()


async def test_without_a_model_it_says_how_to_connect_one_and_memory_works(chromium: Browser, dashboard: Live) -> None:
    permitted = ["clipboard-read", "clipboard-write"]
    async with visiting(chromium, dashboard, permissions=permitted) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/playground")
        await expect(page.get_by_role("heading", name="Connect a language model")).to_be_visible()
        await page.get_by_text("Local", exact=True).click()
        await page.get_by_role("button", name="Copy these variables").click()
        await visitor.copied(lambda text: "KEEPSTONE_LLM_BASE_URL=http://127.0.0.1:11434/v1" in text)
        await visitor.accessible()
        await say(page, "The spare key is under the blue pot")
        await expect(page.get_by_text("Nobody answers until a language model is connected.")).to_be_visible()
        await messages(page).first.hover()
        await messages(page).first.get_by_role("button", name="Remember this").click()
        await page.get_by_role("button", name="Memories").click()
        await expect(page.get_by_role("complementary").get_by_role("article")).to_contain_text("under the blue pot")


async def test_on_a_phone_in_chinese_chats_and_memories_are_behind_buttons(chromium: Browser, server: Live) -> None:
    phone: dict[str, Any] = {"viewport": NARROW, "has_touch": True, "is_mobile": True}
    async with visiting(chromium, server, locale="zh-CN", color_scheme="dark", **phone) as visitor:
        page = visitor.page
        place = workspace(visitor, "旅行")
        await visitor.go(f"/dashboard/playground?workspace={place}")
        await expect(page.get_by_role("heading", name="对话", exact=True)).to_be_visible()
        await page.get_by_label("消息", exact=True).fill("早班船几点开？")
        await page.get_by_role("button", name="发送").tap()
        said = page.get_by_role("log", name="对话内容").get_by_role("article")
        await expect(said).to_have_count(2)
        await expect(said.last).to_contain_text("it is calmer")
        await said.last.get_by_role("button", name="记住这条").tap()
        await visitor.accessible()
        await page.get_by_role("button", name="记忆：").or_(page.get_by_role("button", name="记忆: ")).tap()
        side = page.get_by_role("dialog", name="这个工作区的内容")
        await expect(side.get_by_role("article")).to_contain_text("由您保存")
        await visitor.accessible()
        await side.get_by_role("button", name="关闭侧栏").tap()
        await expect(side).to_have_count(0)
        await page.get_by_role("button", name="显示对话列表").tap()
        await expect(page.get_by_role("dialog", name="对话列表").get_by_role("link")).to_contain_text("早班船几点开？")
        await visitor.accessible()
        width = await page.evaluate("document.documentElement.scrollWidth")
        assert width <= NARROW["width"]
