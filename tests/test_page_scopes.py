"""The page of scopes: which there are, what was said, what they answer and what is known of people."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.async_api import Browser, expect

from browser import NARROW, Visitor, answers, visiting
from live import Live

BEGUN = datetime(2026, 1, 5, 9, tzinfo=UTC)


@pytest.fixture
def server(dashboard: Live) -> Live:
    return dashboard


def fill(visitor: Visitor, many: int, scope: str = "long") -> None:
    """A conversation that goes on for days; in its middle the key of the shed is spoken of."""
    said = [
        {
            "speaker": ("Ida", "Uwe")[number % 2], "text": f"Day by day, line {number}.", "id": str(number),
            "ts": (BEGUN + timedelta(hours=number)).isoformat(),
        }
        for number in range(many)
    ]  # fmt: skip
    said[many // 2]["text"] = "The key of the shed hangs behind the blue door."
    said[many - 1]["reply_to"] = str(many - 2)
    visitor.api.post("/v1/ingest", json={"scope_id": scope, "transcript": said}).raise_for_status()


async def test_an_example_answers_with_numbers_that_lead_to_what_was_said_and_says_when_it_does_not_know(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server, permissions=["clipboard-read", "clipboard-write"]) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/scopes")
        await expect(page.get_by_role("heading", name="Try a conversation that answers")).to_be_visible()
        await visitor.accessible()
        await page.get_by_role("button", name="Fill in an example").click()
        talk = page.get_by_role("log", name="What was said")
        await expect(talk).to_contain_text("I live in Lisbon now")
        await expect(page.get_by_role("link", name="example-island")).to_contain_text("8 messages · 3 people")
        await page.get_by_role("button", name="What can Cleo not eat?").click()
        await expect(page.get_by_role("heading", name="Answer")).to_be_visible()
        evidence = page.get_by_role("list", name="Evidence")
        await expect(evidence).to_contain_text("nuts")
        await page.get_by_role("button", name="Source 1: show it in the conversation").click()
        await expect(talk.locator("[aria-current]")).to_contain_text("I can’t eat nuts")
        await expect(talk.locator("[aria-current]")).to_be_in_viewport()
        await visitor.accessible()

        await page.get_by_role("button", name="The same call with curl").click()
        await page.get_by_role("button", name="Copy the call").click()
        copied = await visitor.copied(lambda text: text.startswith(f"curl {server.url}/v1/ask"))
        assert '"question": "What can Cleo not eat?"' in copied

        await page.get_by_role("button", name="What is the password of the router?").click()
        await expect(page.get_by_text("Not enough evidence")).to_be_visible()
        await visitor.accessible()
        await expect(page).to_have_url(re.compile(r"q=What\+is\+the\+password"))
        await page.get_by_role("link", name="What memory did").click()
        await expect(page.get_by_role("dialog")).to_contain_text("What is the password of the router?")


async def test_a_long_conversation_comes_as_it_is_read_and_jumps_to_a_source_and_to_a_day(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        fill(visitor, 500)
        visitor.api.post("/v1/ingest", json={"scope_id": "short", "transcript": [{"speaker": "Ida", "text": "Hello."}]})
        await visitor.go("/dashboard/scopes?scope=long")
        talk = page.get_by_role("log", name="What was said")
        last = talk.get_by_text("Day by day, line 499.")
        await expect(last).to_be_in_viewport()
        await expect(talk).to_contain_text("Ida: Day by day, line 498.")
        await expect(talk.get_by_text("Day by day, line 300.")).to_have_count(0)

        held = talk.get_by_text("Day by day, line 445.")
        async with page.expect_response(answers("GET", "/v1/scopes/long/messages")):
            await held.evaluate("one => one.closest('[role=log]').scrollTop = 0")
        await expect(talk.get_by_text("Day by day, line 390.")).to_be_attached()
        await expect(held).to_be_in_viewport()

        await page.get_by_role("textbox", name="Question").fill("Where is the key of the shed?")
        await page.get_by_role("button", name="Ask", exact=True).click()
        await page.get_by_role("button", name="Source 1: show it in the conversation").click()
        cited = talk.locator("[aria-current]")
        await expect(cited).to_contain_text("behind the blue door")
        await expect(cited).to_be_in_viewport()
        await expect(talk.get_by_text("Day by day, line 249.")).to_be_attached()
        await expect(last).to_have_count(0)

        await page.get_by_label("Go to a day").fill("2026-01-07")
        await expect(cited).to_contain_text("line 39.")
        await page.get_by_role("button", name="To the newest").click()
        await expect(last).to_be_in_viewport()

        await page.get_by_role("textbox", name="Find a conversation").fill("shor")
        await expect(page.get_by_role("link", name="long")).to_have_count(0)
        await page.get_by_role("link", name="short").click()
        await expect(talk).to_contain_text("Hello.")


async def test_a_pasted_conversation_is_kept_and_found_again_and_what_is_known_of_people_is_corrected(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/scopes")
        await page.get_by_role("button", name="Add a conversation of my own").click()
        await page.get_by_role("textbox", name="Scope").fill("gardeners")
        await page.get_by_role("button", name="Begin").click()
        await page.get_by_role("textbox", name="Transcript").fill(
            "Ida: I live in Bergen.\nUwe: I water the tomatoes\non Mondays."
        )
        await expect(page.get_by_text("2 messages of Ida, Uwe")).to_be_visible()
        await visitor.accessible()
        await page.get_by_role("button", name="Ingest").click()
        await expect(page.get_by_text("2 messages were kept in “gardeners”.")).to_be_visible()
        talk = page.get_by_role("log", name="What was said")
        await expect(talk).to_contain_text("I live in Bergen.")

        dropped = '[{"speaker": "Ida", "text": "The shed key hangs behind the door.", "ts": "2026-03-01T10:00:00Z"}]'
        async with page.expect_file_chooser() as chosen:
            await page.get_by_role("button", name="Choose a file").click()
        await (await chosen.value).set_files(
            {"name": "talk.json", "mimeType": "application/json", "buffer": dropped.encode()}
        )
        await expect(page.get_by_text("1 message of Ida")).to_be_visible()
        await page.get_by_role("button", name="Ingest").click()
        await expect(page.get_by_text("1 message was kept in “gardeners”.")).to_be_visible()

        await page.get_by_role("tab", name="What matters now").click()
        panel = page.get_by_role("tabpanel", name="What matters now")
        await panel.get_by_label("What is being said").fill("Where is the key of the shed?")
        await panel.get_by_role("slider").press("Home")
        await expect(panel.get_by_text("How sure it has to be: 0%")).to_be_visible()
        await panel.get_by_role("button", name="Recall").click()
        first = panel.get_by_role("list", name="Evidence").get_by_role("listitem").first
        await expect(first).to_contain_text("The shed key hangs behind the door.")
        await expect(first).to_contain_text("Mar 1, 2026")
        await panel.get_by_role("button", name="Context for a prompt").click()
        await expect(panel.get_by_role("region", name="Context for a prompt")).to_contain_text("The shed key")
        await visitor.accessible()

        await visitor.go("/dashboard/scopes?scope=gardeners&tab=people")
        ida = page.get_by_role("region", name="Ida")
        await expect(ida).to_contain_text("Bergen")
        await visitor.accessible()
        await ida.get_by_role("button", name=re.compile("Correct:")).first.click()
        await ida.get_by_role("textbox").fill("lives in Oslo")
        await ida.get_by_role("button", name="Save").click()
        await expect(ida).to_contain_text("lives in Oslo")
        await ida.get_by_role("button", name="Show where it was said: lives in Oslo").click()
        await expect(talk.locator("[aria-current]")).to_contain_text("I live in Bergen.")
        await ida.get_by_role("button", name="Take back: lives in Oslo").click()
        gone = page.get_by_role("region", name="Taken back")
        await gone.get_by_role("button", name="Bring back").click()
        await expect(gone).to_have_count(0)
        await expect(ida).to_contain_text("lives in Oslo")


async def test_on_a_phone_in_chinese_a_scope_is_filled_and_asked(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server, viewport=NARROW, locale="zh-CN") as visitor:
        page = visitor.page
        await visitor.go("/dashboard/scopes")
        await page.get_by_role("button", name="填入一个示例").click()
        await page.get_by_role("button", name="克莱奥不能吃什么？").click()
        await expect(page.get_by_role("list", name="依据")).to_contain_text("坚果")
        await visitor.accessible()
        await page.get_by_role("button", name="来源 1：在对话中显示").click()
        await expect(page.get_by_role("log").locator("[aria-current]")).to_contain_text("坚果")
        await expect(page.get_by_role("log").locator("[aria-current]")).to_be_in_viewport()
        await visitor.accessible()
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await page.get_by_role("button", name="全部对话").click()
        await expect(page.get_by_role("link", name="example-island")).to_be_visible()


async def test_a_conversation_of_a_hundred_thousand_messages_is_read_from_its_end_and_from_any_day(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page, many = visitor.page, 100_000
        fill(visitor, 2)
        user = visitor.api.get("/v1/me").json()["user"]["id"]
        with server.past_the_api() as conn:
            conn.execute(
                """
                INSERT INTO messages (account, space, id, speaker, text, at)
                SELECT s.account, s.space, 'msg_' || substr(md5(s.space || ':' || n), 1, 24),
                       CASE n %% 2 WHEN 0 THEN 'Ida' ELSE 'Uwe' END, 'Minute by minute, line ' || n || '.',
                       %(begun)s::timestamptz + n * interval '1 minute'
                  FROM spaces s, generate_series(1, %(many)s) n
                 WHERE s.kind = 'scope' AND s.name = 'long' AND s.owner = %(user)s
                """,
                {"many": many, "begun": BEGUN + timedelta(hours=2), "user": user},
            )
            conn.execute("ANALYZE messages")
        await visitor.go("/dashboard/scopes?scope=long")
        talk = page.get_by_role("log", name="What was said")
        await expect(talk.get_by_text(f"Minute by minute, line {many}.")).to_be_in_viewport()
        await page.get_by_label("Go to a day").fill("2026-01-06")
        await expect(talk.locator("[aria-current]")).to_contain_text("Minute by minute, line 780.")
        assert await talk.get_by_text("Minute by minute").count() < 1000, "only what is near is loaded"
        await page.get_by_role("button", name="To the newest").click()
        await expect(talk.get_by_text(f"Minute by minute, line {many}.")).to_be_in_viewport()
        await visitor.accessible()
