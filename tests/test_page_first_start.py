"""What a new server and a new person need: models and mail, a welcome, invite links, imports, an audit log."""

import json
import re
import zipfile
from collections.abc import Generator
from io import BytesIO
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser, expect

from browser import NARROW, answers, dashboard_server, visiting
from exports import chatgpt_zip
from live import Live
from mails import mailbox
from talk_exports import UNSURE
from upstream import Answer, Received, ScriptedUpstream, completion, error, whole

PASSWORD = "correct horse battery staple"
KEY = "sk-a-secret-that-nobody-sees-7788"


@pytest.fixture
def server(dashboard: Live) -> Live:
    return dashboard


@pytest.fixture(scope="module")
def own() -> Generator[Live]:
    """A server whose providers are set here: those of the others stay as they are."""
    server = dashboard_server(KEEPSTONE_EMBEDDINGS_PROVIDER="")
    yield server
    server.stop()


def provider(request: Received) -> Answer:
    if request.headers.get("authorization") != f"Bearer {KEY}":
        return error(401, "no")
    if request.path.endswith("/models"):
        return whole({"object": "list", "data": [{"id": "large"}, {"id": "small"}]})
    if request.json["model"] not in {"large", "small"}:
        return error(404, "no such model")
    if request.path.endswith("/embeddings"):
        return whole({"data": [{"index": n, "embedding": [1.0, 0.5]} for n in range(len(request.json["input"]))]})
    return completion("ready")


async def test_a_model_embeddings_and_mail_are_tested_connected_and_disconnected(chromium: Browser, own: Live) -> None:
    upstream = ScriptedUpstream()
    upstream.otherwise = provider
    async with mailbox() as box, visiting(chromium, own) as visitor:
        page, api = visitor.page, visitor.api
        api.post("/v1/memory/capsules", json={"content_md": "The ferry leaves at noon."}).raise_for_status()
        await visitor.go("/dashboard/settings/models")
        card = page.get_by_role("region", name="Language model")
        await card.get_by_role("combobox", name="Provider").click()
        await page.get_by_role("option", name="Other, OpenAI-compatible").click()
        test, save = card.get_by_role("button", name="Test"), card.get_by_role("button", name="Save and use")
        address, key, model = (card.get_by_label(name, exact=True) for name in ("Address", "Key", "Model"))
        for where, secret, named, told in (
            ("http://127.0.0.1:1/v1", KEY, "", "Nobody answers at this address"),
            (upstream.url, "wrong", "", "It refused the key"),
            (upstream.url.removesuffix("/v1") + "/no", KEY, "", "not as an OpenAI-compatible endpoint"),
            (upstream.url, KEY, "huge", "It does not know this model"),
        ):
            upstream.otherwise = provider if not where.endswith("/no") else lambda _: error(404, "nothing here")
            await address.fill(where)
            await key.fill(secret)
            await model.fill(named)
            await test.click()
            await expect(card.get_by_role("alert")).to_contain_text(told)
        await visitor.accessible()
        await model.fill("")
        await model.click()
        await page.get_by_role("option", name="small").click()
        await test.click()
        await expect(card.get_by_role("status")).to_contain_text("It works")
        await save.click()
        await expect(card.get_by_text("Connected", exact=True)).to_be_visible()
        await page.reload()
        await expect(card).to_contain_text("A key ending in 7788 is kept")
        assert KEY not in await page.content()
        await expect(model).to_have_value("small")
        assert api.get("/v1/settings/providers").json()["defaults"]["chat"] == {
            "provider": "main", "model": "small", "fixed": False, "by": None,
        }  # fmt: skip

        card = page.get_by_role("region", name="Embeddings")
        await expect(card.get_by_text("Built in", exact=True)).to_be_visible()
        await card.get_by_role("combobox", name="Provider").click()
        await page.get_by_role("option", name="Other, OpenAI-compatible").click()
        await card.get_by_label("Address", exact=True).fill(upstream.url)
        await card.get_by_label("Key", exact=True).fill(KEY)
        await card.get_by_label("Model", exact=True).fill("large")
        await card.get_by_role("button", name="Test").click()
        await expect(card).to_contain_text("It gave a vector of 2 dimensions")
        await card.get_by_role("button", name="Save and use").click()
        await expect(card.get_by_text("Connected", exact=True)).to_be_visible()
        await expect(card).to_contain_text("Everything that is kept gets new vectors")

        card = page.get_by_role("region", name="Mail")
        box.password = "letmein"
        await card.get_by_label("Mail server").fill("127.0.0.1")
        await card.get_by_label("Port").fill(box.url.rpartition(":")[2])
        await card.get_by_label("User").fill("keepstone")
        await card.get_by_label("Password", exact=True).fill("wrong")
        await card.get_by_label("Sender").fill("keepstone@example.org")
        await card.get_by_role("button", name="Send a test").click()
        await expect(card.get_by_role("alert")).to_contain_text("refused the user or the password")
        await card.get_by_label("Password", exact=True).fill("letmein")
        await card.get_by_role("button", name="Send a test").click()
        await expect(card.get_by_role("status")).to_contain_text(f"A message is on its way to {visitor.email}")
        assert [(one["To"], one["From"]) for one in box.messages] == [(visitor.email, "keepstone@example.org")]
        await card.get_by_role("button", name="Save and use").click()
        await expect(card.get_by_text("Connected", exact=True)).to_be_visible()
        await visitor.accessible()

        card = page.get_by_role("region", name="Language model")
        await card.get_by_role("button", name="Disconnect").click()
        await page.get_by_role("dialog").get_by_role("button", name="Disconnect").click()
        await expect(card.get_by_text("Not connected", exact=True)).to_be_visible()
        assert [one["name"] for one in api.get("/v1/settings/providers").json()["providers"]] == ["vectors", "mail"]
    upstream.stop()


async def test_what_the_environment_sets_is_shown_as_fixed_with_the_reason(
    chromium: Browser, dashboard_with_model: Live
) -> None:
    async with visiting(chromium, dashboard_with_model) as visitor:
        await visitor.go("/dashboard/settings/models")
        card = visitor.page.get_by_role("region", name="Language model")
        await expect(card).to_contain_text("The environment variable KEEPSTONE_LLM_PROVIDER sets this")
        await expect(card.get_by_role("button", name="Save and use")).to_have_count(0)


async def test_somebody_is_invited_by_link_and_joins_on_a_phone_in_chinese(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/settings/people")
        card = page.get_by_role("region", name="Invite by link")
        await card.get_by_role("button", name="Make a link").click()
        first = await card.get_by_label("The link", exact=True).input_value()
        await card.get_by_role("button", name="Take back this link: For whoever has it").click()
        await expect(card).to_contain_text("No link is waiting to be used.")
        email = f"li@{visitor.email.partition('@')[2]}"
        await card.get_by_label("E-mail").fill(email)
        await card.get_by_role("button", name="Make a link").click()
        await expect(card.get_by_role("listitem")).to_contain_text(email)
        url = await card.get_by_label("The link", exact=True).input_value()
        await visitor.accessible()
        async with visiting(chromium, server, viewport=NARROW, locale="zh-CN", color_scheme="dark") as invited:
            await invited.context.clear_cookies()
            there = invited.page
            invited.allow("404|400")
            await invited.go("/join/" + first.rpartition("/")[2])
            await expect(there.get_by_role("heading", name="这个邀请已失效")).to_be_visible()
            await invited.go("/join/" + url.rpartition("/")[2])
            await expect(there.get_by_label("邮箱")).to_have_value(email)
            await invited.accessible()
            await there.get_by_label("姓名").fill("李雷")
            await there.get_by_label("密码").fill(PASSWORD)
            await there.get_by_role("button", name="加入").click()
            await expect(there).to_have_url(f"{server.url}/dashboard/recall")
        await page.reload()
        row = page.get_by_role("list", name="People").get_by_role("listitem").filter(has_text="李雷")
        await expect(row).to_contain_text(email)
        await expect(card).to_contain_text("No link is waiting to be used.")


async def test_the_audit_log_says_in_sentences_who_did_what_and_is_filtered(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page, api = visitor.page, visitor.api
        api.patch("/v1/me", json={"name": "Anna"}).raise_for_status()
        made = api.post("/v1/memory/capsules", json={"title": "Login from Clerk", "content_md": "Bought."}).json()
        api.patch(f"/v1/memory/capsules/{made['id']}", json={"content_md": "Bought, not built."}).raise_for_status()
        email = f"ben@{visitor.email.partition('@')[2]}"
        ben = api.post("/v1/users", json={"email": email, "name": "Ben", "password": PASSWORD}).json()["id"]
        with httpx.Client(base_url=server.url) as theirs:
            theirs.post("/auth/login", json={"email": email, "password": PASSWORD}).raise_for_status()
            for text in ("one", "two", "three"):
                theirs.post("/v1/memory/capsules", json={"title": "Hidden", "content_md": text}).raise_for_status()
        await visitor.go("/dashboard/settings/audit")
        today = page.get_by_role("region", name="Today")
        said = "Anna, with the key “first key”, changed the capsule “Login from Clerk”"
        await expect(today.get_by_text(said)).to_be_visible()
        await expect(today.get_by_text("Ben made 3 capsules")).to_be_visible()
        await today.get_by_role("button", name="Show each").first.click()
        await expect(today.get_by_text("Ben made the capsule", exact=True)).to_have_count(3)
        assert "Hidden" not in await page.inner_text("body"), "what another keeps is not told"
        await visitor.accessible()
        await page.get_by_role("combobox", name="Person").click()
        await page.get_by_role("option", name="Ben").click()
        await expect(today.get_by_text(said)).to_have_count(0)
        await page.get_by_role("combobox", name="Kind of thing").click()
        await page.get_by_role("option", name="Signing in").click()
        await expect(today.get_by_text("Ben signed in")).to_be_visible()
        await expect(today.get_by_text("Ben made 3 capsules")).to_have_count(0)
        await expect(page).to_have_url(re.compile(f"person={ben}&kind=session"))
        link = page.get_by_role("link", name="Download CSV")
        await expect(link).to_have_attribute("href", re.compile(f"user_id={ben}&action=session"))


async def test_an_export_is_dropped_looked_at_brought_in_and_reported(
    chromium: Browser, server: Live, tmp_path: Path
) -> None:
    async with visiting(chromium, server) as visitor:
        page, api = visitor.page, visitor.api
        await visitor.go("/dashboard/settings/import")
        file = page.locator("input[type=file]")
        visitor.allow("400")
        await file.set_input_files({"name": "a.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7 x"})
        await expect(page.get_by_role("alert")).to_contain_text("a.pdf looks like a PDF")
        # Several notes at once, dropped anywhere.
        await page.evaluate(
            """() => {
                const data = new DataTransfer()
                data.items.add(new File(['# One\\n\\nThe first note.'], 'one.md'))
                data.items.add(new File(['# Two\\n\\nThe second note.'], 'two.md'))
                for (const kind of ['dragover', 'drop'])
                    document.querySelector('h1').dispatchEvent(
                        new DragEvent(kind, {bubbles: true, cancelable: true, dataTransfer: data}))
            }"""
        )
        preview = page.get_by_role("region", name="This would come in")
        await expect(preview).to_contain_text("Markdown")
        await expect(preview).to_contain_text("2 notes")
        await expect(preview.get_by_role("list", name="Some of it")).to_contain_text("The second note.")
        assert api.get("/v1/memory/usage").json()["count"] == 0, "only looked at"
        await visitor.accessible()
        await preview.get_by_role("button", name="Bring it in").click()
        runs = page.get_by_role("region", name="Imports")
        await expect(runs.get_by_role("listitem").first).to_contain_text("New: 2 notes")
        assert api.get("/v1/memory/usage").json()["count"] == 2
        # What ChatGPT remembers, into capsules.
        path = tmp_path / "chatgpt.zip"
        chatgpt_zip(path, 3)
        await file.set_input_files(path)
        await expect(preview).to_contain_text("ChatGPT")
        await expect(preview).to_contain_text("3 conversations")
        await preview.get_by_role("combobox", name="Where to").click()
        await page.get_by_role("option", name="Everything into capsules").click()
        await preview.get_by_role("button", name="Bring it in").click()
        await expect(runs.get_by_role("listitem").first).to_contain_text("ChatGPT · chatgpt.zip")
        await expect(runs.get_by_role("listitem").first).to_contain_text("Done")
        await page.reload()
        await expect(runs.get_by_role("listitem").first).to_contain_text("ChatGPT · chatgpt.zip")
        # What a group said, whose dates can be read in two ways.
        name = "WhatsApp Chat with Crew.txt"
        await file.set_input_files({"name": name, "mimeType": "text/plain", "buffer": UNSURE.encode()})
        await expect(preview).to_contain_text("they are read with the day first")
        await preview.get_by_role("combobox", name="Dates in it").click()
        await page.get_by_role("option", name="The month first").click()
        await visitor.accessible()
        await preview.get_by_role("button", name="Bring it in").click()
        await expect(runs.get_by_role("listitem").first).to_contain_text("New: 2 messages")
        said = api.get("/v1/scopes/whatsapp:Crew/messages").json()["items"]
        assert {one["ts"][:7] for one in said} == {"2024-03"}
        assert api.get("/v1/memory/usage").json()["count"] >= 5
        async with page.expect_download() as given:
            await page.get_by_role("link", name="Archive (JSON)").click()
        saved = tmp_path / "everything.zip"
        await (await given.value).save_as(saved)
        with zipfile.ZipFile(BytesIO(saved.read_bytes())) as archive:
            assert json.loads(archive.read("archive.json"))
        await file.set_input_files(saved)
        await expect(preview).to_contain_text("Keepstone archive")
        await preview.get_by_role("button", name="Bring it in").click()
        await expect(runs.get_by_role("listitem").first).to_contain_text("Here already")


async def test_a_newcomer_is_led_through_three_steps_in_their_own_time_zone_and_not_again(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server, timezone_id="Asia/Tokyo") as visitor:
        page, api = visitor.page, visitor.api
        async with page.expect_response(answers("PATCH", "/v1/me")):
            await visitor.go("/dashboard/recall")
        me = api.get("/v1/me").json()
        assert (me["user"]["timezone"], me["account"]["timezone"]) == ("Asia/Tokyo", "Asia/Tokyo")
        welcome = page.get_by_role("region", name="Welcome to Keepstone")
        await expect(welcome.get_by_role("heading", name="Connect a language model")).to_be_visible()
        await visitor.accessible()
        await welcome.get_by_role("button", name="Skip this step").click()
        await expect(welcome.get_by_role("heading", name="Bring in what you have")).to_be_visible()
        await welcome.get_by_role("button", name="Try it with an example").click()
        await expect(welcome.get_by_role("heading", name="Connect a program")).to_be_visible()
        await expect(page.get_by_text("Login from Clerk").first).to_be_visible()
        await page.reload()
        await expect(welcome.get_by_role("heading", name="Connect a program")).to_be_visible()
        await welcome.get_by_role("button", name="Make a key for this").click()
        await expect(welcome).to_contain_text("is filled in below")
        await visitor.accessible()
        await welcome.get_by_role("button", name="Done").click()
        await expect(welcome).to_have_count(0)
        assert api.get("/v1/me").json()["user"]["welcome"] == 3
        await visitor.go("/dashboard/settings/profile")
        await expect(page.get_by_role("combobox", name="Time zone")).to_have_value("Asia/Tokyo")
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/recall")
        await page.get_by_role("button", name="Don’t show this again").click()
        await expect(page.get_by_role("heading", name="Keep what is worth finding again")).to_be_visible()
        await page.reload()
        await expect(page.get_by_role("button", name="Write a capsule")).to_be_visible()
        await expect(page.get_by_role("region", name="Welcome to Keepstone")).to_have_count(0)
