"""Events out of bytes, wherever the network cuts them."""

from hypothesis import given
from hypothesis import strategies as st

from keepstone.relay.sse import Event, Events

ENDS = st.sampled_from(["\n", "\r\n", "\r"])
WORDS = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=12)


def read(*pieces: bytes) -> list[Event]:
    events = Events()
    found = [event for piece in pieces for event in events.feed(piece)]
    last = events.finish()
    return [*found, *([last] if last else [])]


def told(*pieces: bytes) -> list[tuple[str | None, str | None]]:
    return [(event.name, event.data) for event in read(*pieces)]


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """What a server may send: lines of every kind, with every end."""
    lines = draw(
        st.lists(
            st.one_of(
                st.just(""),
                st.just(""),
                WORDS.map(lambda text: f"data: {text}"),
                WORDS.map(lambda text: f"data:{text}"),
                WORDS.map(lambda text: f": {text}"),
                WORDS.map(lambda text: f"event: {text}"),
                st.just("retry: 3"),
            ),
            max_size=20,
        )
    )
    return "".join(line + draw(ENDS) for line in lines).encode()


@given(streams(), st.data())
def test_events_are_the_same_wherever_they_are_cut(stream: bytes, data: st.DataObject) -> None:
    places = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=30)))
    pieces = [stream[start:end] for start, end in zip([0, *places], [*places, len(stream)], strict=True)]
    cut = [(event.name, event.data) for event in read(*pieces) if event.data is not None or event.name]
    whole = [(event.name, event.data) for event in read(stream) if event.data is not None or event.name]
    assert cut == whole
    assert b"".join(event.raw for event in read(*pieces)) == stream


@given(st.binary(max_size=200), st.integers(1, 7))
def test_no_byte_is_lost_or_made_up(stream: bytes, size: int) -> None:
    pieces = [stream[place : place + size] for place in range(0, len(stream), size)]
    assert b"".join(event.raw for event in read(*pieces)) == stream


def test_an_event_is_there_as_soon_as_its_empty_line_is() -> None:
    events = Events()
    assert events.feed(b"data: one\n") == []
    assert [event.data for event in events.feed(b"\n")] == ["one"]
    assert [event.data for event in events.feed(b"data: two\r\n\r")] == ["two"]
    assert events.feed(b"\ndata: three\r") == []
    assert [event.data for event in events.feed(b"\n\r\n")] == ["three"]


def test_a_character_may_be_cut_in_two() -> None:
    text = "data: Ω😀\n\n".encode()
    for place in range(len(text)):
        assert told(text[:place], text[place:]) == [(None, "Ω😀")]


def test_data_of_several_lines_is_joined() -> None:
    assert told(b"event: x\ndata: a\ndata:  b\ndata:\n\n") == [("x", "a\n b\n")]


def test_comments_and_unknown_fields_carry_no_data() -> None:
    found = read(b": ping\n\nid: 4\nretry: 9\n\ndata: a\n: in between\n\n")
    assert [event.data for event in found] == [None, None, "a"]
    assert found[0].raw == b": ping\n\n"


def test_a_mark_of_the_byte_order_is_no_part_of_the_first_field() -> None:
    assert told(b"\xef\xbb\xbfdata: a\n\n") == [(None, "a")]


def test_what_is_not_over_at_the_end_comes_last() -> None:
    assert told(b"data: a\n\ndata: [DONE]") == [(None, "a"), (None, "[DONE]")]
