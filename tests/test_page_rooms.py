"""The page of rooms: talk with people and agents, what is remembered, and what an agent reads."""

from typing import Any

import pytest
from playwright.async_api import Browser, expect

from browser import NARROW, Held, Visitor, visiting
from live import Live
from upstream import Answer, Received, ScriptedUpstream, chunks, completion, streamed, whole

ANSWER = "You still have to book the restaurant."
PASSWORD = "correct horse battery staple"


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


def make(visitor: Visitor, name: str, slug: str, **more: Any) -> str:
    """A room with one agent."""
    visitor.api.post("/v1/agents", json={"slug": slug, "name": slug.capitalize(), **more})
    return visitor.api.post("/v1/rooms", json={"name": name, "agents": [slug]}).json()["id"]


async def turn_into(visitor: Visitor, email: str, path: str) -> None:
    """Another of the account comes to this window, who is no owner of it; `api` stays its owner's."""
    await visitor.context.clear_cookies()
    signed_in = await visitor.context.request.post(
        f"{visitor.server.url}/auth/login", data={"email": email, "password": PASSWORD}
    )
    assert signed_in.ok, await signed_in.text()
    await visitor.go(path)


async def test_an_example_room_answers_from_a_prompt_that_can_be_looked_at_layer_by_layer(
    chromium: Browser, server: Live, model: ScriptedUpstream
) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/rooms")
        await expect(page.get_by_role("heading", name="No room yet")).to_be_visible()
        await visitor.accessible()
        await page.get_by_role("button", name="Make an example room").click()
        log = page.get_by_role("log")
        await expect(log).to_contain_text("What do we still have to do")
        await page.get_by_role("button", name="Let Harbour guide answer").click()
        await expect(log).to_contain_text(ANSWER)
        await expect(page.get_by_role("button", name="Let Harbour guide answer")).to_be_enabled()
        sent = next(one.json for one in model.received if one.body and one.json.get("stream"))
        assert "We take the ferry on the 14th of June." in sent["messages"][0]["content"]
        assert "tools" not in sent  # memory was composed into it: the proxy adds nothing
        room = page.url.partition("room=")[2].partition("&")[0]
        last = visitor.api.get(f"/v1/rooms/{room}/working").json()["items"][-1]
        assert (last["agent"], last["text"]) == ("harbour-guide", ANSWER)

        await page.get_by_role("button", name="Why this answer?").last.click()
        sheet = page.get_by_role("dialog", name="What the agent reads")
        await expect(sheet).to_contain_text("“What do we still have to do before we leave?”")
        await expect(sheet.get_by_role("img", name="of the window")).to_be_visible()
        await sheet.get_by_role("button", name="Exact facts").click()
        await expect(sheet).to_contain_text('room: ferry = "07:30"')
        await sheet.get_by_role("button", name="Landmarks").click()
        await expect(sheet).to_contain_text("We take the ferry on the 14th of June.")
        await visitor.accessible()
        await sheet.get_by_role("button", name="lmk_").first.click()
        await expect(sheet).to_be_hidden()
        await expect(page.get_by_role("tab", name="Landmarks")).to_have_attribute("aria-selected", "true")
        await expect(page.get_by_role("list", name="Landmarks")).to_contain_text("We take the ferry")
        await visitor.accessible()


async def test_an_example_room_is_made_also_where_somebody_else_has_its_agent(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        visitor.allow("409")
        page = visitor.page
        visitor.api.post("/v1/users", json={"email": "leo@example.org", "name": "Leo", "password": PASSWORD})
        make(visitor, "Pier", "harbour-guide")
        await turn_into(visitor, "leo@example.org", "/dashboard/rooms")
        for _ in range(2):
            await page.get_by_role("button", name="Make an example room").click()
            await expect(page.get_by_role("log")).to_contain_text("What do we still have to do")
            await visitor.go("/dashboard/rooms")
        places = page.get_by_role("navigation", name="Conversations")
        await expect(places.get_by_role("button", name="Island trip")).to_have_count(2)
        assert len(visitor.api.get("/v1/agents").json()["items"]) == 2


async def test_agents_and_rooms_are_made_changed_and_deleted_and_come_back(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        visitor.api.post("/v1/users", json={"email": "mia@example.org", "name": "Mia"})
        await visitor.go("/dashboard/rooms")
        await page.get_by_role("button", name="New agent").click()
        form = page.get_by_role("dialog", name="New agent")
        await form.get_by_label("Name", exact=True).fill("Night Scribe")
        await expect(form.get_by_label("Short name")).to_have_value("night-scribe")
        await form.get_by_label("Persona").fill("Be brief.")
        await visitor.accessible()
        await form.get_by_role("button", name="Create").click()
        await expect(page.get_by_role("log")).to_contain_text("stays between you and this agent")
        await page.get_by_label("Say something").fill("Only for you.")
        await page.get_by_label("Say something").press("Enter")
        await expect(page.get_by_role("log")).to_contain_text("Only for you.")
        await page.get_by_role("button", name="Persona").click()
        form = page.get_by_role("dialog", name="Night Scribe")
        await form.get_by_label("Persona").fill("Be long.")
        await form.get_by_role("button", name="Save").click()
        await expect(form).to_be_hidden()
        assert visitor.api.get("/v1/agents/night-scribe").json()["instructions"] == "Be long."

        await page.get_by_role("button", name="New room").click()
        form = page.get_by_role("dialog", name="New room")
        await form.get_by_label("Name", exact=True).fill("Cellar")
        await form.get_by_role("combobox", name="Agents").click()
        await page.get_by_role("option", name="Night Scribe").click()
        await page.keyboard.press("Escape")
        await form.get_by_role("button", name="Create").click()
        await expect(page.get_by_role("heading", name="Cellar")).to_be_visible()
        await page.get_by_role("button", name="Who is in Cellar").click()
        people = page.get_by_role("dialog", name="Who is in Cellar")
        await people.get_by_label("Invite somebody").fill("mia@example.org")
        await people.get_by_role("button", name="Invite").click()
        await expect(people.get_by_role("button", name="Send Mia away")).to_be_visible()
        await visitor.accessible()
        await people.get_by_role("button", name="Send Mia away").click()
        await people.get_by_role("button", name="Send Night Scribe away").click()
        await expect(people.get_by_text("No agent is in this room yet.")).to_be_visible()
        await people.get_by_label("Let an agent in").click()
        await page.get_by_role("option", name="Night Scribe").click()
        await expect(people.get_by_role("button", name="Send Night Scribe away")).to_be_visible()
        await people.get_by_role("button", name="Close").click()

        await page.get_by_role("button", name="More about this room").click()
        await page.get_by_role("menuitem", name="Rename the room").click()
        await page.get_by_role("dialog").get_by_label("Name").fill("Attic")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("heading", name="Attic")).to_be_visible()
        await page.get_by_role("button", name="More about this room").click()
        await page.get_by_role("menuitem", name="Delete the room").click()
        places = page.get_by_role("navigation", name="Conversations")
        await expect(places.get_by_role("button", name="Attic")).to_be_hidden()
        await page.get_by_role("button", name="Undo").click()
        await expect(page.get_by_role("heading", name="Attic")).to_be_visible()

        await places.get_by_role("button", name="Night Scribe").click()
        await page.get_by_role("button", name="Persona").click()
        await page.get_by_role("dialog").get_by_role("button", name="Delete the agent").click()
        await expect(places.get_by_role("button", name="Night Scribe")).to_be_hidden()
        await page.get_by_role("button", name="Undo").click()
        await expect(page.get_by_role("log")).to_contain_text("Only for you.")


async def test_who_is_invited_to_a_room_sees_who_asks_and_accepts_or_declines(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        visitor.api.post("/v1/users", json={"email": "ida@example.org", "name": "Ida", "password": PASSWORD})
        room = make(visitor, "Sauna", "stoker")
        visitor.api.post("/v1/rooms", json={"name": "Choir", "participants": ["ida@example.org"]})
        visitor.api.post(f"/v1/rooms/{room}/messages", json={"text": "It is hot on Sundays."})
        await visitor.go(f"/dashboard/rooms?room={room}")
        await page.get_by_role("button", name="Who is in Sauna: 2").click()
        people = page.get_by_role("dialog", name="Who is in Sauna")
        await expect(people.get_by_text("invited", exact=True)).to_have_count(0)
        await people.get_by_label("Invite somebody").fill("ida@example.org")
        await people.get_by_role("button", name="Invite").click()
        await expect(people.get_by_text("invited", exact=True)).to_be_visible()
        await visitor.accessible()
        await people.get_by_role("button", name="Close").click()
        await expect(page.get_by_role("button", name="Who is in Sauna: 2")).to_be_visible()

        await turn_into(visitor, "ida@example.org", "/dashboard/rooms")
        invitations = page.get_by_role("list", name="Invitations")
        await expect(invitations.get_by_role("listitem")).to_have_count(2)
        await expect(invitations.get_by_role("listitem").filter(has_text="Sauna")).to_contain_text("Owner invites you.")
        await expect(page.get_by_text("None yet. + makes one.")).to_be_visible()
        await visitor.accessible()
        await invitations.get_by_role("button", name="Decline: Choir").click()
        await expect(invitations.get_by_role("listitem")).to_have_count(1)
        await invitations.get_by_role("button", name="Accept: Sauna").click()
        await expect(page.get_by_role("heading", name="Sauna")).to_be_visible()
        await expect(page.get_by_role("log")).to_contain_text("It is hot on Sundays.")
        await expect(invitations).to_have_count(0)
        await page.get_by_role("button", name="Who is in Sauna: 3").click()
        await expect(page.get_by_role("dialog").get_by_text("Ida", exact=True)).to_be_visible()
        await expect(page.get_by_role("dialog").get_by_text("invited", exact=True)).to_have_count(0)
        rooms = {one["name"]: one["participants"] for one in visitor.api.get("/v1/rooms").json()["items"]}
        assert {name: [one["status"] for one in within] for name, within in rooms.items()} == {
            "Sauna": ["joined", "joined"], "Choir": ["joined"],
        }  # fmt: skip


async def test_an_invitation_that_was_withdrawn_meanwhile_goes_from_the_list(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        visitor.allow("404")
        page = visitor.page
        visitor.api.post("/v1/users", json={"email": "udo@example.org", "name": "Udo", "password": PASSWORD})
        visitor.api.post("/v1/rooms", json={"name": "Crypt", "participants": ["udo@example.org"]})
        await turn_into(visitor, "udo@example.org", "/dashboard/rooms")
        accept = page.get_by_role("button", name="Accept: Crypt")
        await expect(accept).to_be_visible()
        [sent] = visitor.api.get("/v1/invitations", params={"sent": True}).json()["items"]
        visitor.api.delete(f"/v1/invitations/{sent['id']}")
        await accept.click()
        await expect(page.get_by_text("There is no such invitation.")).to_be_visible()
        await expect(accept).to_have_count(0)


async def test_why_an_agent_said_something_is_what_it_was_given_then_and_not_a_prompt_of_now(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page, api = visitor.page, visitor.api
        room = make(visitor, "Deck", "bosun")
        api.post(f"/v1/rooms/{room}/messages", json={"text": "I am at the helm."})
        api.post(f"/v1/rooms/{room}/messages", json={"text": "By itself.", "agent": "bosun"})
        asked = api.post(f"/v1/rooms/{room}/messages", json={"text": "What is left to do?"}).json()["id"]
        await visitor.go(f"/dashboard/rooms?room={room}")
        await page.get_by_role("button", name="Let Bosun answer").click()
        await expect(page.get_by_role("log").get_by_role("button", name="Why this answer?")).to_have_count(2)
        said = api.get(f"/v1/rooms/{room}/working").json()["items"][-1]
        assert said["text"] == ANSWER
        trace = api.get(f"/v1/traces/{said['trace_id']}").json()
        assert (trace["kind"], trace["question"]) == ("composition", "What is left to do?")

        api.post(f"/v1/rooms/{room}/landmarks", json={"text": "We anchor at dusk."})
        await page.get_by_role("button", name="Why this answer?").last.click()
        sheet = page.get_by_role("dialog", name="What the agent reads")
        await expect(sheet).to_contain_text("This is what the model was given for this answer")
        await expect(sheet).to_contain_text("“What is left to do?”")
        await sheet.get_by_role("button", name="Last messages").click()
        await expect(sheet).to_contain_text("I am at the helm.")
        await sheet.get_by_role("button", name="Landmarks").click()
        await expect(sheet).to_contain_text("(nothing)")
        await expect(sheet).not_to_contain_text("We anchor at dusk.")
        await visitor.accessible()
        await sheet.get_by_role("button", name="Close").click()

        await page.get_by_role("button", name="Why this answer?").first.click()
        await expect(sheet).to_contain_text("Composed now")
        await sheet.get_by_role("button", name="Landmarks").click()
        await expect(sheet).to_contain_text("We anchor at dusk.")

        api.delete(f"/v1/rooms/{room}/messages/{asked}")
        await visitor.go(f"/dashboard/rooms?room={room}&prompt=bosun&for={said['id']}")
        await expect(sheet).to_contain_text("1 text is no longer shown")
        await expect(sheet).to_contain_text("“[…]”")
        await expect(sheet).not_to_contain_text("What is left to do?")


async def test_who_may_not_speak_as_an_agent_is_told_so_and_keeps_the_text(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        visitor.allow("403")
        page = visitor.page
        visitor.api.post("/v1/users", json={"email": "pia@example.org", "name": "Pia", "password": PASSWORD})
        room = make(visitor, "Temple", "oracle")
        visitor.api.post(f"/v1/rooms/{room}/participants", json={"user": "pia@example.org"})
        visitor.api.post(f"/v1/rooms/{room}/messages", json={"text": "What will be?"})
        await turn_into(visitor, "pia@example.org", "/dashboard/rooms")
        await page.get_by_role("button", name="Accept: Temple").click()
        told = page.get_by_text("Only whoever made Oracle, or an owner of the account, speaks as Oracle.")
        await page.get_by_role("combobox", name="Who says it").click()
        await page.get_by_role("option", name="As Oracle").click()
        await page.get_by_label("Say something").fill("It will rain.")
        await page.get_by_role("button", name="Send").click()
        await expect(told).to_be_visible()
        await expect(page.get_by_label("Say something")).to_have_value("It will rain.")

        await page.get_by_label("Say something").fill("")  # else the draft is said first, and answered
        await page.get_by_role("button", name="Let Oracle answer").click()
        log = page.get_by_role("log")
        await expect(log.get_by_role("alert")).to_contain_text("This answer was not posted")
        await expect(log.get_by_role("alert").locator(told)).to_be_visible()
        await expect(log).to_contain_text(ANSWER)
        await visitor.accessible()
        await log.get_by_role("button", name="Discard").click()
        await expect(log).not_to_contain_text(ANSWER)
        said = visitor.api.get(f"/v1/rooms/{room}/messages").json()["items"]
        assert [one["text"] for one in said] == ["What will be?"]


async def test_what_was_said_is_read_back_to_its_beginning_and_threads_and_capsules_go_with_it(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page, api = visitor.page, visitor.api
        room = make(visitor, "Library", "reader")
        capsule = api.post("/v1/memory/capsules", json={"title": "Shelf plan", "content_md": "Maps are on shelf 9."})
        for number in range(70):
            api.post(f"/v1/rooms/{room}/messages", json={"text": f"Page {number} was read."})
        await visitor.go(f"/dashboard/rooms?room={room}")
        log = page.get_by_role("log")
        await expect(log.get_by_text("Page 69 was read.")).to_be_in_viewport()
        await expect(log).not_to_contain_text("Page 0 was read.")
        await log.hover()
        await page.mouse.wheel(0, -20000)
        await expect(log).to_contain_text("Page 0 was read.")
        await page.get_by_role("button", name="Newest messages").click()
        await expect(log.get_by_text("Page 69 was read.")).to_be_in_viewport()

        await page.get_by_role("button", name="Attach a capsule").click()
        await page.get_by_role("dialog").get_by_text("Shelf plan").click()
        await page.keyboard.press("Escape")
        await page.get_by_label("Say something").fill("Where are the maps?")
        await page.get_by_role("button", name="Send").click()
        await expect(log.get_by_role("button", name="Shelf plan")).to_be_visible()
        await page.get_by_role("button", name="Show the prompt").click()
        sheet = page.get_by_role("dialog", name="What the agent reads")
        await sheet.get_by_role("button", name="The message").click()
        await expect(sheet).to_contain_text("Maps are on shelf 9.")
        await sheet.get_by_role("button", name="Close").click()
        said = api.get(f"/v1/rooms/{room}/working").json()["items"][-1]
        assert said["attachments"] == [{"type": "capsule", "id": capsule.json()["id"], "name": "Shelf plan"}]

        await page.get_by_role("combobox", name="Who says it").click()
        await page.get_by_role("option", name="As Reader").click()
        await page.get_by_label("Say something").fill("On shelf nine.")
        await page.get_by_role("button", name="Send").click()
        await expect(log.get_by_role("button", name="Why this answer?")).to_be_visible()

        await page.get_by_role("button", name="Threads").click()
        await page.get_by_role("menuitem", name="Open a thread").click()
        await page.get_by_label("What it is about").fill("Opening hours")
        await page.get_by_role("button", name="Open", exact=True).click()
        await expect(log).to_contain_text("Nothing was said here yet.")
        await page.get_by_label("Say something").fill("We decided to open at nine.")
        await page.get_by_role("button", name="Send").click()
        await expect(log).to_contain_text("We decided to open at nine.")
        await page.get_by_role("button", name="Opening hours").first.click()
        await page.get_by_role("menuitem", name="Close this thread").click()
        await expect(page.get_by_role("list", name="Summaries")).to_contain_text("open at nine")
        await page.get_by_role("button", name="Opening hours").first.click()
        await page.get_by_role("menuitem", name="The whole room").click()
        await expect(log.get_by_role("button", name="Opening hours")).to_be_visible()
        await visitor.accessible()


async def test_landmarks_facts_and_memories_are_kept_beside_the_conversation(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        room = make(visitor, "Harbour", "pilot")
        visitor.api.post(f"/v1/rooms/{room}/messages", json={"text": "We ship on Tuesdays."})
        await visitor.go(f"/dashboard/rooms?room={room}")
        await page.get_by_role("button", name="More about what").click()
        await page.get_by_role("menuitem", name="Pin as a landmark").click()
        landmarks = page.get_by_role("list", name="Landmarks")
        await expect(landmarks).to_contain_text("We ship on Tuesdays.")
        await landmarks.get_by_role("button", name="Correct").click()
        await page.get_by_role("menuitem", name="Replace").click()
        await page.get_by_label("Pin a decision").fill("We ship on Mondays.")
        await page.get_by_role("button", name="Pin", exact=True).click()
        await expect(landmarks).to_contain_text("We ship on Mondays.")
        await expect(landmarks).not_to_contain_text("We ship on Tuesdays.")
        await page.get_by_role("switch", name="Show what no longer holds").click()
        await expect(landmarks).to_contain_text("superseded by “We ship on Mondays.”")
        await visitor.accessible()
        await landmarks.get_by_role("button", name="Correct “We ship on Tuesdays.”").click()
        await page.get_by_role("menuitem", name="It holds again").click()
        await expect(landmarks.get_by_text("No longer holds")).to_have_count(0)

        await page.get_by_role("tab", name="Facts").click()
        facts = page.get_by_role("list", name="Facts")
        for value in ("12345678901234567890.10", "{'eur': 2}".replace("'", '"')):
            if value.startswith("{"):
                await facts.get_by_role("button", name="Change").click()
            else:
                await page.get_by_label("Key").fill("budget")
            await page.get_by_label("Value").fill(value)
            await page.get_by_role("button", name="Save" if value.startswith("{") else "Add").click()
            await expect(facts).to_contain_text(value.replace(" ", ""))
        await facts.get_by_role("button", name="History").click()
        await expect(facts).to_contain_text("12345678901234567890.10")
        await visitor.accessible()
        await facts.get_by_role("button", name="Delete").click()
        await expect(page.get_by_text("A fact is a value that should be exact")).to_be_visible()
        await page.get_by_role("button", name="Undo").click()
        await expect(facts).to_contain_text("budget")
        await page.get_by_label("As it was at").fill("2020-01-01T00:00")
        await expect(page.get_by_text("A fact is a value that should be exact")).to_be_visible()

        await page.get_by_role("tab", name="Memories").click()
        await page.get_by_role("tabpanel", name="Memories").get_by_text("You", exact=True).click()
        await page.get_by_label("Let agents know something of you").fill("I prefer short answers.")
        await page.get_by_role("button", name="Add").click()
        memories = page.get_by_role("list", name="Memories")
        await expect(memories).to_contain_text("I prefer short answers.")
        path = f"/v1/profiles/{visitor.api.get('/v1/me').json()['user']['id']}/memories"
        old = visitor.api.post(path, json={"text": "I live in Porto."}).json()["id"]
        visitor.api.post(path, json={"text": "I moved to Faro.", "supersede": [old]})
        await page.get_by_role("switch", name="Show what no longer holds").click()
        await expect(memories).to_contain_text("superseded by “I moved to Faro.”")
        await visitor.accessible()
        await memories.get_by_role("button", name="Correct “I live in Porto.”").click()
        await page.get_by_role("menuitem", name="It holds again").click()
        await expect(memories.get_by_text("superseded by")).to_have_count(0)
        await expect(memories).to_contain_text("I live in Porto.")


async def test_on_a_phone_in_chinese_a_room_is_read_and_what_is_remembered_lies_behind_a_button(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server, viewport=NARROW, locale="zh-CN") as visitor:
        page = visitor.page
        room = make(visitor, "Quay", "mate")
        visitor.api.post(f"/v1/rooms/{room}/messages", json={"text": "我们六月出发。"})
        await visitor.go("/dashboard/rooms")
        await page.get_by_role("button", name="Quay").click()
        await expect(page.get_by_role("log")).to_contain_text("我们六月出发。")
        await visitor.accessible()
        await page.get_by_role("button", name="记住了什么").click()
        await page.get_by_role("tab", name="路标").click()
        await page.get_by_label("钉住一个决定").fill("六月出发。")
        await page.get_by_role("button", name="钉住", exact=True).click()
        await expect(page.get_by_role("list", name="路标")).to_contain_text("六月出发。")
        await visitor.accessible()
        await page.get_by_role("button", name="关闭").click()
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await page.get_by_role("button", name="全部对话").click()
        await expect(page.get_by_role("navigation", name="对话", exact=True)).to_be_visible()


async def test_without_a_language_model_one_is_told_how_to_connect_one_and_answers_for_the_agent(
    chromium: Browser, dashboard: Live
) -> None:
    async with visiting(chromium, dashboard) as visitor:
        page = visitor.page
        room = make(visitor, "Quiet", "muse")
        visitor.api.post(f"/v1/rooms/{room}/messages", json={"text": "Is anybody there?"})
        late = Held()
        await page.route("**/v1/models", late)
        await visitor.go(f"/dashboard/rooms?room={room}")
        await expect(page.get_by_role("log")).to_contain_text("Is anybody there?")
        await expect(page.get_by_role("button", name="Let Muse answer")).to_be_disabled()
        late.release()
        await page.get_by_role("button", name="Let Muse answer").click()
        hint = page.get_by_role("dialog", name="No language model is connected")
        await expect(hint).to_contain_text("KEEPSTONE_LLM_PROVIDER=openai")
        await visitor.accessible()
        await hint.get_by_role("button", name="Close").click()
        await page.get_by_role("combobox", name="Who says it").click()
        await page.get_by_role("option", name="As Muse").click()
        await page.get_by_label("Say something").fill("I am.")
        await page.get_by_label("Say something").press("Enter")
        await expect(page.get_by_role("log")).to_contain_text("I am.")
