"""Imports point down. A module may use what stands below it, never what stands above or beside it."""

import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "keepstone"

# From the bottom up; on one line, side by side: those don't know each other.
LAYERS = (
    {"__init__", "errors"},
    {"model", "tallies", "link", "frames"},
    {"settings", "throttle", "replies", "afterwards", "home", "footprint", "nesting", "offload", "disk", "machine"},
    {"observe", "postgres", "providers", "importers"},
    {"store"},
    {"resident"},
    {"services"},
    {"engine", "access"},
    {"memory"},
    {"relay"},
    {"jobs"},
    {"runtime", "processes"},
    {"surfaces.http"},
    {"surfaces.rest", "surfaces.web", "surfaces.mcp", "surfaces.chat", "surfaces.openai", "surfaces.mem0"},
    {"app"},
    {"further"},
    {"serve"},
    {"cli"},
    {"__main__"},
)
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}

# What takes long to load, and is not always needed: imported where it is used, below the top of these files.
LATE = {
    "cli/__init__.py": "keepstone.cli",  # so that `keepstone --help` answers at once
    "providers/embedders.py": "keepstone.providers",  # onnxruntime
    "providers/judge.py": "keepstone.providers",  # onnxruntime
    "providers/products.py": "keepstone.providers",  # onnxruntime
    "surfaces/mcp/endpoint.py": "keepstone.surfaces.mcp.protocol",  # the package that speaks MCP
}
# Which package reads a document is looked up by its kind.
BY_STRING = {"providers/parsers/process.py"}
# Only these may speak to the database, and so only they hold SQL.
DATABASE = {"store", "postgres"}
# One looks at a database of ours that may be out of order, the other reads somebody else's.
EXEMPT = {"cli/doctor.py", "importers/tables.py"}


def part_of(module: str) -> str:
    """The layer that a dotted name below `keepstone` belongs to."""
    pieces = module.split(".")
    return ".".join(pieces[:2]) if pieces[0] == "surfaces" else pieces[0]


def files() -> list[tuple[Path, str]]:
    found = [(path, path.relative_to(SOURCE)) for path in sorted(SOURCE.rglob("*.py"))]
    return [
        (path, part_of(".".join(short.with_suffix("").parts).removesuffix(".__init__")))
        for path, short in found
        if str(short) != "surfaces/__init__.py"
    ]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports(path: Path) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, name.name) for name in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"keepstone.{name.name}" for name in node.names] if node.module == "keepstone" else [node.module]
            found += [(node.lineno, name) for name in names]
            assert node.level == 0, f"{path}:{node.lineno} is relative"
    return found


def test_every_module_has_its_place() -> None:
    assert {part for _, part in files()} <= set(RANK)


def test_imports_point_down() -> None:
    wrong: list[str] = []
    for path, part in files():
        for line, name in imports(path):
            if not name.startswith("keepstone."):
                continue
            used = part_of(name.removeprefix("keepstone."))
            used = used if used in RANK else "__init__"
            if used != part and RANK[used] >= RANK[part]:
                wrong.append(f"{path.relative_to(SOURCE)}:{line} ({part}) imports {used}")
    assert wrong == []


def test_only_the_store_speaks_to_the_database() -> None:
    wrong = [
        f"{path.relative_to(SOURCE)}:{line} imports {name}"
        for path, part in files()
        if part not in DATABASE and str(path.relative_to(SOURCE)) not in EXEMPT
        for line, name in imports(path)
        if name.split(".")[0] in {"psycopg", "psycopg_pool"}
    ]
    assert wrong == []


def test_a_principal_and_a_read_scope_are_each_made_in_one_place() -> None:
    makers = {"Principal": "access/principals.py", "ReadScope": "access/readscope.py"}
    wrong = [
        f"{path.relative_to(SOURCE)}:{node.lineno} makes a {node.func.id}"
        for path, _ in files()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and str(path.relative_to(SOURCE)) != makers.get(node.func.id, str(path.relative_to(SOURCE)))
    ]
    assert wrong == []


def test_imports_stand_at_the_top() -> None:
    wrong: list[str] = []
    for path, _ in files():
        module = tree(path)
        top = {id(node) for node in module.body}
        guarded = {
            id(inner)
            for node in module.body
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
            for inner in node.body
        }
        wrong += [
            f"{path.relative_to(SOURCE)}:{node.lineno}"
            for node in ast.walk(module)
            if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in top | guarded
            if not _may_be_late(path, node)
        ]
    assert wrong == []


def _may_be_late(path: Path, node: ast.Import | ast.ImportFrom) -> bool:
    allowed = LATE.get(str(path.relative_to(SOURCE)))
    return allowed is not None and isinstance(node, ast.ImportFrom) and (node.module or "").startswith(allowed)


def test_nothing_of_ours_is_imported_by_a_string() -> None:
    """The type checker would not see through it, nor would the tests above."""
    wrong = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path, _ in files()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in {"import_module", "__import__"}
        if "keepstone" in ast.unparse(node) or not isinstance(node.args[0], ast.Constant)
        if str(path.relative_to(SOURCE)) not in BY_STRING
    ]
    assert wrong == []


def test_every_module_says_what_it_owns() -> None:
    assert [str(path) for path, _ in files() if not ast.get_docstring(tree(path))] == []
