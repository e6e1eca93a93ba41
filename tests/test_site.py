"""The documentation site: every page is on it, under the name that links have for it, and loads nothing from elsewhere.
`make docs` builds it, and finds what leads nowhere."""

import json
import re
from pathlib import Path

import pytest

import build_site
from build_site import DOCS, PAGES, ROOT

SPEC = json.loads((ROOT / "openapi.json").read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site")
    groups = build_site.put_together(made / "docs")
    (made / "zensical.toml").write_text(build_site.configuration((DOCS / "site" / "zensical.toml").read_text(), groups))
    return made


def test_the_navigation_names_every_page_and_no_other(folder: Path) -> None:
    named = build_site.pages_named(folder / "zensical.toml")
    assert named == build_site.pages_of(folder / "docs")
    assert {page.name for page in DOCS.glob("*.md")} | set(PAGES.values()) <= named


def test_every_operation_of_the_api_is_a_heading_of_its_own(folder: Path) -> None:
    headings = {
        heading
        for page in (folder / "docs" / "reference").glob("*.md")
        for heading in re.findall(r"^## `(.+)`$", page.read_text(), re.MULTILINE)
    }
    assert headings == {f"{method.upper()} {path}" for path, methods in SPEC["paths"].items() for method in methods}


def test_links_lead_to_the_names_of_the_site_and_code_is_left_alone(folder: Path) -> None:
    index = (folder / "docs" / "index.md").read_text()
    assert "](quickstart.md)" in index
    assert "](architecture.md)" in index
    assert "](pictures/recall.png)" in index
    assert "](contributing.md#how-the-tests-run)" in (folder / "docs" / "benchmarks.md").read_text()
    assert "](docs/" not in index
    commands = re.findall(r"^```sh\n.*?^```$", index, re.DOTALL | re.MULTILINE)
    assert commands == re.findall(r"^```sh\n.*?^```$", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "written", "faults"),
    [
        ("a.html", '<a href="https://example.org">elsewhere</a><script src="own.js"></script>', 0),
        ("a.html", '<script src="https://example.org/x.js"></script><img src="//example.org/x.png">', 2),
        (
            "a.html",
            '<link rel="stylesheet" href="https://example.org/x.css"><link rel="canonical" href="https://x.org">',
            1,
        ),
        ("a.html", '<p style="background: url(https://example.org/x.png)">', 1),
        ("a.css", '@import "https://example.org/x.css"; p { src: url("https://example.org/f.woff2") }', 2),
        ("a.css", "p { background: url(own.png); mask: url('data:image/svg+xml;utf8,<svg/>') }", 0),
        ("a.svg", '<svg><image href="http://example.org/x.png"/></svg>', 1),
    ],
)
def test_what_would_be_loaded_from_another_host_is_found(tmp_path: Path, name: str, written: str, faults: int) -> None:
    (tmp_path / name).write_text(written)
    assert len(build_site.loaded_from_elsewhere(tmp_path / name)) == faults


def test_every_page_tells_the_browser_to_ask_nobody_else() -> None:
    page = build_site.closed("<html><head><title>x</title></head></html>")
    assert page.startswith('<html><head><meta http-equiv="Content-Security-Policy" content="default-src \'self\'')
    with pytest.raises(SystemExit):
        build_site.closed("<html></html>")
