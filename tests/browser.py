"""A real Chromium on a real server: what the tests of the dashboard stand on.

A `Visitor` is one browser window of somebody signed in, by default the owner of an account made for this visit: so
tests share servers, and nothing that is in them. Whatever a window prints to its console, every request to another host
and every fault in a page fails the test it happens in.
"""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from playwright.async_api import Browser, BrowserContext, Page, Response, Route, expect

from keepstone.surfaces.http.caller import COOKIE
from live import Guest, Live, receive
from weights import weights

_AXE = Path(__file__).parent.parent / "web" / "node_modules" / "axe-core" / "axe.min.js"
# What fades in is half there until it has come: wait for all that ends by itself.
_STILL = """Promise.allSettled(document.getAnimations()
  .filter((one) => one.playState === "running" && one.effect.getComputedTiming().endTime !== Infinity)
  .map((one) => one.finished))"""
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
HUGE = {"width": 2560, "height": 1300}
PATIENCE = 20  # seconds

expect.set_options(timeout=PATIENCE * 1000)


def dashboard_server(**environ: str) -> Live:
    """With real embedders; `environ` may name a language model."""
    own: dict[str, Any] = {"KEEPSTONE_EMBEDDINGS_PROVIDER": "builtin", "KEEPSTONE_MODELS_FROM": str(weights())}
    own.update(environ)
    return Live(**own)


class Visitor:
    """A window: `page` is Playwright's, `api` the same person's client for what a test sets up or looks up."""

    def __init__(self, server: Live, context: BrowserContext, page: Page, api: httpx.Client, guest: Guest) -> None:
        self.server, self.context, self.page, self.api, self.email = server, context, page, api, guest.email
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
        """axe finds no fault in what is shown now that it calls moderate or worse."""
        if not await self.page.evaluate("'axe' in window"):
            await self.page.evaluate(_AXE.read_text())
        await self.page.evaluate(_STILL)
        # What a tooltip says is read with what it belongs to, wherever in the document it stands.
        found: dict[str, Any] = await self.page.evaluate(
            "axe.run({include: [['html']], exclude: [['[role=tooltip]']]}, {resultTypes: ['violations']})"
        )
        faults = [
            f"{one['id']}: {one['help']} ({', '.join(node['html'][:200] for node in one['nodes'][:3])})"
            for one in found["violations"]
            if one["impact"] != "minor"
        ]
        assert not faults, "\n".join(faults)

    async def copied(self, is_it: Callable[[str], bool]) -> str:
        """What lies in the clipboard, once it is what was meant: a page puts it there a moment after the click."""
        deadline = time.monotonic() + PATIENCE
        while not is_it(text := await self.page.evaluate("navigator.clipboard.readText()")):
            assert time.monotonic() < deadline, f"in the clipboard lies {text!r}"
            await asyncio.sleep(0.05)
        return text

    def _note(self, kind: str, text: str, where: str) -> None:
        if kind in {"error", "warning"} and not any(re.search(one, text) for one in self.allowed):
            self.faults.append(f"console {kind}: {text} ({where})")

    def _asked(self, url: str) -> None:
        if not url.startswith((self.server.url, "data:", "blob:")):
            self.faults.append(f"request to another host: {url}")


class Held:
    """For `route`: keeps back the first request until `release`, or when it is `answered` first, its answer."""

    def __init__(self, *, answered: bool = False) -> None:
        self._answered = answered
        self._first = True
        self._fetched = asyncio.Event()
        self._released = asyncio.Event()

    async def __call__(self, route: Route) -> None:
        if not self._first:
            await route.fallback()
            return
        self._first = False
        answer = await route.fetch() if self._answered else None
        self._fetched.set()
        await self._released.wait()
        await (route.fulfill(response=answer) if answer else route.continue_())

    async def fetched(self) -> None:
        """Until its answer is there and kept back."""
        await self._fetched.wait()

    def release(self) -> None:
        self._released.set()


def answers(method: str, path: str) -> Callable[[Response], bool]:
    """For `expect_response`: the answer to this."""
    return lambda answer: answer.request.method == method and httpx.URL(answer.url).path == path


@asynccontextmanager
async def visiting(
    browser: Browser, server: Live, *, as_owner: bool = False, **options: Any
) -> AsyncGenerator[Visitor]:
    """A window of somebody new, who owns an account and may see the console, or of the server's first owner.

    `options` are those of a Playwright context.
    """
    guest = await receive(server, server.home / "guest", as_owner=as_owner)
    settings: dict[str, Any] = {
        "viewport": WIDE, "locale": "en-US", "timezone_id": "UTC", "color_scheme": "light", "reduced_motion": "reduce",
    }  # fmt: skip
    context = await browser.new_context(**settings | options)
    context.set_default_timeout(PATIENCE * 1000)
    await context.add_cookies(
        [{"name": COOKIE, "value": guest.session, "url": server.url, "httpOnly": True, "sameSite": "Lax"}]
    )
    with httpx.Client(base_url=server.url, headers=guest.auth, timeout=60) as api:
        visitor = Visitor(server, context, await context.new_page(), api, guest)
        try:
            yield visitor
            assert not visitor.faults, "\n".join(visitor.faults)
        finally:
            await context.close()
