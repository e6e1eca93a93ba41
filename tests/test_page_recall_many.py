"""Recall with many capsules: choosing rows, projects, tags and kinds of one's own, merges taken back, the curator, and
36,000 of them in one list."""

import re
from datetime import UTC, datetime

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from browser import NARROW, Held, Visitor, visiting
from live import Live

CAPSULES = "/v1/memory/capsules"
MANY = 36_000
NOTES = {
    "Ferry": ("The boat leaves the harbour at nine.", ["trip", "sea"]),
    "Tickets": ("Tickets are sold on the pier for 12 euros.", ["trip"]),
    "Bread": ("The dough rests overnight in the cold.", ["kitchen"]),
}
TALK = """Anna: Which database do we take?
Ben: We decided to use Postgres, because it has transactions and everybody knows it.
Anna: Good. And the launch is on 14 June 2027, that is fixed.
Ben: ok
"""


@pytest.fixture
def server(dashboard: Live) -> Live:
    return dashboard


def keep(visitor: Visitor, title: str, content: str, tags: list[str]) -> str:
    body = {"title": title, "content_md": content, "tags": tags}
    return visitor.api.post(CAPSULES, json=body).raise_for_status().json()["id"]


def keep_notes(visitor: Visitor) -> dict[str, str]:
    return {title: keep(visitor, title, *note) for title, note in NOTES.items()}


def rows(page: Page) -> Locator:
    return page.get_by_role("article")


def told(page: Page, words: str) -> Locator:
    return page.get_by_role("alert").filter(has_text=words)


async def test_chosen_rows_are_tagged_moved_given_a_kind_and_deleted_together_and_it_can_be_undone(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page, api = visitor.page, visitor.api
        ids = keep_notes(visitor)

        def kept(title: str) -> dict[str, object]:
            return api.get(f"{CAPSULES}/{ids[title]}").raise_for_status().json()

        await visitor.go("/dashboard/recall")
        bar = page.get_by_role("region", name="Selected capsules")
        await page.get_by_role("checkbox", name="Select “Ferry”").check(force=True)
        await page.get_by_role("checkbox", name="Select “Bread”").click(force=True, modifiers=["Shift"])
        await expect(bar).to_contain_text("3 selected")
        await visitor.accessible()
        await page.get_by_role("checkbox", name="Select “Bread”").click(force=True)
        await bar.get_by_role("button", name="Add tags").click()
        dialog = page.get_by_role("dialog", name="Add tags to 2 capsules")
        await dialog.get_by_label("Tags").fill("summer")
        await dialog.get_by_role("button", name="Apply").click()
        await expect(told(page, "2 capsules tagged summer.")).to_be_visible()
        assert [sorted(kept(title)["tags"]) for title in ids] == [  # type: ignore[arg-type]
            ["sea", "summer", "trip"], ["summer", "trip"], ["kitchen"],
        ]  # fmt: skip
        await told(page, "tagged").get_by_role("button", name="Undo").click()
        await expect(rows(page).filter(has_text="#summer")).to_have_count(0)

        await bar.get_by_role("button", name="Project").click()
        dialog = page.get_by_role("dialog", name="Move 2 capsules to a project")
        await dialog.get_by_label("Project").fill("Island")
        await page.get_by_role("option", name="Make project “Island”").click()
        await dialog.get_by_role("button", name="Apply").click()
        await expect(told(page, "2 capsules moved.")).to_be_visible()
        await expect(rows(page).get_by_role("button", name="Show only project Island")).to_have_count(2)

        await bar.get_by_role("button", name="Kind").click()
        await page.get_by_role("dialog").get_by_label("Kind").fill("Travel plan")
        await page.get_by_role("dialog").get_by_role("button", name="Apply").click()
        await expect(rows(page).filter(has_text="Travel plan")).to_have_count(2)

        await bar.get_by_role("button", name="Delete").click()
        await expect(rows(page)).to_have_count(1)
        await told(page, "2 capsules are in the trash.").get_by_role("button", name="Undo").click()
        await expect(rows(page)).to_have_count(3)

        # By project, by several tags at once, and by a kind of one's own; each filter with its number.
        await rows(page).get_by_role("button", name="Show only project Island").first.click()
        await expect(rows(page)).to_have_count(2)
        await rows(page).get_by_role("button", name="Show only #sea").click()
        await expect(rows(page)).to_have_count(1)
        await rows(page).get_by_role("button", name="Show only #trip").click()
        await expect(rows(page)).to_have_count(1)
        await visitor.go("/dashboard/recall")
        await page.get_by_role("button", name="Filters").click()
        await page.get_by_label("Kind", exact=True).first.click()
        await page.get_by_role("option", name="Travel plan (2)").click()
        await expect(rows(page)).to_have_count(2)


async def test_projects_are_made_renamed_and_deleted_and_a_capsule_is_put_into_one_in_its_sheet_and_its_row(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page, api = visitor.page, visitor.api
        ids = keep_notes(visitor)
        await visitor.go("/dashboard/recall")
        await page.get_by_role("button", name="Filters").click()
        await page.get_by_role("button", name="Manage projects").click()
        dialog = page.get_by_role("dialog", name="Projects")
        await dialog.get_by_label("New project").fill("Sailing")
        await dialog.get_by_role("button", name="Make").click()
        await expect(dialog.get_by_text("Sailing")).to_be_visible()
        await visitor.accessible()
        await dialog.get_by_role("button", name="Close").click()

        await page.get_by_role("button", name="More for “Ferry”").click()
        await page.get_by_role("menuitem", name="Move to project").click()
        dialog = page.get_by_role("dialog", name="Move 1 capsule to a project")
        await dialog.get_by_label("Project").click()
        await page.get_by_role("option", name="Sailing").click()
        await dialog.get_by_role("button", name="Apply").click()
        await expect(rows(page).get_by_role("button", name="Show only project Sailing")).to_have_count(1)

        await rows(page).get_by_role("link", name="Tickets").click()
        sheet = page.get_by_role("dialog", name="Tickets")
        await sheet.get_by_role("button", name="Edit").click()
        await sheet.get_by_label("Project").click()
        await page.get_by_role("option", name="Sailing").click()
        await sheet.get_by_role("button", name="Save").click()
        await expect(rows(page).get_by_role("button", name="Show only project Sailing")).to_have_count(2)
        [project] = api.get("/v1/projects").json()["items"]
        assert {api.get(f"{CAPSULES}/{ids[one]}").json()["project_id"] for one in ("Ferry", "Tickets")} == {
            project["id"]
        }


async def test_the_sheet_goes_to_the_next_and_the_one_before_shows_what_changed_and_takes_a_merge_back(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page, api = visitor.page, visitor.api
        ids = keep_notes(visitor)
        api.patch(f"{CAPSULES}/{ids['Ferry']}", json={"content_md": "The boat leaves the harbour at ten."})
        await visitor.go("/dashboard/recall")
        await rows(page).get_by_role("link", name="Bread").click()
        await page.get_by_role("button", name="Next capsule").click()
        await expect(page.get_by_role("dialog", name="Tickets")).to_be_visible()
        await page.get_by_role("button", name="Next capsule").click()
        sheet = page.get_by_role("dialog", name="Ferry")
        await expect(sheet).to_be_visible()
        await expect(rows(page).first).to_be_in_viewport()  # the list stays beside it
        await page.get_by_role("button", name="Previous capsule").click()
        await expect(page.get_by_role("dialog", name="Tickets")).to_be_visible()
        await page.get_by_role("button", name="Next capsule").click()

        await sheet.get_by_role("tab", name="History").click()
        await sheet.get_by_role("button", name="Version 2").click()
        await sheet.get_by_text("Changes", exact=True).click()
        await expect(sheet.locator("del")).to_contain_text("nine")
        await expect(sheet.locator("ins")).to_contain_text("ten")
        await visitor.accessible()
        await sheet.get_by_role("button", name="Close").click()

        for title in ("Ferry", "Tickets"):
            await page.get_by_role("checkbox", name=f"Select “{title}”").check(force=True)
        await page.get_by_role("region", name="Selected capsules").get_by_role("button", name="Merge").click()
        dialog = page.get_by_role("dialog", name="Merge 2 capsules into one")
        await dialog.get_by_label("Tickets").check()
        await dialog.get_by_role("button", name="Merge").click()
        await expect(rows(page)).to_have_count(2)
        assert "harbour" in api.get(f"{CAPSULES}/{ids['Tickets']}").json()["content_md"]
        await rows(page).get_by_role("link", name="Tickets").click()
        sheet = page.get_by_role("dialog", name="Tickets")
        await sheet.get_by_role("tab", name="History").click()
        await sheet.get_by_role("button", name="Version 2").click()
        await sheet.get_by_role("button", name="Undo this merge").click()
        await expect(rows(page)).to_have_count(3)
        assert api.get(f"{CAPSULES}/{ids['Tickets']}").json()["content_md"] == NOTES["Tickets"][0]
        assert "ten" in api.get(f"{CAPSULES}/{ids['Ferry']}").json()["content_md"]


async def test_the_curator_shows_what_is_worth_keeping_in_a_conversation_piece_by_piece(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        keep_notes(visitor)
        await visitor.go("/dashboard/recall")
        await page.get_by_role("button", name="Other ways to add").click()
        await page.get_by_role("menuitem", name="Keep from a conversation…").click()
        dialog = page.get_by_role("dialog", name="Keep from a conversation")
        await dialog.get_by_role("tab", name="Paste one").click()
        await dialog.get_by_label("Conversation").fill(TALK)
        await dialog.get_by_role("button", name="See what is worth keeping").click()
        found = dialog.get_by_text(re.compile(r"\d+ things? worth keeping in this chat"))
        await expect(found).to_be_visible()
        count = int((await found.inner_text()).split()[0])
        await visitor.accessible()
        await expect(dialog.get_by_role("article")).to_contain_text("Postgres")
        await dialog.get_by_role("button", name="Keep").click()
        for _ in range(count - 1):
            await dialog.get_by_role("button", name="Skip").click()
        await expect(dialog).to_contain_text("1 capsule kept")
        await dialog.get_by_role("button", name="Done").click()
        await expect(rows(page).filter(has_text="Postgres")).to_have_count(1)
        await expect(rows(page)).to_have_count(4)


async def test_tags_are_suggested_while_one_writes(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        keep_notes(visitor)
        await visitor.go("/dashboard/recall")
        await page.get_by_role("button", name="New capsule").first.click()
        sheet = page.get_by_role("dialog", name="New capsule")
        await sheet.get_by_label("Content").fill(
            "Tickets for the boat trip are sold on the pier, also for the sea trip."
        )
        await sheet.get_by_role("button", name="Add tag trip").click()
        await sheet.get_by_role("button", name="Save capsule").click()
        await expect(page.get_by_text("Saved. You have 4 capsules now.")).to_be_visible()
        assert visitor.api.get(CAPSULES).json()["items"][0]["tags"] == ["trip"]


async def test_what_was_found_before_is_dimmed_while_the_next_search_runs(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        keep_notes(visitor)
        await visitor.go("/dashboard/recall?q=boat&mode=literal")
        await expect(rows(page)).to_have_count(1)
        late = Held()
        await page.route(re.compile(r"/capsules\?.*q=dough"), late)
        await page.get_by_role("searchbox").fill("dough")
        await expect(page.locator("[aria-busy=true]").get_by_role("article", name="Ferry")).to_be_visible()
        late.release()
        await expect(rows(page).first).to_have_attribute("aria-label", "Bread")
        await expect(page.locator("[aria-busy=true]")).to_have_count(0)


def fill(server: Live, visitor: Visitor, many: int) -> None:
    """Capsules of the last twenty years, past the API, which would take minutes for so many."""
    user = visitor.api.get("/v1/me").json()["user"]["id"]
    keep(visitor, "The newest", "It makes the vault.", [])
    with server.past_the_api() as conn:
        conn.execute(
            """
            INSERT INTO memories (account, space, id, kind, type, title, content, tags, content_hash, size_bytes,
                                  created_at, updated_at, accessed_at)
            SELECT s.account, s.space, 'cap_' || substr(md5(s.space || ':' || n), 1, 24), 'capsule',
                   CASE n %% 3 WHEN 0 THEN 'decision' ELSE 'note' END, 'Note ' || n, 'What was said, number ' || n,
                   ARRAY['tag' || n %% 7], sha256(convert_to(s.space || ':' || n, 'UTF8')), 8300,
                   t.at, t.at, t.at
              FROM spaces s, generate_series(1, %(many)s) n,
                   LATERAL (SELECT %(now)s::timestamptz - n * interval '20 years' / %(many)s AS at) t
             WHERE s.kind = 'vault' AND s.owner = %(user)s
            """,
            {"many": many, "now": datetime.now(UTC), "user": user},
        )
        conn.execute("ANALYZE memories")


async def test_thirty_six_thousand_are_scrolled_to_their_end_jumped_through_by_month_and_chosen_all(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        fill(server, visitor, MANY)
        await visitor.go("/dashboard/recall")
        months = page.get_by_role("navigation", name="Months")
        await months.get_by_role("button", name=str(datetime.now(UTC).year - 10)).click()
        there = re.compile(rf"{datetime.now(UTC).year - 10}")
        await expect(page.get_by_role("heading", level=2).filter(has_text=there).first).to_be_in_viewport()
        await expect(rows(page).first).to_be_visible()
        assert await rows(page).count() < 100, "only what is seen is in the page"
        await rows(page).first.hover()
        await page.mouse.wheel(0, 10_000_000)
        await expect(page.get_by_role("article", name="Note 36000", exact=True)).to_be_visible()
        await visitor.accessible()
        await page.mouse.wheel(0, -10_000_000)
        await expect(page.get_by_role("article", name="The newest")).to_be_in_viewport()

        await page.get_by_role("checkbox", name="Select “The newest”").check(force=True)
        bar = page.get_by_role("region", name="Selected capsules")
        await bar.get_by_role("button", name="Select all 36,001 found").click()
        await expect(bar).to_contain_text("36,001 selected")

        await visitor.go("/dashboard/recall?view=timeline")
        await expect(page.get_by_role("img", name=re.compile("Capsules over time: 36,001"))).to_be_visible()


async def test_on_a_phone_the_months_are_in_a_menu(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server, viewport=NARROW, has_touch=True) as visitor:
        page = visitor.page
        fill(server, visitor, 400)
        await visitor.go("/dashboard/recall")
        await page.get_by_role("button", name="Jump to a month").click()
        year = datetime.now(UTC).year - 10
        await page.get_by_role("menuitem", name=re.compile(rf"June {year}")).click()
        await expect(page.get_by_role("heading", level=2).filter(has_text=f"June {year}")).to_be_in_viewport()
        await visitor.accessible()
