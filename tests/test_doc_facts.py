"""What the pages say of the API is what the code does: routes, parameters, fields, codes of errors, ids and words."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from typing import Any

import pytest

from commands import DOCS
from keepstone import errors
from keepstone.app import make_routes
from keepstone.model.ids import KINDS
from keepstone.store.lanes import LANES
from keepstone.surfaces.http.errors import FRAMEWORK, STATUS
from leaks import routes_of
from test_docs import ROOT, SOURCE

SPEC = json.loads((ROOT / "openapi.json").read_text())
API = (DOCS / "api.md").read_text()
PAGES = sorted([*DOCS.glob("*.md"), *ROOT.glob("*.md")])
LABEL = re.compile(r"`((?:GET|POST|PUT|PATCH|DELETE) /[^\s`?|]*)")


@dataclass(frozen=True)
class Row:
    """A line of a table of routes: one address or several that do the same, and what is said of them."""

    labels: tuple[str, ...]
    said: str

    @property
    def name(self) -> str:
        return self.labels[0]

    def operations(self) -> list[dict[str, Any]]:
        """Those that openapi.json describes."""
        found = [SPEC["paths"].get(path, {}).get(method.lower()) for method, path in map(str.split, self.labels)]
        return [operation for operation in found if operation is not None]


def rows() -> Iterator[Row]:
    for line in API.splitlines():
        if line.startswith("| `") and LABEL.match(line, 2):
            _, routes, said, _ = re.split(r"(?<!\\)\|", line)
            yield Row(tuple(LABEL.findall(routes)), said.replace("\\|", "|").strip())


ROWS = list(rows())


@cache
def sources() -> str:
    """All that the code says, SQL and rules included."""
    kinds = ("*.py", "*.sql", "*.toml")
    roots = (SOURCE, ROOT / "clients" / "python" / "src")
    return "\n".join(file.read_text() for root in roots for kind in kinds for file in sorted(root.rglob(kind)))


def whole(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The objects that a value of this schema may be."""
    if "$ref" in schema:
        schema = SPEC["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
    if "properties" in schema:
        yield schema
    for option in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        yield from whole(option)


def inner(schema: dict[str, Any], field: str) -> Iterator[dict[str, Any]]:
    """The objects that stand in a field of it, or in the list that does."""
    for known in whole(schema):
        value = known["properties"].get(field, {})
        for option in (value, *value.get("anyOf", ())):
            yield from whole(option.get("items", option))


def body_of(operation: dict[str, Any]) -> dict[str, Any] | None:
    return operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")


def fields(written: str) -> Iterator[tuple[tuple[str, ...], str, bool]]:
    """Of `{"a", "b"?: [{"c"}]}` each field with those that it stands in, and whether it may be left out."""
    path: list[str] = []
    last = ""
    for brace, name, optional in re.findall(r'([{}])|"(\w+)"(\?)?', re.sub(r':\s*"[^"]*"', "", written)):
        if brace == "{":
            path.append(last)
        elif brace == "}":
            path.pop()
        else:
            last = name
            yield tuple(path[1:]), name, bool(optional)


def test_every_route_that_a_page_names_exists() -> None:
    known = [re.sub(r"\{\w+\}", "{}", label) for label, _, _ in routes_of(make_routes())]
    patterns = [re.compile(re.escape(label).replace(r"\{\}", r"[^/]+") + "/?") for label in known]
    for page in PAGES:
        for label in LABEL.findall(page.read_text()):
            plain = label.removesuffix("…")
            assert any(pattern.fullmatch(plain) for pattern in patterns), f"{page.name} names {label}"


@pytest.mark.parametrize("row", [row for row in ROWS if "`?" in row.said or "=&" in row.said], ids=lambda row: row.name)
def test_every_parameter_in_a_row_of_the_api_is_one_of_the_route(row: Row) -> None:
    named = {
        name for span in re.findall(r"`(\?[^`]+)`", row.said) for name in re.findall(r"[?&]([a-zA-Z_]+)", span)
    }  # fmt: skip
    assert named
    for operation in row.operations():
        assert named <= {known["name"] for known in operation.get("parameters", ()) if known["in"] == "query"}


BODIES = [
    (row, match[1])
    for row in ROWS
    if not row.name.startswith("GET") and (match := re.search(r'^[^:.]*`(\{"[^`]+\})`', row.said))
]


@pytest.mark.parametrize(("row", "written"), BODIES, ids=lambda value: value.name if isinstance(value, Row) else "")
def test_every_field_of_a_body_in_the_api_is_one_of_the_route(row: Row, written: str) -> None:
    """It may be left out where the page says so, and nowhere else; none is missing that has to be there. In a PATCH any
    may be left out, and no page says so of each.
    """
    for operation in row.operations():
        schema = body_of(operation)
        assert schema is not None
        told: dict[tuple[str, ...], set[str]] = {}
        for path, name, optional in fields(written):
            places = list(whole(schema))
            for step in path:
                places = [place for outer in places for place in inner(outer, step)]
            holds = [place for place in places if name in place["properties"]]
            assert holds, f"{'.'.join((*path, name))} is no field"
            needed = any(name in place.get("required", ()) for place in holds)
            assert optional is not needed or row.name.startswith("PATCH"), (path, name)
            told.setdefault(path, set()).add(name)
        assert all(set(place.get("required", ())) <= told[()] for place in whole(schema))


CHANGES = [
    (row, re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", match[1])))
    for row in ROWS
    if (match := re.match(r"Change (?:my )?((?:`\w+`(?: \([^)]*\))?(?:, or |, | or )?)+)", row.said))
]


@pytest.mark.parametrize(("row", "named"), CHANGES, ids=lambda value: value.name if isinstance(value, Row) else "")
def test_every_field_that_a_row_says_can_be_changed_can_be(row: Row, named: list[str]) -> None:
    for operation in row.operations():
        schema = body_of(operation)
        assert schema is not None
        assert set(named) == {name for place in whole(schema) for name in place["properties"]}


def codes() -> list[tuple[int, str]]:
    table = API[API.index("| Status | Code |") : API.index("## Pages of a list")]
    lines = re.findall(r"^\| (\d{3}) \| ([^|]+) \|", table, re.MULTILINE)
    return [(int(status), code) for status, named in lines for code in re.findall(r"`(\w+)`", named)]


def test_the_table_of_errors_has_every_kind_with_its_status_and_no_code_that_nothing_raises() -> None:
    known = {(status, kind.code) for kind, status in STATUS.items()}
    known |= {(status, code) for status, (code, _) in FRAMEWORK.items()} | {(500, "internal")}
    assert known <= set(codes())
    for status, code in codes():
        assert HTTPStatus(status)
        assert f'"{code}"' in sources(), code


def test_every_code_that_a_page_says_an_answer_has_is_in_the_code() -> None:
    statuses = {str(status.value) for status in HTTPStatus if status >= HTTPStatus.BAD_REQUEST}
    for page in PAGES:
        for status, code in re.findall(r"\b(\d{3}) `([A-Za-z]\w+_\w+)`", page.read_text()):
            if status in statuses:
                assert f'"{code}"' in sources(), f"{page.name}: {status} {code}"


def test_every_kind_of_id_is_on_the_page_about_the_api() -> None:
    listed = re.findall(r"`([a-z]+)_`\s\w+", API[API.index("An id is a prefix") : API.index("A path takes only ids")])
    assert set(listed) == set(KINDS) - {"spc"}, "a space is shown by the id of what it is"


GLOSSARY = (DOCS / "glossary.md").read_text()


def test_every_name_in_the_glossary_is_one_of_the_code() -> None:
    lanes = GLOSSARY[GLOSSARY.index("### Lane") :].split("###")[1]
    assert re.findall(r"`(\w+)`", lanes) == [lane.name for lane in LANES]
    paths = {path for _, _, path in routes_of(make_routes())}
    for name in re.findall(r"`([^`]+)`", GLOSSARY):
        if name.startswith("/"):
            assert any(path == name or path.startswith(f"{name}/") for path in paths), name
        elif name.endswith("_…"):
            assert name.removesuffix("_…") in KINDS, name
        elif re.fullmatch(r"[\w-]+", name):
            assert re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sources(), re.IGNORECASE), name


def test_every_error_says_in_its_tree_what_it_is() -> None:
    tree = errors.__doc__ or ""
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, errors.KeepstoneError):
            assert re.search(rf"\b{name}\b", tree), name
