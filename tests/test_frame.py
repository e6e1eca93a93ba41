"""What all pages share: where a title stands, how wide they are, how they look, what they do when nobody answers."""

import re
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from browser import HUGE, NARROW, WIDE, Visitor, visiting
from live import Live

PLACES = (
    "/dashboard/recall", "/dashboard/playground", "/dashboard/quorum", "/dashboard/rooms", "/dashboard/graphs",
    "/dashboard/scopes", "/dashboard/memory", "/dashboard/traces", "/dashboard/trash", "/dashboard/settings",
    "/pricing", "/x_console",
)  # fmt: skip

# Everything that a finger may be meant to meet, but for links inside a text.
SMALL = """() => [...document.querySelectorAll('button, input, textarea, select, [role=tab], [role=menuitem], nav a')]
  .filter(one => one.checkVisibility({checkOpacity: true, checkVisibilityCSS: true}) && !one.disabled)
  .filter(one => !['hidden', 'file', 'checkbox', 'radio'].includes(one.type))
  .map(one => [one.getBoundingClientRect(), one])
  .filter(([box]) => box.width > 1 && box.height > 1 && box.left >= 0 && box.right <= innerWidth)
  .filter(([box]) => box.height < 43.5 || box.width < 43.5)
  .map(([box, one]) => `${one.outerHTML.slice(0, 160)} ${box.width}x${box.height}`)"""

PALE = """() => [...document.querySelectorAll('input, textarea')].filter(one => one.placeholder).map(one => {
  const numbers = text => text.match(/[\\d.]+/g).map(Number)
  const light = rgb => rgb.slice(0, 3).map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [.2126, .7152, .0722][at], 0)
  const ground = node => { const [r, g, b, a = 1] = numbers(getComputedStyle(node).backgroundColor)
    return a > 0 || !node.parentElement ? [r, g, b] : ground(node.parentElement) }
  const [one_, two] = [light(numbers(getComputedStyle(one, '::placeholder').color)), light(ground(one))]
  return [one.placeholder, (Math.max(one_, two) + .05) / (Math.min(one_, two) + .05)]
}).filter(([, contrast]) => contrast < 4.5)"""


@pytest.fixture
def server(dashboard: Live) -> Live:
    return dashboard


@pytest.mark.parametrize("size", [WIDE, HUGE], ids=["wide", "huge"])
async def test_every_title_stands_at_the_same_place_and_every_page_takes_the_whole_width(
    chromium: Browser, server: Live, size: dict[str, int]
) -> None:
    async with visiting(chromium, server, viewport=size) as visitor:
        _fill(visitor)
        seen: dict[str, tuple[int, int]] = {}
        for path in PLACES:
            await visitor.go(path)
            title = visitor.page.get_by_role("heading", level=1)
            await expect(title).to_be_visible()
            box = await title.bounding_box()
            assert box
            seen[path] = (round(box["x"]), round(box["y"]))
            main = await visitor.page.get_by_role("main").bounding_box()
            assert main
            assert main["x"] + main["width"] == size["width"], path
        assert len(set(seen.values())) == 1, seen


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_what_a_field_is_for_can_be_read_before_anything_is_typed(
    chromium: Browser, server: Live, scheme: str
) -> None:
    async with visiting(chromium, server, color_scheme=scheme) as visitor:
        _fill(visitor)
        for path in PLACES:
            await visitor.go(path)
            await expect(visitor.page.get_by_role("heading", level=1)).to_be_visible()
            await visitor.page.wait_for_load_state("networkidle")
            assert not await visitor.page.evaluate(PALE), path


async def test_on_a_phone_a_finger_meets_every_control(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server, viewport=NARROW, has_touch=True) as visitor:
        _fill(visitor)
        for path in PLACES:
            await visitor.go(path)
            await expect(visitor.page.get_by_role("heading", level=1)).to_be_visible()
            await visitor.page.wait_for_load_state("networkidle")
            small = await visitor.page.evaluate(SMALL)
            assert not small, "\n".join([path, *small])


async def test_in_chinese_no_page_has_a_heading_or_button_in_english(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server, locale="zh-CN") as visitor:
        for path in PLACES:
            await visitor.go(path)
            await expect(visitor.page.get_by_role("heading", level=1)).to_be_visible()
            await visitor.page.wait_for_load_state("networkidle")
            told: list[str] = await visitor.page.evaluate(
                "[...document.querySelectorAll('main :is(h1, h2, h3, button, label, [role=tab], [placeholder])')]"
                ".flatMap(one => [one.innerText ?? '', one.ariaLabel ?? '', one.placeholder ?? ''])"
            )
            english = [one for one in told if re.search(r"[a-z]{3} [a-z]{2}", one)]
            assert not english, (path, english)
            assert "你" not in await visitor.page.inner_text("body"), path
            await visitor.accessible()


async def test_a_server_that_is_gone_is_said_in_words_and_found_again_without_a_click(
    chromium: Browser, server: Live
) -> None:
    async with visiting(chromium, server) as visitor:
        page = visitor.page
        visitor.allow("ERR_CONNECTION_REFUSED")
        await visitor.go("/dashboard/recall")
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        await page.wait_for_load_state("networkidle")
        gone = re.compile(r"/(v1|chat|healthz)")
        await page.route(gone, lambda route: route.abort("connectionrefused"))
        await page.get_by_role("link", name="Graphs", exact=True).click()
        await expect(page.get_by_text("Keepstone can’t be reached").first).to_be_visible()
        await visitor.accessible()
        await page.unroute(gone)
        await expect(page.get_by_text("Keepstone can’t be reached")).to_have_count(0)
        await expect(page.get_by_role("button", name="Store a node").first).to_be_visible()


async def test_who_has_no_limit_is_shown_no_prices(chromium: Browser, server: Live) -> None:
    async with visiting(chromium, server) as visitor:
        await visitor.go("/dashboard/settings")
        menu = visitor.page.get_by_role("navigation", name="Pages")
        await expect(menu.get_by_role("link", name="Console")).to_be_visible()
        await expect(menu.get_by_role("link", name="Pricing")).to_have_count(0)


TEXT = """# A heading

Some words and `a name`.

> What somebody said.

```
first line
second line, which is longer
```
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_markdown_has_quotations_as_large_as_text_and_code_on_one_ground(
    chromium: Browser, server: Live, scheme: str
) -> None:
    async with visiting(chromium, server, color_scheme=scheme) as visitor:
        made = visitor.api.post("/v1/memory/capsules", json={"title": "Styles", "content_md": TEXT}).raise_for_status()
        await visitor.go(f"/dashboard/recall?capsule={made.json()['id']}")
        page = visitor.page
        code = page.get_by_role("dialog").locator("pre code")
        await expect(code).to_be_visible()
        assert await _style(page, "blockquote", "fontSize") == await _style(page, "p:has(code)", "fontSize")
        assert await _style(page, "pre code", "backgroundColor") == "rgba(0, 0, 0, 0)"
        assert await _style(page, "pre code", "paddingLeft") == "0px"
        assert await _style(page, "pre", "backgroundColor") == await _style(page, "p code", "backgroundColor")


async def _style(page: Page, of: str, name: str) -> Any:
    return await page.get_by_role("dialog").locator(of).first.evaluate(f"one => getComputedStyle(one).{name}")


def _fill(visitor: Visitor) -> None:
    visitor.api.post("/v1/memory/capsules", json={"content_md": "We buy the login from Clerk."}).raise_for_status()
    visitor.api.post("/v1/chats", json={"title": "Sessions"}).raise_for_status()
    visitor.api.post("/v1/agents", json={"slug": "scout", "name": "Scout", "instructions": "Be brief."})
    visitor.api.post("/v1/rooms", json={"name": "Launch", "agents": ["scout"]}).raise_for_status()
    visitor.api.post("/v1/graphs/default/nodes", json={"content": "Postgres", "node_type": "decision"})
    talk = [{"speaker": "Anna", "text": "I moved to Lisbon."}]
    visitor.api.post("/v1/ingest", json={"scope_id": "team", "transcript": talk}).raise_for_status()
