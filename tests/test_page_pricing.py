"""The price page: for everybody, with what there is to choose from now."""

import pytest
from playwright.async_api import Browser, expect

from browser import NARROW, visiting
from conftest import SHOP
from live import Live


@pytest.fixture
def server(shop: Live) -> Live:
    return shop


async def test_whoever_is_not_signed_in_sees_the_plans_and_a_way_in(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        await visitor.context.clear_cookies()
        visitor.allow("401")
        page = visitor.page
        await visitor.go("/pricing")
        free = page.get_by_role("listitem").filter(has=page.get_by_role("heading", name="Free"))
        await expect(free).to_contain_text("$0")
        await expect(free).to_contain_text("5 MB for capsules")
        await expect(free).to_contain_text("About 600 capsules")
        await expect(page.get_by_text("About 36,000 capsules")).to_be_visible()
        await expect(page.get_by_role("heading", name="Unlimited")).to_have_count(0)
        menu = page.get_by_role("navigation", name="Pages")
        await expect(menu.get_by_role("link")).to_have_text(["Pricing", "Sign in"])
        question = page.get_by_role("button", name="What happens when I reach it?")
        await question.click()
        await expect(page.get_by_text("Nothing is lost.")).to_be_visible()
        await visitor.accessible()
        await menu.get_by_role("link", name="Sign in").click()
        await expect(page).to_have_url(f"{server.url}/login?next=%2Fpricing")


async def test_the_current_plan_is_marked_and_others_lead_to_the_shop(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        await visitor.go("/pricing")
        await expect(page.get_by_text("You are on the plan “unlimited”")).to_be_visible()
        assert server.cli("users", "set", visitor.email, "--plan", "pro").returncode == 0
        await page.reload()
        pro = page.get_by_role("listitem").filter(has=page.get_by_role("heading", name="Pro"))
        await expect(pro).to_contain_text("Your plan")
        await expect(pro.get_by_role("link")).to_have_count(0)
        await expect(page.get_by_role("link", name="Choose Max")).to_have_attribute("href", SHOP)
        await visitor.accessible()


async def test_on_a_phone_in_chinese_and_with_another_price(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server, viewport=NARROW, locale="zh-CN", color_scheme="dark") as visitor:
        page = visitor.page
        assert server.cli("plans", "set", "team", "--capacity-mb", "100", "--price", "€9 / 月").returncode == 0
        await visitor.go("/pricing")
        team = page.get_by_role("listitem").filter(has=page.get_by_role("heading", name="Team"))
        await expect(team).to_contain_text("€9")
        await expect(team).to_contain_text("约 12,000 个胶囊")
        assert await page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
        await visitor.accessible()
