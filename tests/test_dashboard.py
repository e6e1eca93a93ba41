"""What is around every page: who may see it, where it comes from, search, theme, language."""

from collections.abc import Generator

import pytest
from playwright.async_api import Browser, expect

from browser import dashboard_server, visiting
from live import Live

pytestmark = pytest.mark.xdist_group("dashboard")

PAGES = ("Recall", "Playground", "Quorum", "Rooms", "Graphs", "Scopes", "Settings", "Pricing", "Console")


@pytest.fixture(scope="module")
def server() -> Generator[Live]:
    live = dashboard_server()
    yield live
    live.stop()


async def test_every_page_is_reached_from_the_menu_and_has_no_serious_accessibility_fault(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        await visitor.go("/")
        menu = visitor.page.get_by_role("navigation", name="Pages")
        for name in PAGES:
            await menu.get_by_role("link", name=name, exact=True).click()
            await expect(visitor.page.get_by_role("heading", level=1)).to_contain_text(name)
            await visitor.accessible()
