"""What is around every page: who may see it, where it comes from, search, theme, language."""

import re

import httpx
import pytest
from playwright.async_api import Browser, expect

from browser import NARROW, Held, visiting
from live import Live

PAGES = (
    "Recall", "Playground", "Quorum", "Rooms", "Graphs", "Scopes", "All memory", "Traces", "Trash", "Settings",
    "Console",
)  # fmt: skip
LIMIT = 400_000  # bytes, packed, of all that the first page loads


@pytest.fixture
def server(dashboard: Live) -> Live:
    return dashboard


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_page_is_reached_from_the_menu_and_has_no_accessibility_fault(
    chromium: Browser, server: Live, scheme: str
) -> None:
    async with visiting(chromium, server, color_scheme=scheme) as visitor:
        await visitor.go("/")
        menu = visitor.page.get_by_role("navigation", name="Pages")
        for name in PAGES:
            await menu.get_by_role("link", name=name, exact=True).click()
            await expect(visitor.page).to_have_title(re.compile(f"{name}.*Keepstone"))
            await expect(visitor.page.get_by_role("heading", level=1)).to_be_visible()
            await visitor.accessible()


async def test_on_a_phone_the_menu_is_behind_a_button_and_nothing_is_wider_than_the_screen(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server, viewport=NARROW, has_touch=True) as visitor:
        await visitor.go("/dashboard/recall")
        menu = visitor.page.get_by_role("navigation", name="Pages")
        for name in PAGES:
            await visitor.page.get_by_role("button", name="Menu").click()
            await menu.get_by_role("link", name=name, exact=True).click()
            await expect(menu).not_to_be_in_viewport()
            await expect(visitor.page).to_have_title(re.compile(f"{name}.*Keepstone"))
            await expect(visitor.page.get_by_role("heading", level=1)).to_be_visible()
            wide = await visitor.page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, name


async def test_a_menu_that_was_opened_again_stays_open_when_a_slow_page_comes(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server, viewport=NARROW, has_touch=True) as visitor:
        await visitor.go("/dashboard/recall")
        late = Held()
        await visitor.page.route(re.compile(r"/assets/Rooms-.*\.js"), late)
        menu = visitor.page.get_by_role("navigation", name="Pages")
        await visitor.page.get_by_role("button", name="Menu").click()
        async with visitor.page.expect_request(re.compile(r"/assets/Rooms-.*\.js")):
            await menu.get_by_role("link", name="Rooms", exact=True).click()
        await expect(menu).not_to_be_in_viewport()
        await visitor.page.get_by_role("button", name="Menu").click()
        late.release()
        await expect(visitor.page).to_have_url(re.compile("/dashboard/rooms"))
        await expect(visitor.page.get_by_role("heading", level=1)).to_contain_text("Rooms")
        await menu.get_by_role("link", name="Graphs", exact=True).click()
        await expect(visitor.page).to_have_url(re.compile("/dashboard/graphs"))


async def test_under_the_address_of_a_slow_page_nothing_of_the_one_before_is_shown(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/recall")
        await expect(page.get_by_role("heading", level=1, name="Recall")).to_be_visible()
        late = Held()
        await page.route(re.compile(r"/assets/Rooms-.*\.js"), late)
        await page.get_by_role("link", name="Rooms", exact=True).click()
        await expect(page).to_have_url(re.compile("/dashboard/rooms"))
        await expect(page.get_by_role("heading", level=1)).to_have_count(0)
        await expect(page.get_by_role("status", name="Loading…")).to_be_visible()
        late.release()
        await expect(page.get_by_role("heading", level=1, name="Rooms")).to_be_visible()


async def test_language_and_theme_are_kept_and_the_server_knows_the_language(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        await visitor.go("/dashboard/recall")
        await page.get_by_role("button", name="Language").click()
        async with page.expect_response(lambda one: one.request.method == "PATCH") as answered:
            await page.get_by_role("menuitem", name="中文").click()
        assert (await (await answered.value).json())["language"] == "zh"
        await expect(page.get_by_role("heading", level=1)).to_contain_text("回忆")
        await expect(page.locator("html")).to_have_attribute("lang", "zh")
        await page.get_by_role("button", name="浅色或深色").click()
        await page.get_by_role("menuitem", name="深色").click()
        await page.reload()
        await expect(page.get_by_role("heading", level=1)).to_contain_text("回忆")
        await expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
        visitor.api.patch("/v1/me", json={"language": "en"}).raise_for_status()


async def test_whoever_is_not_signed_in_is_sent_to_the_login_and_back(chromium: Browser, server: Live) -> None:
    with httpx.Client(base_url=server.url) as nobody:
        for path in ("/", "/dashboard/rooms?a=b", "/x_console"):
            answer = nobody.get(path)
            assert answer.status_code == 303
            wanted = "/dashboard/recall" if path == "/" else path
            assert httpx.URL(answer.headers["location"]).params["next"] == wanted
    async with visiting(chromium, server) as visitor:
        visitor.allow("401")  # the session ends while the page is open
        await visitor.go("/dashboard/recall")
        await expect(visitor.page.get_by_role("heading", level=1)).to_be_visible()
        await visitor.page.wait_for_load_state("networkidle")  # else what is still asked for here is refused first
        await visitor.context.clear_cookies()
        await visitor.page.get_by_role("link", name="Settings").click()
        await expect(visitor.page).to_have_url(re.compile(r"/login\?next=%2Fdashboard%2Fsettings"))


async def test_a_page_that_is_not_there_says_so_and_leads_back(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        await visitor.go("/dashboard/nothing/here")
        await expect(visitor.page.get_by_text("There is no such page")).to_be_visible()
        await visitor.page.get_by_role("link", name="Go to Recall").click()
        await expect(visitor.page).to_have_title("Recall · Keepstone")


async def test_what_the_first_page_loads_is_small(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        sizes: dict[str, int] = {}

        async def weigh(url: str) -> None:
            with httpx.Client() as plain:
                raw = plain.build_request("GET", url, headers={"accept-encoding": "gzip"})
                answer = plain.send(raw, stream=True)
                sizes[url] = sum(len(part) for part in answer.iter_raw())
                answer.close()

        asked: list[str] = []
        visitor.page.on("request", lambda request: asked.append(request.url))
        await visitor.go("/dashboard/recall")
        await visitor.page.wait_for_load_state("networkidle")
        for url in asked:
            if "/static/app/" in url:
                await weigh(url)
        assert len(sizes) >= 3
        assert sum(sizes.values()) < LIMIT, sizes
