"""A real Chromium on a real server: what the tests of the dashboard stand on.

A `Visitor` is one browser window of somebody signed in. Whatever it prints to its console, every request to another
host and every fault in a page fails the test it happens in.
"""

import os
import re
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from live import Live
from weights import weights

ROOT = Path(__file__).parent.parent
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
_signed_in: dict[int, Any] = {}  # the cookie of the owner, by server
WHERE = (
    "The tests of the dashboard need Chromium: apt install chromium (Debian, as root), or "
    ".venv/bin/playwright install chromium; or name one in KEEPSTONE_CHROMIUM."
)
_FETCHED = ("chromium-*/chrome-linux*/chrome", "chromium-*/chrome-mac*/Chromium.app/Contents/MacOS/Chromium")
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

expect.set_options(timeout=20_000)


def chromium_path() -> str | None:
    """A Chromium: the one that is named, else this machine's, else Playwright's own if it was fetched."""
    if named := os.environ.get("KEEPSTONE_CHROMIUM"):
        return named
    if found := next((path for name in _NAMES if (path := shutil.which(name))), None):
        return found
    fetched = Path.home() / ".cache" / "ms-playwright", Path.home() / "Library" / "Caches" / "ms-playwright"
    places = (path for folder in fetched for pattern in _FETCHED for path in sorted(folder.glob(pattern)))
    return next((str(path) for path in places), None)


@asynccontextmanager
async def open_chromium() -> AsyncGenerator[Browser]:
    path = chromium_path()
    assert path is not None, WHERE
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield browser
        finally:
            await browser.close()


def dashboard_server(**environ: str) -> Live:
    """With real embedders; `environ` may name a language model."""
    own: dict[str, Any] = {"KEEPSTONE_EMBEDDINGS_PROVIDER": "builtin", "KEEPSTONE_MODELS_FROM": str(weights())}
    return Live(**own | environ)


class Visitor:
    """A window: `page` is Playwright's, `api` the same person's client for what a test sets up or looks up."""

    def __init__(self, server: Live, context: BrowserContext, page: Page, api: httpx.Client) -> None:
        self.server, self.context, self.page, self.api = server, context, page, api
        self.faults: list[str] = []
        self.allowed: list[str] = []
        page.on("console", lambda message: self._note(message.type, message.text, message.location["url"]))
        page.on("pageerror", lambda fault: self.faults.append(f"page error: {fault.stack or fault}"))
        page.on("request", lambda request: self._asked(request.url))

    async def go(self, path: str) -> None:
        await self.page.goto(self.server.url + path)

    def allow(self, pattern: str) -> None:
        """Chromium prints a line for every refused request: say which ones this test wants to see refused."""
        self.allowed.append(pattern)

    async def accessible(self) -> None:
        """axe finds no serious fault in what is shown now."""
        await self.page.evaluate(AXE.read_text())
        found: dict[str, Any] = await self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        serious = [
            f"{one['id']}: {one['help']} ({', '.join(str(node['target']) for node in one['nodes'][:3])})"
            for one in found["violations"]
            if one["impact"] in {"serious", "critical"}
        ]
        assert not serious, "\n".join(serious)

    def _note(self, kind: str, text: str, where: str) -> None:
        if kind in {"error", "warning"} and not any(re.search(one, text) for one in self.allowed):
            self.faults.append(f"console {kind}: {text} ({where})")

    def _asked(self, url: str) -> None:
        if not url.startswith((self.server.url, "data:", "blob:")):
            self.faults.append(f"request to another host: {url}")


@asynccontextmanager
async def visiting(browser: Browser, server: Live, **options: Any) -> AsyncGenerator[Visitor]:
    """The owner's window on the server; `options` are those of a Playwright context."""
    if server.process.pid not in _signed_in:
        _signed_in[server.process.pid] = await _sign_in(browser, server)
    settings: dict[str, Any] = {
        "viewport": WIDE, "locale": "en-US", "timezone_id": "UTC", "color_scheme": "light", "reduced_motion": "reduce",
    }  # fmt: skip
    context = await browser.new_context(storage_state=_signed_in[server.process.pid], **settings | options)
    context.set_default_timeout(20_000)
    with httpx.Client(base_url=server.url, headers=server.auth, timeout=60) as api:
        visitor = Visitor(server, context, await context.new_page(), api)
        try:
            yield visitor
            assert not visitor.faults, "\n".join(visitor.faults)
        finally:
            await context.close()


async def _sign_in(browser: Browser, server: Live) -> Any:
    """Through the one-time link, as somebody does at the first start."""
    token = server.cli("login-link").stdout.strip().rpartition("/")[2]
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(f"{server.url}/auth/once/{token}")
    state = await context.storage_state()
    await context.close()
    return state
