"""Builds the documentation site into `site/`, for `make docs`: the pages of `docs/` and of the root, and the API
reference out of `openapi.json`.

What is written for a reader of the repository is put together in `build/docs` as the site has it, and built there with
Zensical; a link that leads nowhere is an error. Then the site is looked through: nothing in it may be loaded from
another host, and each page tells the browser so.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from keepstone.surfaces.web.html import text
from keepstone.surfaces.web.reference import Operation, operations

ROOT = Path(__file__).resolve().parent.parent
DOCS, BUILD, SITE = ROOT / "docs", ROOT / "build" / "docs", ROOT / "site"
# Of the root, by the name that each has on the site.
PAGES = {
    "README.md": "index.md", "ARCHITECTURE.md": "architecture.md", "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md", "CHANGELOG.md": "changelog.md",
}  # fmt: skip
FILES = {"LICENSE": "LICENSE.txt", "openapi.json": "openapi.json"}
MARK = Path("src/keepstone/surfaces/web/static/keepstone.svg")
_LINK = re.compile(r"(\]\()((?!https?:|mailto:|#)[^)\s#]+)")
_CODE = re.compile(r"(^ *```.*?^ *```$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
_POLICY = "default-src 'self' 'unsafe-inline' data: blob:"
# What a page loads by itself, by tag: the attribute with its address. A link that somebody follows is none.
LOADED = {
    "script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src", "embed": "src",
    "link": "href", "object": "data", "use": "href", "image": "href",
}  # fmt: skip


def main() -> None:
    shutil.rmtree(BUILD, ignore_errors=True)
    groups = put_together(BUILD / "docs")
    (BUILD / "zensical.toml").write_text(configuration((DOCS / "site" / "zensical.toml").read_text(), groups))
    missing = pages_of(BUILD / "docs") ^ pages_named(BUILD / "zensical.toml")
    if missing:
        sys.exit(f"docs/site/zensical.toml names in `nav` every page, and no other: {', '.join(sorted(missing))}.")
    zensical = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", str(BUILD / "zensical.toml")]
    built = subprocess.run(zensical, env={**os.environ, "NO_COLOR": "1"}, check=False)
    if built.returncode:
        sys.exit("The site was not built: see above. The pages are in build/docs/docs as they were put together.")
    for page in (BUILD / "site").rglob("*.html"):
        page.write_text(closed(page.read_text()))
    foreign = [fault for page in sorted((BUILD / "site").rglob("*")) for fault in loaded_from_elsewhere(page)]
    if foreign:
        sys.exit("The site loads from another host:\n" + "\n".join(foreign))
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.move(BUILD / "site", SITE)
    pages = len(list(SITE.rglob("*.html")))
    print(f"{pages} pages in {SITE.name}/, to be read at http://127.0.0.1:8000 after: "  # noqa: T201
          f"{sys.executable} -m http.server --bind 127.0.0.1 --directory {SITE.name}")  # fmt: skip


# --- putting together -------------------------------------------------------------------------------------------------


def put_together(folder: Path) -> dict[str, str]:
    """All pages and pictures; the names of the groups of the API reference, by page."""
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("site"))
    for page in folder.glob("*.md"):
        page.write_text(relinked(page.read_text(), DOCS))
    for name, there in PAGES.items():
        (folder / there).write_text(relinked((ROOT / name).read_text(), ROOT))
    for name, there in FILES.items():
        shutil.copy(ROOT / name, folder / there)
    shutil.copy(ROOT / MARK, folder)
    shutil.copy(DOCS / "site" / "site.css", folder)
    (folder / "reference").mkdir()
    return write_reference(folder, json.loads((ROOT / "openapi.json").read_text()))


def relinked(page: str, beside: Path) -> str:
    """The same page, with its links as they are on the site. Code is left as it is."""

    def leads(link: re.Match[str]) -> str:
        target = (beside / link[2]).resolve()
        name = str(target.relative_to(ROOT))
        return link[1] + ({**PAGES, **FILES}.get(name) or name.removeprefix("docs/"))

    parts = _CODE.split(page)
    return "".join(part if index % 2 else _LINK.sub(leads, part) for index, part in enumerate(parts))


def write_reference(folder: Path, spec: dict[str, Any]) -> dict[str, str]:
    groups: dict[str, list[Operation]] = {}
    for one in operations(spec):
        groups.setdefault(one.group, []).append(one)
    pages: dict[str, str] = {}
    for group, found in sorted(groups.items()):
        name = f"reference/{group.replace(' ', '-')}.md"
        pages[name] = group.capitalize() if group not in {"openai", "mem0"} else {"openai": "OpenAI"}.get(group, group)
        written = (f"## `{one.method} {one.path}`\n\n{text(one.summary)}\n\n{one.details}\n" for one in found)
        head = f"# {pages[name]}\n\nOut of [openapi.json](../openapi.json); [the API](../api.md) has it in words.\n"
        (folder / name).write_text("\n".join((head, *written)))
    return pages


def configuration(written: str, groups: dict[str, str]) -> str:
    """With the pages of the API reference in the navigation."""
    named = "".join(f"    {{ {json.dumps(title)} = {json.dumps(page)} }},\n" for page, title in groups.items())
    return written.replace('    "reference",\n', named)


def pages_of(folder: Path) -> set[str]:
    return {str(page.relative_to(folder)) for page in folder.rglob("*.md")}


def pages_named(config: Path) -> set[str]:
    return set(re.findall(r'"([\w/-]+\.md)"', json.dumps(tomllib.loads(config.read_text())["project"]["nav"])))


def closed(page: str) -> str:
    """What a script of the theme might ask another host for, browsers refuse to give it."""
    head = "<head>"
    if page.count(head) != 1:
        sys.exit("A page has no head of its own: what it may load can't be said there.")
    return page.replace(head, f'{head}<meta http-equiv="Content-Security-Policy" content="{_POLICY}">')


# --- looking through --------------------------------------------------------------------------------------------------


class Loads(HTMLParser):
    """The addresses on other hosts that a page loads by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if tag == "link" and known.get("rel") == "canonical":
            return
        addresses = [known.get(LOADED.get(tag, "")), known.get("srcset"), *styles_of(known.get("style") or "")]
        self.found += [f"<{tag}> {address}" for address in addresses if address and is_elsewhere(address)]


def is_elsewhere(address: str) -> bool:
    return re.match(r"\s*(?:[a-z][a-z0-9+.-]*:)?//", address, re.IGNORECASE) is not None


def styles_of(css: str) -> list[str]:
    """What a style sheet loads: pictures, fonts, other sheets."""
    return [first or second for first, second in re.findall(r"url\(\s*[\"']?([^\"')]+)|@import\s+[\"']([^\"']+)", css)]


def loaded_from_elsewhere(file: Path) -> list[str]:
    if file.suffix in {".html", ".svg"}:
        page = Loads()
        page.feed(file.read_text())
        found = page.found
    elif file.suffix == ".css":
        found = [address for address in styles_of(file.read_text()) if is_elsewhere(address)]
    else:
        found = []
    return [f"{file.name}: {each}" for each in found]


if __name__ == "__main__":
    main()
