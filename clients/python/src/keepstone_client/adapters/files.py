"""Text files under one root, kept in a store: a folder is a namespace, a file an item with its history.

This is what Anthropic's memory tool does, without its package. Answers and errors are worded as the tool's own.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import unquote

from keepstone_client import stores
from keepstone_client.adapters.steps import Steps
from keepstone_client.core import after
from keepstone_client.errors import Conflict, Invalid, TooLarge
from keepstone_client.stores import FoundItem, Item, ItemVersion, Outcome, Stores

ROOT = "/memories"
MOST_LINES = 999_999
_AT_ONCE = 1_000  # items of one search, and operations of one batch
_ROUNDS = 10  # times that an edit is tried while others edit the same file
_DEPTH = 2


class FileError(Exception):
    """What the model is told."""


class Files:
    """In the namespace `root` of the store `store`. The methods are steps for either client."""

    def __init__(self, store: str, root: Sequence[str]) -> None:
        self._store = store
        self._root = tuple(root)

    def view(self, path: str, view_range: Sequence[int] | None) -> Steps[str]:
        place = _place(path)
        file = yield from self._file(place)
        if file is None:
            return (yield from self._view_folder(path, place))
        lines = _text(file).split("\n")
        if len(lines) > MOST_LINES:
            raise FileError(f"File {path} exceeds maximum line limit of 999,999 lines.")
        first, last = 1, len(lines)
        if view_range and len(view_range) == 2:
            first = max(1, view_range[0])
            last = len(lines) if view_range[1] == -1 else view_range[1]
        return f"Here's the content of {path} with line numbers:\n" + _numbered(lines, first, last)

    def create(self, path: str, text: str) -> Steps[str]:
        place = _place(path)
        if not place:
            raise FileError(f"File {path} already exists")
        yield from self._check_free(place, f"File {path} already exists")
        try:
            yield from self._batch([self._put(place, text, if_version=0)])
        except Conflict:
            raise FileError(f"File {path} already exists") from None
        return f"File created successfully at: {path}"

    def str_replace(self, path: str, old: str, new: str) -> Steps[str]:
        def edited(text: str) -> str:
            places = _places(text, old)
            if not places:
                raise FileError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
            if text.count(old) > 1:
                lines = ", ".join(str(text.count("\n", 0, place) + 1) for place in places)
                raise FileError(
                    f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}."
                    " Please ensure it is unique"
                )
            return text.replace(old, new)

        before, new_text = yield from self._edit(path, edited)
        lines, changed = new_text.split("\n"), before.count("\n", 0, before.find(old)) + 1
        snippet = _numbered(lines, max(1, changed - 2), changed + 2)
        return (
            f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}"
        )

    def insert(self, path: str, line: int, text: str) -> Steps[str]:
        def edited(before: str) -> str:
            lines = before.split("\n")
            if lines[-1] == "":
                lines.pop()
            if not 0 <= line <= len(lines):
                raise FileError(
                    f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}]."
                )
            lines.insert(line, text.rstrip("\n"))
            whole = "\n".join(lines)
            return whole if whole.endswith("\n") else whole + "\n"

        yield from self._edit(path, edited)
        return f"The file {path} has been edited."

    def delete(self, path: str) -> Steps[str]:
        place = _place(path)
        if not place:
            raise FileError("Cannot delete the /memories directory itself")
        gone = yield from self._below(place)
        if not gone:
            raise FileError(f"The path {path} does not exist")
        for some in _in_parts(gone):
            yield from self._batch([stores.delete(one.namespace, one.key) for one in some])
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> Steps[str]:
        """All of it or nothing, if there are no more than 500 files. A file's history stays under its old path."""
        old, new = _place(old_path), _place(new_path)
        if not old:
            raise FileError("Cannot rename the /memories directory itself")
        taken = f"The destination {new_path} already exists"
        if not new or old == new:
            raise FileError(taken)
        yield from self._check_free(new, taken, leaving=old)
        for _ in range(_ROUNDS):
            moved = yield from self._below(old)
            if not moved:
                raise FileError(f"The path {old_path} does not exist")
            if new[: len(old)] == old:
                raise FileError(f"The path {old_path} can't be moved below itself")
            try:
                for some in _in_parts(moved, _AT_ONCE // 2):
                    yield from self._batch([step for one in some for step in self._move(one, old, new)])
            except Conflict:
                yield from self._check_free(new, taken, leaving=old)
                continue  # somebody edited one of them: what they wrote has to be moved
            return f"Successfully renamed {old_path} to {new_path}"
        raise _busy(old_path)

    def clear(self) -> Steps[str]:
        for some in _in_parts((yield from self._below(()))):
            yield from self._batch([stores.delete(one.namespace, one.key) for one in some])
        return "All memory cleared"

    def history(self, path: str) -> Steps[tuple[ItemVersion, ...]]:
        """Every version of a file, the latest first; also of one that was deleted."""
        namespace, key = self._address(_place(path))
        found = list[ItemVersion]()
        request = Stores.history.build(None, self._store, namespace, key, page_size=200)
        while request is not None:
            page = yield request
            found += page.items
            request = after(request, page)
        return tuple(found)

    def restore(self, path: str, version: int | None) -> Steps[Item]:
        """A file that was deleted, or what it was in an earlier version."""
        namespace, key = self._address(_place(path))
        return (yield Stores.restore.build(None, self._store, namespace, key, version=version))

    def search(self, query: str, limit: int) -> Steps[tuple[tuple[str, FoundItem], ...]]:
        """Files that speak of it, the best first, by their paths."""
        found: tuple[FoundItem, ...] = yield Stores.search.build(
            None, self._store, self._root, query=query, limit=limit
        )
        return tuple((f"{ROOT}/{'/'.join(self._within(one))}", one) for one in found)

    def _view_folder(self, path: str, place: tuple[str, ...]) -> Steps[str]:
        files = yield from self._below(place)
        if place and not files:
            raise FileError(f"The path {path} does not exist. Please provide a valid path.")
        inside = [(self._within(one)[len(place) :], len(_text(one).encode())) for one in files]
        shown = [(names, size) for names, size in inside if not any(name.startswith(".") for name in names)]
        sizes: dict[tuple[str, ...], int] = {}
        for names, size in shown:
            for depth in range(1, min(len(names), _DEPTH) + 1):
                sizes[names[:depth]] = sizes.get(names[:depth], 0) + size
        folders = {names[:depth] for names, _ in shown for depth in range(1, len(names))}
        base = path.rstrip("/")
        lines = [f"{_size(sum(size for _, size in shown))}\t{base}"]
        lines += [
            f"{_size(sizes[names])}\t{base}/{'/'.join(names)}{'/' if names in folders else ''}"
            for names in sorted(sizes)
        ]
        told = f"Here're the files and directories up to 2 levels deep in {base}, excluding hidden items:"
        return "\n".join([told, *lines])

    def _edit(self, path: str, edited: Any) -> Steps[tuple[str, str]]:
        """The text before and after. Whoever edits at the same time is not overwritten."""
        place = _place(path)
        for _ in range(_ROUNDS):
            file = yield from self._file(place)
            if file is None:
                folder = not place or (yield from self._below(place))
                wrong = "is not a file." if folder else "does not exist. Please provide a valid path."
                raise FileError(f"The path {path} {wrong}")
            before = _text(file)
            text = edited(before)
            try:
                yield from self._batch([self._put(place, text, if_version=file.version)])
            except Conflict:
                continue
            return before, text
        raise _busy(path)

    def _check_free(self, place: tuple[str, ...], taken: str, leaving: tuple[str, ...] | None = None) -> Steps[None]:
        """Nothing is there, and no file stands where a folder would have to be."""
        above = [place[:depth] for depth in range(1, len(place)) if place[:depth] != leaving]
        asked = [stores.get(*self._address(one)) for one in (place, *above)]
        outcomes = yield from self._batch([*asked, stores.search((*self._root, *place), limit=1)])
        if outcomes[0].item is not None or outcomes[-1].items:
            raise FileError(taken)
        for one, outcome in zip(above, outcomes[1:-1], strict=True):
            if outcome.item is not None:
                raise FileError(f"The path {ROOT}/{'/'.join(one)} is not a directory.")

    def _file(self, place: tuple[str, ...]) -> Steps[Item | None]:
        if not place:
            return None
        [outcome] = yield from self._batch([stores.get(*self._address(place))])
        return outcome.item

    def _below(self, place: tuple[str, ...]) -> Steps[list[FoundItem]]:
        """The file of this path, or all files in the folder."""
        file = yield from self._file(place)
        if file is not None:
            return [FoundItem(**vars(file))]
        found = list[FoundItem]()
        while True:
            asked = stores.search((*self._root, *place), limit=_AT_ONCE, offset=len(found))
            [outcome] = yield from self._batch([asked])
            found += outcome.items or ()
            if len(outcome.items or ()) < _AT_ONCE:
                return found

    def _move(self, one: Item, old: tuple[str, ...], new: tuple[str, ...]) -> list[dict[str, Any]]:
        there = (*new, *self._within(one)[len(old) :])
        return [
            stores.delete(one.namespace, one.key, if_version=one.version),
            self._put(there, _text(one), if_version=0),
        ]

    def _put(self, place: tuple[str, ...], text: str, *, if_version: int) -> dict[str, Any]:
        namespace, key = self._address(place)
        return stores.put(namespace, key, {"text": text}, if_version=if_version)

    def _batch(self, operations: Sequence[dict[str, Any]]) -> Steps[tuple[Outcome, ...]]:
        try:
            return (yield Stores.batch.build(None, self._store, operations))
        except (Invalid, TooLarge) as fault:
            raise FileError(fault.message) from fault

    def _address(self, place: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
        return (*self._root, *place[:-1]), place[-1]

    def _within(self, item: Item) -> tuple[str, ...]:
        return (*item.namespace[len(self._root) :], item.key)


def _place(path: str) -> tuple[str, ...]:
    """The names on the way from the root. Nothing leads out of it, however it is written."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise FileError(f"Path must start with {ROOT}, got: {path}")
    for form in _forms(path):
        names = form.replace("\\", "/").split("/")
        if ".." in names or "." in names or any(unicodedata.category(letter) == "Cc" for letter in form):
            raise FileError(f"Path {path} would escape {ROOT} directory")
    names = tuple(name for name in path[len(ROOT) :].split("/") if name)
    if any("\\" in name for name in names):
        raise FileError(f"Path {path} would escape {ROOT} directory")
    return names


def _forms(path: str) -> Iterable[str]:
    """As it is, and as whoever decodes or normalises it would read it."""
    seen = set[str]()
    while path not in seen:
        seen |= {path, unicodedata.normalize("NFKC", path)}
        path = unquote(unicodedata.normalize("NFKC", path))
    return seen


def _text(item: Item) -> str:
    return str(item.value.get("text", ""))


def _places(text: str, wanted: str) -> list[int]:
    found, at = list[int](), text.find(wanted)
    while at != -1:
        found.append(at)
        at = text.find(wanted, at + 1)
    return found


def _numbered(lines: Sequence[str], first: int, last: int) -> str:
    shown = list(enumerate(lines, 1))[first - 1 : max(last, 0)]
    return "\n".join(f"{number:>6}\t{line}" for number, line in shown)


def _size(number: int) -> str:
    value, unit = float(number), 0
    while value >= 1024 and unit < 3:
        value, unit = value / 1024, unit + 1
    return f"{value:g}{'BKMG'[unit]}" if value == int(value) else f"{value:.1f}{'BKMG'[unit]}"


def _in_parts(found: Sequence[FoundItem], size: int = _AT_ONCE) -> Iterable[Sequence[FoundItem]]:
    return [found[start : start + size] for start in range(0, len(found), size)]


def _busy(path: str) -> FileError:
    return FileError(f"The file {path} is being edited by others just now. Try again.")
