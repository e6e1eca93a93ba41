"""Coming in and going out: the one-time link of the first start, a password, a wrong one, signing out."""

import re
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from browser import NARROW, visiting
from live import Live

PASSWORD = "correct horse battery staple"


@pytest.fixture
def server(shop: Live) -> Live:
    return shop


async def test_the_first_start_leads_through_its_link_to_a_password(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        await visitor.context.clear_cookies()
        page = visitor.page
        await visitor.go("/dashboard/rooms?a=b")
        await expect(page).to_have_url(f"{server.url}/login?next=%2Fdashboard%2Frooms%3Fa%3Db")
        await expect(page.get_by_role("heading", name="First time here?")).to_be_visible()
        await expect(page.get_by_label("E-mail")).to_be_focused()
        await visitor.accessible()
        link = server.cli("login-link").stdout.strip()
        await page.goto(re.sub(r"^https?://[^/]+", server.url, link))
        await expect(page).to_have_url(f"{server.url}/dashboard/recall")
        await visitor.go("/dashboard/settings/profile")
        await page.get_by_label("New password").fill(PASSWORD)
        await page.get_by_role("button", name="Set password").click()
        await expect(page.get_by_label("Current password")).to_be_visible()
        await page.get_by_role("button", name="Sign out", exact=True).click()
        await expect(page.get_by_role("heading", name="Sign in to Keepstone")).to_be_visible()
        # The link is used up, and says what to do.
        visitor.allow("404")
        await page.goto(re.sub(r"^https?://[^/]+", server.url, link))
        await expect(page.get_by_role("heading", name="This link has been used or is over")).to_be_visible()
        await visitor.accessible()
        await page.get_by_role("link", name="Sign in").click()
        await page.get_by_label("E-mail").fill("owner@localhost")
        await page.get_by_label("Password").fill("wrong")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_have_text("E-mail address or password is wrong.")
        await visitor.accessible()
        await page.get_by_label("E-mail").fill("owner@localhost")
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_label("Password").press("Enter")
        await expect(page).to_have_url(f"{server.url}/dashboard/recall")


async def test_without_script_and_in_chinese_one_comes_in_as_well(chromium: Browser, server: Live) -> None:
    server.cli("users", "create", "li@example.org", "--password-stdin", stdin=PASSWORD)
    options: dict[str, Any] = {
        "locale": "zh-CN",
        "viewport": NARROW,
        "color_scheme": "dark",
        "java_script_enabled": False,
    }
    async with visiting(chromium, server, **options) as visitor:
        await visitor.context.clear_cookies()
        page = visitor.page
        await visitor.go("/login?next=/docs")
        await expect(page.get_by_role("heading", name="登录 Keepstone")).to_be_visible()
        await page.get_by_label("邮箱").fill("li@example.org")
        await page.get_by_label("密码").fill(PASSWORD)
        await page.get_by_role("button", name="登录").click()
        await expect(page.get_by_role("heading", name="API reference")).to_be_visible()
