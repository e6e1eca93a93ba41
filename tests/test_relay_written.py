"""A call of a tool that a model wrote as text is a call; everything else it writes flows on as it came."""

import json
from typing import Any

import pytest

import test_relay_chat as chats
import test_relay_responses as answers
from keepstone.relay.dialects.written_calls import may_be_calls, written_calls
from test_relay_chat import DONE, ROLE, body_of, chunk, chunks, completion, deltas, ran, sent

NAMES = frozenset({"x_save", "x_find"})
BARE = '{"name": "x_save", "arguments": {"content": "The gate code is 4 711."}}'
WRITTEN = (
    BARE,
    f"\n  {BARE}\n",
    f"```json\n{BARE}\n```",
    f"```\n{BARE}\n```",
    f"<tool_call>\n{BARE}\n</tool_call>",
    f"[{BARE}]",
    '{"type": "function", "function": {"name": "x_find", "arguments": "{\\"query\\": \\"gate\\"}"}}',
    '{"parameters": {"query": "gate"}, "name": "x_find"}',
    '{"tool_calls": [{"tool": "x_find", "args": {"query": "gate"}}]}',
    f'<tool_call>{BARE}</tool_call>\n<tool_call>{{"name": "x_find", "arguments": {{}}}}</tool_call>',
)
SAID = (
    "The gate code is 4 711.",
    f"I will call {BARE}",
    f"{BARE}\nDone.",
    '{"name": "weather", "arguments": {"city": "Ghent"}}',
    f'[{BARE}, {{"name": "weather", "arguments": {{}}}}]',
    '{"name": "x_save"}',
    '{"name": "x_save", "arguments": 4}',
    '{"answer": "x_save"}',
    '```python\nprint("x_save")\n```',
    "[1, 2, 3]",
    "<b>x_save</b>",
)


@pytest.mark.parametrize("text", WRITTEN)
def test_what_is_nothing_but_calls_of_ours_is_read_as_these_wherever_it_is_cut(text: str) -> None:
    calls = written_calls(text, NAMES)
    assert calls
    assert {call.name for call in calls} <= NAMES
    assert all(isinstance(json.loads(call.arguments), dict) for call in calls)
    assert len({call.id for call in calls}) == len(calls)
    assert all(may_be_calls(text[:end], NAMES) for end in range(len(text) + 1))


@pytest.mark.parametrize("text", SAID)
def test_everything_else_is_text(text: str) -> None:
    assert written_calls(text, NAMES) == []
    assert written_calls(text, frozenset()) == []


def pieces(text: str, size: int = 3) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


@pytest.mark.parametrize("text", WRITTEN[:5])
def test_a_chats_written_call_is_run_and_never_seen(text: str) -> None:
    whole = chats.offered()
    whole.read(completion(text))
    streamed = chats.offered(stream=True)
    told = sent(streamed, ROLE, *(chunk({"content": part}) for part in pieces(text)), chunk({}, "stop"), DONE)
    for made in (whole, streamed):
        (asked,) = made.calls
        assert (asked.name, json.loads(asked.arguments)) == ("x_save", {"content": "The gate code is 4 711."})
        made.go_on(ran(made), last=False)
        asking, result = body_of(made)["messages"][-2:]
        assert [call["id"] for call in asking["tool_calls"]] == [result["tool_call_id"]] == [asked.id]
        assert not asking["content"]
    whole.read(completion("Noted."))
    assert json.loads(whole.whole())["choices"][0]["message"]["content"] == "Noted."
    told += sent(streamed, ROLE, chunk({"content": "Noted."}), chunk({}, "stop"), DONE)
    assert "".join(delta.get("content") or "" for delta in deltas(told)) == "Noted."
    assert [one["choices"][0]["finish_reason"] for one in chunks(told)][-1] == "stop"
    assert whole.text == streamed.text == "Noted."


@pytest.mark.parametrize("text", SAID)
def test_other_text_of_a_stream_is_given_byte_for_byte(text: str) -> None:
    made = chats.offered(stream=True)
    events = [ROLE, *(chunk({"content": part}) for part in pieces(text)), chunk({}, "stop")]
    assert sent(made, *events) == b"".join(events)
    assert made.text == text
    assert not made.calls


def test_text_is_held_no_longer_than_it_may_be_a_call() -> None:
    made = chats.offered(stream=True)
    assert deltas(sent(made, ROLE)) == [{"role": "assistant", "content": ""}]
    assert sent(made, chunk({"content": '{"'})) == b""
    assert deltas(sent(made, chunk({"content": "total"}))) == [{"content": '{"'}, {"content": "total"}]
    assert deltas(sent(made, chunk({"content": '": 4}'}))) == [{"content": '": 4}'}]


def test_a_call_that_was_cut_short_or_is_wanted_as_json_is_text() -> None:
    cut = chats.offered()
    cut.read(completion(BARE, finish="length"))
    wanted = chats.offered(response_format={"type": "json_object"})
    wanted.read(completion(BARE))
    form = answers.offered(text={"format": {"type": "json_object"}})
    form.read(answers.whole(answers.message(BARE)))
    kept = answers.offered(conversation="conv_1")
    kept.read(answers.whole(answers.message(BARE)))
    for made in (cut, wanted, form, kept):
        assert not made.calls
        assert made.text == BARE


@pytest.mark.parametrize("text", WRITTEN[:5])
def test_a_responses_written_call_is_run_and_never_seen(text: str) -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    whole = answers.offered()
    whole.read(answers.whole(answers.message(text)))
    streamed = answers.offered()
    told = sent(streamed, *answers.stream(thought, answers.message(text)))
    for made in (whole, streamed):
        (asked,) = made.calls
        assert (asked.name, json.loads(asked.arguments)) == ("x_save", {"content": "The gate code is 4 711."})
        made.go_on(ran(made), last=False)
        asking, result = body_of(made)["input"][-2:]
        assert asking["type"] == "function_call"
        assert asking["call_id"] == result["call_id"] == asked.id
    whole.read(answers.whole(answers.message("Noted.")))
    assert "x_save" not in whole.whole().decode()
    told += sent(streamed, *answers.stream(answers.message("Noted.", "msg_2"), id="resp_2"))
    seen: list[Any] = answers.events(told + b"".join(streamed.tail()))
    assert [event["sequence_number"] for event in seen] == list(range(len(seen)))
    assert "x_save" not in json.dumps(seen)
    assert "".join(event["delta"] for event in seen if event["type"] == "response.output_text.delta") == "Noted."
    assert whole.text == streamed.text == "Noted."


@pytest.mark.parametrize("text", SAID)
def test_other_text_of_a_streamed_response_is_given_byte_for_byte(text: str) -> None:
    made = answers.offered()
    events = answers.stream(answers.message(text))
    assert sent(made, *events) + b"".join(made.tail()) == b"".join(events)
    assert not made.calls
