"""A chunk is a part of the whole text, to the character; nothing is left out, and it ends where a reader would."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from keepstone.engine.chunks import TextPiece, chunks, whole_text
from keepstone.providers.parsing import Block

LETTERS = st.sampled_from(list("abAB12 .,!?\n\n\t。，！中文e\u0301\u200d👩👧🏽\xa0\u3000"))
TEXTS = st.text(alphabet=LETTERS, max_size=600) | st.text(max_size=200)
BLOCKS = st.lists(
    st.builds(
        Block,
        text=TEXTS,
        page=st.none() | st.integers(1, 3),
        heading=st.none() | st.sampled_from(["A", "A > B", "A > C", "D"]),
    ),
    max_size=8,
)
SENTENCE = "The committee met in Geneva and talked about the new observatory on the hill. "


def texts(found: list[TextPiece]) -> list[str]:
    return [chunk.text for chunk in found]


@settings(max_examples=300)
@given(BLOCKS, st.integers(32, 200), st.integers(0, 100))
def test_chunks_are_the_text_to_the_character_and_leave_nothing_out(
    blocks: list[Block], size: int, overlap: int
) -> None:
    whole = whole_text(blocks)
    found = chunks(blocks, size=size, overlap=overlap)
    covered: set[int] = set()
    for chunk in found:
        assert whole[chunk.start : chunk.end] == chunk.text
        assert chunk.text == chunk.text.strip()
        assert 0 < len(chunk.text) <= size
        covered.update(range(chunk.start, chunk.end))
    assert all(place in covered for place, character in enumerate(whole) if not character.isspace())
    assert [chunk.start for chunk in found] == sorted({chunk.start for chunk in found})


@given(BLOCKS, st.integers(32, 200))
def test_all_of_a_chunk_stands_under_its_heading_and_on_one_page_where_none_is_tiny(
    blocks: list[Block], size: int
) -> None:
    padded = [block.text.ljust(size // 8, "x") + "\n\nx" for block in blocks]  # no heading alone
    blocks = [
        Block(text=text, page=block.page, heading=block.heading) for text, block in zip(padded, blocks, strict=True)
    ]
    ends: list[int] = []
    for block in blocks:
        ends.append((ends[-1] + 2 if ends else 0) + len(block.text))
    for chunk in chunks(blocks, size=size):
        touched = [
            block
            for block, end in zip(blocks, ends, strict=True)
            if chunk.start < end and chunk.end > end - len(block.text)
        ]
        assert {block.heading for block in touched} == {chunk.heading}
        assert {block.page for block in touched} == {chunk.page}


def test_no_block_is_no_chunk() -> None:
    assert chunks([]) == []
    assert chunks([Block(text=" \n "), Block(text="")]) == []


def test_a_short_text_is_one_chunk() -> None:
    blocks = [Block(text="# Plans\n\nWe ship on Monday.", heading="Plans")]
    assert chunks(blocks) == [
        TextPiece(text="# Plans\n\nWe ship on Monday.", start=0, end=27, page=None, heading="Plans")
    ]


def test_a_chunk_ends_with_a_paragraph_if_it_can() -> None:
    paragraphs = [(SENTENCE * 4).strip() for _ in range(6)]
    found = chunks([Block(text="\n\n".join(paragraphs))])
    assert texts(found) == ["\n\n".join(paragraphs[at : at + 2]) for at in (0, 2, 4)]


def test_without_paragraphs_it_ends_with_a_sentence_and_the_next_one_begins_with_one_said_before() -> None:
    found = chunks([Block(text=SENTENCE * 40)])
    assert len(found) > 3
    assert all(chunk.text.startswith("The committee") and chunk.text.endswith("hill.") for chunk in found)
    assert all(before.end > after.start for before, after in pairwise(found))


def test_lines_that_are_wrapped_do_not_end_a_chunk_inside_of_a_sentence() -> None:
    found = chunks([Block(text=(SENTENCE * 40).replace(" about ", "\nabout "))])
    assert all(chunk.text.endswith("hill.") for chunk in found)


def test_without_sentences_it_ends_with_a_word() -> None:
    words = " ".join(f"word{number}" for number in range(600))
    found = chunks([Block(text=words)])
    assert {word for chunk in found for word in chunk.text.split()} == set(words.split())


def test_chinese_is_cut_after_a_sentence_and_without_any_anywhere() -> None:
    found = chunks([Block(text="我们决定在山上建一座新的天文台。" * 200)])
    assert all(chunk.text.endswith("。") and chunk.text.startswith("我们") for chunk in found)
    assert all(len(chunk.text) > 400 for chunk in found)
    dense = chunks([Block(text="天" * 3000)])
    assert len(dense) < 6
    assert dense[-1].end == 3000


def test_what_is_seen_as_one_character_is_not_cut() -> None:
    family = "👩🏽\u200d👩\u200d👧"
    found = chunks([Block(text=family * 200)], size=100)
    assert len(found) > 5
    assert all(chunk.text.startswith("👩🏽") and chunk.text.endswith("👧") for chunk in found)
    accented = chunks([Block(text="e\u0301" * 500)], size=101)
    assert all(chunk.text.startswith("e") and chunk.text.endswith("\u0301") for chunk in accented)


def test_a_chunk_stays_on_its_page() -> None:
    pages = [Block(text=(SENTENCE * 5).strip(), page=number) for number in (1, 2, 3)]
    assert [(chunk.page, chunk.text) for chunk in chunks(pages)] == [(page.page, page.text) for page in pages]


def test_a_page_that_is_tiny_goes_with_the_next_and_the_last_with_the_one_before() -> None:
    long = (SENTENCE * 5).strip()
    blocks = [Block(text="Report", page=1), Block(text=long, page=2), Block(text="Fin.", page=3)]
    assert [(chunk.page, chunk.text) for chunk in chunks(blocks)] == [(2, f"Report\n\n{long}\n\nFin.")]


def test_a_chunk_has_the_heading_of_its_own_section_however_short_that_is() -> None:
    text = (SENTENCE * 2).strip()
    blocks = [
        Block(text="A\n\nIt is small.", heading="A"),
        Block(text=f"B\n\n{text}", heading="A > B"),
        Block(text="C\n\nIt opens at six.", heading="A > C"),
        Block(text=f"D\n\n{text}", heading="D"),
    ]
    found = chunks(blocks)
    assert texts(found) == [block.text for block in blocks]
    assert [chunk.heading for chunk in found] == ["A", "A > B", "A > C", "D"]


def test_the_end_of_a_long_section_does_not_stand_under_the_next_heading() -> None:
    long = (SENTENCE * 14).strip()
    blocks = [Block(text=f"B\n\n{long}", heading="A > B"), Block(text=f"C\n\n{long}", heading="A > C")]
    found = chunks(blocks)
    assert [chunk.heading for chunk in found] == ["A > B", "A > B", "A > C", "A > C"]
    assert [chunk.text[0] for chunk in found] == ["B", "T", "C", "T"]


def test_a_heading_alone_goes_with_the_first_section_below_it_and_with_no_other() -> None:
    blocks = [
        Block(text="# A", heading="A"), Block(text="## B", heading="A > B"),
        Block(text="### C\n\nIt opens at six.", heading="A > B > C"), Block(text="## D", heading="A > D"),
        Block(text="# E\n\nIt is small.", heading="E"),
    ]  # fmt: skip
    assert [(chunk.text, chunk.heading) for chunk in chunks(blocks)] == [
        ("# A\n\n## B\n\n### C\n\nIt opens at six.", "A > B > C"), ("## D", "A > D"), ("# E\n\nIt is small.", "E"),
    ]  # fmt: skip


def test_a_heading_is_not_left_behind_at_the_end_of_a_chunk() -> None:
    text = (SENTENCE * 10).strip()
    blocks = [Block(text=f"A\n\n{text}", heading="A"), Block(text=f"Below it\n\n{text}", heading="A > Below it")]
    found = chunks(blocks)
    assert texts(found) == [f"A\n\n{text}", f"Below it\n\n{text}"]
