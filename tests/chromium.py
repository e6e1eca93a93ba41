"""Where Chromium is, and how it is started: for the tests of the dashboard, its pictures and its figures."""

import os
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, async_playwright

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
WHERE = (
    "The tests of the dashboard need Chromium: apt install chromium (Debian, as root), or "
    ".venv/bin/playwright install chromium; or name one in KEEPSTONE_CHROMIUM."
)
_FETCHED = ("chromium-*/chrome-linux*/chrome", "chromium-*/chrome-mac*/Chromium.app/Contents/MacOS/Chromium")
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


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
