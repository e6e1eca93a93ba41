"""The dashboard in a real browser, over 36,000 capsules: when a page can be used, what moves in it, what it weighs."""

import asyncio
import statistics
from typing import Any

import httpx
from playwright.async_api import Browser, Page
from tests.chromium import open_chromium

from bench.capsules import FEW, WHOLE, fill_vault
from bench.figures import Figure, Json, Options, count
from bench.floor import Server, running

ROUNDS = 5
WIDE: Any = {"width": 1280, "height": 800}
EMPTY = "the frame, with nothing in it"
PAGES = {
    "Recall": "/dashboard/recall", "Timeline": "/dashboard/recall?view=timeline", "Playground": "/dashboard/playground",
    "Rooms": "/dashboard/rooms", "Graphs": "/dashboard/graphs", "Scopes": "/dashboard/scopes",
    "All memory": "/dashboard/memory", "Traces": "/dashboard/traces", "Trash": "/dashboard/trash",
    "Settings": "/dashboard/settings",
}  # fmt: skip
# Usable: its title is there, and nothing in it says any more that it is loading.
USABLE = "document.querySelector('main h1') && !document.querySelector('main [role=status][aria-label]')"
FRAME = "document.querySelector('main h2')"
MOVED = """new Promise(done => new PerformanceObserver(list => done(list.getEntries().filter(one => !one.hadRecentInput)
  .reduce((sum, one) => sum + one.value, 0))).observe({type: 'layout-shift', buffered: true})
  || setTimeout(() => done(0), 300))"""


def measure(options: Options) -> Json:
    size = FEW if options.quick else WHOLE
    with running(options.models) as server:
        print(f"  {count(size)} capsules", flush=True)
        fill_vault(server, size)
        server.rest()
        found = asyncio.run(_figures(server))
    return {"figures": [figure.shown() for figure in found]}


async def _figures(server: Server) -> list[Figure]:
    link = (server.home / "login-link").read_text().strip()
    found: list[Figure] = []
    async with open_chromium() as browser:
        page = await browser.new_page(viewport=WIDE, bypass_csp=True)
        await page.goto(link)
        cookies: Any = await page.context.cookies()
        found.append(await _weight(server, browser, cookies))
        for name, path in PAGES.items():
            empty, usable, moved = [], [], 0.0
            for _ in range(ROUNDS):
                empty.append(await _seconds(browser, cookies, server.url + "/dashboard/nothing", FRAME))
                usable.append(await _seconds(browser, cookies, server.url + path, USABLE))
            await page.goto(server.url + path)
            await page.wait_for_function(USABLE)
            moved = await page.evaluate(MOVED)
            base = 1000 * statistics.median(empty)
            found.append(Figure(f"{name} can be used", 1000 * statistics.median(usable), "ms", EMPTY, base, "≤ 3 ×"))
            found.append(Figure(f"{name}, cumulative layout shift", moved, "", wanted="≤ .02"))
    return found


async def _seconds(browser: Browser, cookies: Any, url: str, until: str) -> float:
    """From the first byte asked for, with nothing in the cache, to the moment it can be used."""
    context = await browser.new_context(viewport=WIDE, bypass_csp=True)
    try:
        await context.add_cookies(cookies)
        page = await context.new_page()
        loop = asyncio.get_running_loop()
        begun = loop.time()
        await page.goto(url, wait_until="commit")
        await page.wait_for_function(until, polling=5)
        return loop.time() - begun
    finally:
        await context.close()


async def _weight(server: Server, browser: Browser, cookies: Any) -> Figure:
    context = await browser.new_context(viewport=WIDE, bypass_csp=True)
    await context.add_cookies(cookies)
    page: Page = await context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await page.goto(server.url + "/dashboard/recall")
    await page.wait_for_load_state("networkidle")
    await context.close()
    total = 0
    async with httpx.AsyncClient(headers={"accept-encoding": "gzip"}) as plain:
        for url in asked:
            if "/static/app/" in url:
                async with plain.stream("GET", url) as answer:
                    total += len(b"".join([part async for part in answer.aiter_raw()]))
    return Figure("first load, packed", total / 1000, "KB", wanted="≤ 400 KB")
