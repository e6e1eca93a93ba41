"""JSON of any size, one element at a time: the same elements as at once, however the bytes are cut."""

import io
import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepstone.errors import Invalid, NotFound
from keepstone.importers import stream
from keepstone.importers.bundle import open_bundle
from keepstone.importers.items import Gauge

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


class Dribble(io.BytesIO):
    """Gives a byte or a few at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(data)
        self._size = size

    def read(self, size: int | None = -1) -> bytes:
        return super().read(self._size)


@given(
    values=st.lists(JSON, max_size=6), size=st.integers(1, 40), indent=st.sampled_from([None, 2]), ascii=st.booleans()
)
def test_the_elements_are_those_of_the_whole_however_it_is_cut(
    values: list[Any], size: int, indent: int | None, ascii: bool
) -> None:
    data = json.dumps(values, indent=indent, ensure_ascii=ascii).encode("utf-8", "surrogatepass")
    expected = json.loads(data.decode("utf-8", "replace"))
    assert list(stream.elements(Dribble(data, size), "x.json")) == expected


@given(values=st.lists(JSON, max_size=4), head=JSON, tail=JSON, size=st.integers(1, 40))
def test_an_object_is_read_by_its_members_and_its_arrays_by_their_elements(
    values: list[Any], head: Any, tail: Any, size: int
) -> None:
    data = json.dumps({"head": head, "many": values, "tail": tail}, indent=1).encode()
    found = list(stream.members(Dribble(data, size), "x.json", ("many",)))
    assert found == [("head", head), *(("many", value) for value in values), ("tail", tail)]


def test_a_name_that_is_all_folders_is_looked_at_once(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("/" * 65_000 + "x", "x")
        archive.writestr("deep/projects/a.json", "{}")
    with open_bundle(tmp_path / "x.zip") as bundle:
        assert bundle.find(r".*\.json") == bundle.find(r"projects/[^/]+\.json") == ["deep/projects/a.json"]
        assert bundle.find(r"a\.json|x\.md") == ["deep/projects/a.json"]


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"[",
        b'[{"a": 1}',
        b'[{"a": 1},',
        b'[{"a" 1}]',
        b"[1 2]",
        b"[tru]",
        b'["abc',
        b"[1,]",
        b"\xff\xfe[",
        b"[" * 5000,
    ],
)
def test_what_breaks_off_or_has_a_fault_is_refused_with_the_name_of_the_file(broken: bytes) -> None:
    with pytest.raises(Invalid, match=r"x\.json"):
        list(stream.elements(io.BytesIO(broken), "x.json"))


def test_a_fault_near_the_beginning_of_a_large_file_is_found_without_reading_on() -> None:
    file = io.BytesIO(b'[{"a" 1}, ' + b" " * 50_000_000)
    with pytest.raises(Invalid):
        list(stream.elements(file, "x.json"))
    assert file.tell() < 2_000_000


def test_no_more_than_an_element_is_in_memory() -> None:
    item = json.dumps({"text": "x" * 2000, "more": list(range(50))}).encode()
    data = b"[" + b",".join([item] * 20_000) + b"]"
    tracemalloc.start()
    try:
        assert sum(1 for _ in stream.elements(io.BytesIO(data), "x.json")) == 20_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(data) > 40_000_000
    assert peak < 8_000_000


def test_how_far_it_is_is_told_in_bytes() -> None:
    data = json.dumps(["ü" * 1000] * 1000, ensure_ascii=False).encode()
    gauge = Gauge(total=len(data))
    list(stream.elements(io.BytesIO(data), "x.json", gauge))
    assert gauge.done == gauge.total


def test_a_bundle_is_the_same_as_a_zip_as_a_folder_and_as_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "conversations.json").write_text("[1]")
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.write(folder / "deep" / "conversations.json", "deep/conversations.json")
    for path in (folder, tmp_path / "export.zip", folder / "deep" / "conversations.json"):
        with open_bundle(path) as bundle:
            (name,) = bundle.find(r"conversations\.json")
            assert bundle.size([name]) == 3
            with bundle.open(name) as file:
                assert list(stream.elements(file, name)) == [1]
            assert bundle.find("conversations") == []


def test_what_is_not_there_or_no_whole_zip_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotFound), open_bundle(tmp_path / "nothing.zip"):
        pass
    with zipfile.ZipFile(tmp_path / "export.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.json", json.dumps(list(range(10_000))))
    data = bytearray((tmp_path / "export.zip").read_bytes())
    data[500:520] = b"\0" * 20
    (tmp_path / "export.zip").write_bytes(data)
    with open_bundle(tmp_path / "export.zip") as bundle, pytest.raises(Invalid), bundle.open("a.json") as file:
        list(stream.elements(file, "a.json"))
