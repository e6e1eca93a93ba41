"""Graphs whose weights are mapped: they say the same, and are done without where they can't be had."""

from pathlib import Path

import numpy as np
import pytest

from keepstone.providers.encoder import Encoder
from keepstone.providers.manifest import BUILTIN

QUESTION = "Who takes the ferry to the island?"


async def read(mapped: Path | None) -> tuple[np.ndarray, np.ndarray]:
    encoder = Encoder(BUILTIN, mapped=mapped)
    try:
        embedding = await encoder.embed_question(QUESTION)
    finally:
        encoder.close()
    assert embedding.tokens is not None
    return embedding.pooled, embedding.tokens.vectors


async def same(mapped: Path | None) -> bool:
    plain, ours = await read(None), await read(mapped)
    return all(np.array_equal(left, right) for left, right in zip(plain, ours, strict=True))


async def test_a_mapped_graph_says_the_same_and_is_made_once(tmp_path: Path) -> None:
    place = tmp_path / "mapped"
    assert await same(place)
    (derived,) = place.iterdir()
    weights = derived / "graph.weights"
    assert weights.stat().st_size > 10 * (derived / "graph.onnx").stat().st_size
    made = weights.stat().st_mtime_ns
    encoder = Encoder(BUILTIN, mapped=place)
    assert str(weights) in Path("/proc/self/maps").read_text(), "it is mapped, not read"
    encoder.close()
    assert weights.stat().st_mtime_ns == made


@pytest.mark.parametrize("damage", ["cut off", "gone", "no graph"])
async def test_what_was_derived_and_damaged_is_done_without_and_made_anew(tmp_path: Path, damage: str) -> None:
    await read(tmp_path)
    (derived,) = tmp_path.iterdir()
    if damage == "cut off":
        (derived / "graph.weights").write_bytes(b"")
    elif damage == "gone":
        (derived / "graph.weights").unlink()
    else:
        (derived / "graph.onnx").write_bytes(b"not a graph")
    assert await same(tmp_path)
    assert not derived.exists()
    assert await same(tmp_path)
    assert derived.exists()


async def test_without_a_place_to_keep_it_the_original_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert await same(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "in the way"


async def test_of_a_former_version_nothing_stays(tmp_path: Path) -> None:
    former = tmp_path / "encoder-0123456789abcdef"
    former.mkdir()
    await read(tmp_path)
    assert not former.exists()
    assert len(list(tmp_path.iterdir())) == 1
