"""The pure parts of the bench: figures, the texts it is measured with, pictures and the page."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from bench import charts, page, pictures, talk
from bench.figures import Figure, count, percentile

RUN = {"run": "2026-01-01 00:00 UTC", "machine": "Python"}


def recall_at(size: int) -> dict[str, object]:
    return Figure("recall, p50", 10.0, "ms", "floor", 5.0, "< 25 ms", key="recall.1.p50", at=size).shown()


def test_a_percentile_is_a_value_that_was_measured() -> None:
    values = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert [percentile(values, per_cent) for per_cent in (0, 50, 95, 99, 100)] == [1.0, 3.0, 5.0, 5.0, 5.0]
    assert percentile([7.0], 50) == 7.0


def test_a_figure_without_a_baseline_has_no_ratio() -> None:
    assert Figure("one", 2.0, "s", "other", 4.0).ratio == 0.5
    assert Figure("one", 2.0, "s").shown()["ratio"] is None


def test_sizes_are_shown_short() -> None:
    assert [count(size) for size in (300, 1_000, 10_000, 1_000_000)] == ["300", "1 k", "10 k", "1 M"]


def test_a_transcript_is_the_same_every_time_and_repeats_nothing() -> None:
    base = [("Anna", "I moved to Lisbon last week. It is warm."), ("Ben", "Our puppy Luna loves the new garden.")]
    first, second = talk.transcript(30, base), talk.transcript(30, base)
    assert first == second
    assert [turn["text"] for turn in first[:2]] == [text for _, text in base]
    assert len({turn["id"] for turn in first}) == 30
    assert first[2]["text"].startswith(base[0][1])
    assert first[2]["text"] != base[0][1]


def test_pictures_are_well_formed_whatever_the_labels_say() -> None:
    drawn = pictures.bars("a < b & c", [pictures.Bar("<one>", 3.0, own=True), pictures.Bar("two", -1.5)], "ms")
    ET.fromstring(drawn)
    assert "-1.5 ms" in drawn
    ET.fromstring(pictures.lines("t", [pictures.Line("a & b", [(1_000, 2.0), (10_000, 20.0)])], "x", "y"))


def test_one_part_is_replaced_and_the_others_stay(tmp_path: Path) -> None:
    page.keep("floor", RUN | {"figures": [Figure("start", 1.0, "s", "bare", 0.5).shown()]}, tmp_path)
    page.keep("scopes", RUN | {"figures": [recall_at(1_000), recall_at(10_000)]}, tmp_path)
    page.keep("scopes", RUN | {"run": "later", "figures": [recall_at(1_000), recall_at(10_000)]}, tmp_path)
    parts = json.loads((tmp_path / "benchmarks.json").read_text())["parts"]
    assert parts["floor"]["run"] == RUN["run"]
    assert parts["scopes"]["run"] == "later"


def test_the_page_links_only_pictures_that_are_there(tmp_path: Path) -> None:
    page.keep("scopes", RUN | {"figures": [recall_at(1_000), recall_at(10_000)]}, tmp_path)
    page.write(tmp_path)
    text = (tmp_path / "benchmarks.md").read_text()
    assert "benchmarks/recall.svg" in text
    assert [picture.stem for picture in (tmp_path / "benchmarks").iterdir()] == ["recall"]
    assert "| recall, p50 | 10 ms | floor | 5 | 2.00 | < 25 ms |" in text


def test_a_peer_is_compared_with_the_figures_of_scopes() -> None:
    scopes = RUN | {"figures": [recall_at(1_000)]}
    peers = RUN | {
        "name": "other 1",
        "setting": "as it is",
        "speed": [{"size": 1_000, "recall": 40.0, "ingest": 9.0}],
        "quality": {"R@10": 50.0},
    }
    assert "| other 1 | 40 | 0.25 |" in page.beside(peers, scopes)[-1]
    assert page.beside({"missing": "not here"}, scopes) == ["not here"]


@pytest.mark.parametrize("parts", [{}, {"peers": RUN | {"missing": "not here"}}])
def test_without_figures_there_are_no_pictures(parts: dict[str, dict[str, object]]) -> None:
    assert charts.draw(parts) == {}
