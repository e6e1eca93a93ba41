"""What exists is documented: settings, routes, commands. And what is documented exists."""

import re
from pathlib import Path

import pytest
from typer.main import get_command

from commands import commands as shown
from keepstone import cli
from keepstone.app import make_routes
from keepstone.settings import settable, variable
from leaks import routes_of

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SOURCE = ROOT / "src" / "keepstone"


def commands() -> list[str]:
    """Every command with its path, such as `keepstone users create`."""
    found: list[str] = []

    def visit(command, path: str) -> None:
        inner = getattr(command, "commands", {})
        if not inner or getattr(command, "invoke_without_command", False):
            found.append(path)
        for name, child in inner.items():
            visit(child, f"{path} {name}")

    visit(get_command(cli.app), "keepstone")
    return found


@pytest.mark.parametrize("env", [variable(item.name) for item in settable()])
def test_every_setting_is_documented(env: str) -> None:
    assert f"`{env}`" in (DOCS / "settings.md").read_text()


def test_every_documented_setting_exists() -> None:
    known = {variable(item.name) for item in settable()}
    for page in (ROOT / "README.md", *DOCS.glob("*.md")):
        assert set(re.findall(r"KEEPSTONE_[A-Z_]*[A-Z](?![A-Z_])", page.read_text())) <= known, page.name


@pytest.mark.parametrize("label", sorted(label for label, _, _ in routes_of(make_routes())))
def test_every_route_is_documented(label: str) -> None:
    assert f"`{label}`" in (DOCS / "api.md").read_text()


@pytest.mark.parametrize("command", commands())
def test_every_command_is_documented(command: str) -> None:
    assert f"`{command}" in (DOCS / "cli.md").read_text()


def anchors_of(page: Path) -> set[str]:
    """What a link can point to behind `#`: the headings, as GitHub names them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in (*ROOT.glob("*.md"), *DOCS.glob("*.md")):
        for target, anchor in re.findall(r"\]\((?!https?:|mailto:)([^)#]*)#?([^)]*)\)", page.read_text()):
            linked = page.parent / target if target else page
            assert linked.exists(), f"{page.name} links to {target}"
            if anchor and linked.suffix == ".md":
                assert anchor in anchors_of(linked), f"{page.name} links to {target}#{anchor}"


def test_every_word_of_the_glossary_is_defined_once() -> None:
    words = re.findall(r"^### (.+)$", (DOCS / "glossary.md").read_text(), re.MULTILINE)
    plain = [re.sub(r"\s*[(*].*", "", word).lower() for word in words]
    assert sorted(set(plain)) == sorted(plain)


def test_the_map_names_files_and_functions_that_are_there() -> None:
    """`engine/search.py`, `late.py` after others of its folder, `memory/shelf.py: keep` with a function of it."""
    files = {str(path.relative_to(SOURCE)): path for path in SOURCE.rglob("*.py")}
    named = re.findall(r"`([\w/]+\.py)(?::\s+(\w+))?`", (ROOT / "ARCHITECTURE.md").read_text())
    assert len(named) > 60
    for name, function in named:
        texts = [path.read_text() for file, path in files.items() if file == name or file.endswith(f"/{name}")]
        assert texts or (ROOT / name).exists(), f"ARCHITECTURE.md names {name}, which is not there"
        assert not function or any(f"def {function}(" in text for text in texts), f"{name} has no {function}"


def test_the_readme_begins_with_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text()
    assert readme.index("make serve") < readme.index("make test") < 3000


def test_the_readme_leads_to_every_page() -> None:
    linked = set(re.findall(r"\]\(([\w/-]+\.md)\)", (ROOT / "README.md").read_text()))
    assert {str(page.relative_to(ROOT)) for page in (*ROOT.glob("*.md"), *DOCS.glob("*.md"))} - {"README.md"} <= linked


@pytest.mark.parametrize("page", sorted(page.name for page in DOCS.glob("*.md")))
def test_every_variable_that_a_command_uses_is_set_above_it_on_its_page(page: str) -> None:
    """Whoever begins to read there can paste it."""
    known = {"HOME", "PATH", "PWD", *(variable(item.name) for item in settable())}
    for line in shown(DOCS / page).splitlines():
        told = re.sub(r"'[^']*'", "", line)
        used = set(re.findall(r"\$\{?([A-Za-z_]\w*)", told))
        known |= set(re.findall(r"\b([A-Za-z_]\w*)=", told)) | set(re.findall(r"\bfor (\w+) in\b", told))
        assert used <= known, f"{line}: {used - known}"
