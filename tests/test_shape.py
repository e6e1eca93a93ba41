"""The shape of the source: one name for one thing, and no module that is too long to read."""

import ast
from collections import defaultdict

from test_imports import SOURCE, files, tree

LONGEST = 450
# Longer than that, or named twice, before there was this guard: to become fewer, never more.
LONG = {"store/rooms.py"}
TWICE = {"UsageOut"}


def test_a_class_has_a_name_of_its_own() -> None:
    places: dict[str, set[str]] = defaultdict(set)
    for path, _ in files():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                places[node.name].add(str(path.relative_to(SOURCE)))
    twice = {name: sorted(paths) for name, paths in places.items() if len(paths) > 1 and name not in TWICE}
    assert not twice, f"a class is named for what it is, and so in one module only: rename one of {twice}"


def test_a_module_can_be_read_in_one_sitting() -> None:
    lengths = {str(path.relative_to(SOURCE)): len(path.read_text().splitlines()) for path, _ in files()}
    long = {name: lines for name, lines in lengths.items() if lines > LONGEST and name not in LONG}
    assert not long, f"a module has at most {LONGEST} lines: see what in it is a thing of its own in {long}"
