"""Chat completions without a network: requests and how they are changed, answers and what the client sees of them."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from keepstone.errors import Invalid
from keepstone.relay.calls import AnsweredCall, Tool
from keepstone.relay.dialects.chat import ChatExchange
from keepstone.relay.dialects.exchange import Exchange
from keepstone.relay.dialects.values import dumped, read_object, sum_of
from keepstone.relay.sse import Events

CLIENT_TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}


OURS = [Tool(name=name, description="what it does", parameters={"type": "object"}) for name in ("x_save", "x_find")]


def chat(**body: Any) -> ChatExchange:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **body}
    raw = json.dumps(body).encode()
    return ChatExchange(raw, read_object(raw))


def offered(**body: Any) -> ChatExchange:
    made = chat(**body)
    made.offer(OURS)
    assert made.names
    return made


def call(name: str, id: str = "c1", arguments: str = "{}") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def completion(content: str | None = None, *calls: dict[str, Any], finish: str = "stop", **more: Any) -> bytes:
    message = {"role": "assistant", "content": content, **({"tool_calls": list(calls)} if calls else {})}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else finish}
    return json.dumps({"id": "a1", "created": 1, "model": "m-1", "choices": [choice], **more}).encode()


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    body = {"id": "a1", "object": "chat.completion.chunk", "created": 1, "model": "m-1", "choices": choices, **more}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def part(index: int, name: str | None = None, arguments: str = "", id: str | None = None) -> dict[str, Any]:
    named = {"id": id or f"c{index}", "type": "function"} if name is not None else {}
    asked = {"arguments": arguments, **({"name": name} if name is not None else {})}
    return {"index": index, **named, "function": asked}


DONE = b"data: [DONE]\n\n"


def sent(exchange: Exchange, *events: bytes) -> bytes:
    """What the client gets of a round while it comes."""
    found = [event for parser in [Events()] for event in parser.feed(b"".join(events))]
    return b"".join(piece.raw for event in found for piece in exchange.feed(event))


def chunks(raw: bytes) -> list[Any]:
    return [json.loads(event.data) for event in Events().feed(raw) if event.data and event.data != "[DONE]"]


def ran(exchange: Exchange, result: str = "found") -> list[AnsweredCall]:
    return [AnsweredCall(id=one.id, name=one.name, arguments=one.arguments, result=result) for one in exchange.calls]


def body_of(exchange: Exchange) -> Any:
    return json.loads(exchange.payload)


def deltas(raw: bytes) -> list[Any]:
    return [one["choices"][0]["delta"] for one in chunks(raw) if one["choices"]]


# ------------------------------------------------------------------------------------------------- requests


def test_a_request_that_needs_no_change_is_sent_as_it_came() -> None:
    raw = b'{ "model":"m",  "messages": [], "unknown": 1.50 }'
    assert ChatExchange(raw, read_object(raw), model="other").payload == raw


def test_a_missing_model_is_filled_in() -> None:
    raw = b'{"messages":[]}'
    assert body_of(ChatExchange(raw, read_object(raw), model="small")) == {"messages": [], "model": "small"}


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"3", b'{"a": NaN}', b'{"a": 1e999}', b"\xff{}", b"[" * 100_000])
def test_what_is_no_json_object_is_refused(raw: bytes) -> None:
    with pytest.raises(Invalid):
        read_object(raw)


def test_half_a_surrogate_pair_goes_through() -> None:
    assert json.loads(dumped(read_object(b'{"a":"\\ud83d \xc3\xa9"}'))) == {"a": "\ud83d é"}


def test_the_last_user_message_is_what_was_said() -> None:
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:"}},
             {"type": "text", "text": "here"}]  # fmt: skip
    messages = [{"role": "user", "content": "before"}, {"role": "user", "content": parts}, {"role": "assistant"}]
    assert chat(messages=messages).said == "look\nhere"
    assert chat(messages=messages).results_of is None
    assert chat(messages=[]).said == chat(messages="?").said == chat(messages=[3, {"role": ["user"]}]).said == ""


def test_a_request_that_ends_with_a_tools_result_goes_on() -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "tool", "tool_call_id": "c1", "content": "4"}]
    assert chat(messages=messages).results_of == ["c1"]
    assert chat(messages=[*messages, {"role": "system", "content": "Be brief."}]).results_of == ["c1"]
    assert chat(messages=[*messages, {"role": "user", "content": "and now?"}]).results_of is None


def test_context_goes_to_the_end_of_the_system_prompt() -> None:
    made = chat(messages=[{"role": "user", "content": "a"}, {"role": "developer", "content": "Be brief."}])
    assert made.inject("CONTEXT")
    assert body_of(made)["messages"][1] == {"role": "developer", "content": "Be brief.\n\nCONTEXT"}
    made = chat(messages=[{"role": "system", "content": [{"type": "text", "text": "Be brief."}]}])
    made.inject("CONTEXT")
    assert body_of(made)["messages"][0]["content"][1] == {"type": "text", "text": "CONTEXT"}
    made = chat()
    made.inject("CONTEXT")
    assert body_of(made)["messages"][0] == {"role": "system", "content": "CONTEXT"}
    assert len(body_of(made)["messages"]) == 2


def test_there_is_no_place_for_context_where_there_are_no_messages() -> None:
    assert not chat(messages="?").inject("CONTEXT")


def test_our_tools_stand_beside_the_clients() -> None:
    made = offered(tools=[CLIENT_TOOL])
    assert [tool["function"]["name"] for tool in body_of(made)["tools"]] == ["weather", "x_save", "x_find"]


def test_a_clients_tool_of_the_same_name_wins() -> None:
    mine = {"type": "function", "function": {"name": "x_save"}}
    made = offered(tools=[mine])
    assert made.names == {"x_find"}
    made.read(completion(None, call("x_save")))
    assert made.calls == []
    assert made.client_calls == ["c1"]


@pytest.mark.parametrize(
    "body",
    [
        {"tool_choice": "none"},
        {"tool_choice": {"type": "function", "function": {"name": "weather"}}},
        {"tool_choice": "required"},
        {"n": 2},
        {"functions": [{"name": "old"}]},
        {"tools": "?"},
    ],
)
def test_where_the_model_has_no_choice_ours_are_not_offered(body: dict[str, Any]) -> None:
    made = chat(**body)
    before = made.payload
    made.offer(OURS)
    assert not made.names
    assert made.payload == before


def test_ours_are_offered_beside_required_tools() -> None:
    assert offered(tool_choice="required", tools=[CLIENT_TOOL]).names


def test_kept_calls_take_their_place_again() -> None:
    made = chat(
        messages=[
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": None, "tool_calls": [call("weather", "c7"), call("weather", "c8")]},
            {"role": "tool", "tool_call_id": "c7", "content": "rain"},
            {"role": "tool", "tool_call_id": "c8", "content": "sun"},
        ]
    )
    assert made.ids() == ["c7", "c8"]
    own = AnsweredCall(id="o1", name="x_find", arguments='{"q":1}', result="found")
    made.splice({"c7": [own], "c8": [own]})
    messages = body_of(made)["messages"]
    assert [one["id"] for one in messages[1]["tool_calls"]] == ["o1", "c7", "c8"]
    assert messages[2] == {"role": "tool", "tool_call_id": "o1", "content": "found"}
    assert [one["role"] for one in messages] == ["user", "assistant", "tool", "tool", "tool"]


def test_nothing_kept_changes_nothing() -> None:
    made = chat(messages=[{"role": "assistant", "tool_calls": [call("weather", "c7")]}])
    before = made.payload
    made.splice({})
    assert made.payload is before


# -------------------------------------------------------------------------------------------- whole answers


def test_an_answer_without_our_calls_is_given_as_it_came() -> None:
    made = offered()
    raw = completion("hello", usage={"total_tokens": 3}).replace(b" ", b"  ")
    made.read(raw)
    assert made.complete
    assert made.calls == []
    assert made.whole() is raw
    assert (made.text, made.model, made.usage) == ("hello", "m-1", {"total_tokens": 3})


def test_an_answer_that_is_no_json_is_given_as_it_came() -> None:
    made = offered()
    made.read(b"<html>")
    assert made.whole() == b"<html>"


def test_our_calls_are_answered_and_the_client_sees_the_last_round() -> None:
    made = offered()
    made.read(completion("Let me look.", call("x_find", "o1", '{"q":1}'), usage={"total": 2, "details": {"cached": 1}}))
    assert [(one.id, one.name, one.arguments) for one in made.calls] == [("o1", "x_find", '{"q":1}')]
    made.go_on(ran(made), last=False)
    messages = body_of(made)["messages"]
    assert messages[1]["tool_calls"] == [call("x_find", "o1", '{"q":1}')]
    assert messages[2] == {"role": "tool", "tool_call_id": "o1", "content": "found"}
    made.read(completion("It is 4.", usage={"total": 3, "details": {"cached": 2}}))
    assert made.settle([]) == []
    answer = json.loads(made.whole())
    assert answer["usage"] == {"total": 5, "details": {"cached": 3}}
    assert answer["choices"][0]["message"]["content"] == "Let me look.\n\nIt is 4." == made.text
    assert answer["choices"][0]["finish_reason"] == "stop"


def test_of_a_mixed_turn_the_client_gets_only_its_own_calls() -> None:
    made = offered(tools=[CLIENT_TOOL])
    made.read(completion(None, call("x_find", "o1"), call("weather", "c2")))
    kept = made.settle(ran(made))
    assert [(list(one.ids), [own.id for own in one.calls]) for one in kept] == [(["c2"], ["o1"])]
    answer = json.loads(made.whole())
    assert answer["choices"][0]["message"]["tool_calls"] == [call("weather", "c2")]
    assert answer["choices"][0]["finish_reason"] == "tool_calls"


def test_what_ran_in_earlier_rounds_is_kept_beside_a_clients_call_too() -> None:
    made = offered(tools=[CLIENT_TOOL])
    made.read(completion(None, call("x_find", "o1")))
    made.go_on(ran(made), last=False)
    made.read(completion(None, call("weather", "c2")))
    assert [[own.id for own in one.calls] for one in made.settle([])] == [["o1"]]


def test_the_last_round_offers_no_tools_of_ours_and_runs_none() -> None:
    made = offered()
    made.read(completion(None, call("x_find", "o1")))
    made.go_on(ran(made), last=True)
    assert body_of(made)["tool_choice"] == "none"
    made.read(completion("enough", call("x_find", "o2")))
    assert made.calls == []
    choice = json.loads(made.whole())["choices"][0]
    assert "tool_calls" not in choice["message"]
    assert choice["finish_reason"] == "stop"


def test_the_last_round_still_has_the_clients_tools() -> None:
    made = offered(tools=[CLIENT_TOOL])
    made.read(completion(None, call("x_find", "o1")))
    made.go_on(ran(made), last=True)
    assert body_of(made)["tools"] == [CLIENT_TOOL]
    assert "tool_choice" not in body_of(made)


def test_a_call_that_was_cut_short_is_not_run() -> None:
    made = offered()
    made.read(completion("so", call("x_find", "o1")).replace(b'"tool_calls"}', b'"length"}'))
    assert made.calls == []
    choice = json.loads(made.whole())["choices"][0]
    assert "tool_calls" not in choice["message"]
    assert choice["finish_reason"] == "length"


def test_a_note_is_added_to_the_answer() -> None:
    made = offered()
    made.note.injected = [{"id": "mem_a"}]
    made.note.saved.append("mem_b")
    made.read(completion("hello", unknown=1))
    answer = json.loads(made.whole())
    assert answer["x_memory"] == {"injected": [{"id": "mem_a"}], "saved": ["mem_b"]}
    assert answer["unknown"] == 1


# -------------------------------------------------------------------------------------------------- streams


ROLE = chunk({"role": "assistant", "content": ""})


def test_a_stream_without_our_calls_is_given_byte_for_byte() -> None:
    made = offered(tools=[CLIENT_TOOL])
    stream = [
        b": ping\n\n",
        ROLE.replace(b"\n", b"\r\n"),
        chunk({"content": "hé😀"}).replace(b": ", b":  "),
        chunk({"tool_calls": [part(0, "weather")]}),
        chunk({"tool_calls": [part(0, arguments="{}")]}),
        chunk({}, "tool_calls"),
        chunk(usage={"total_tokens": 3}),
        DONE,
    ]
    shown = sent(made, *stream)
    assert made.over
    assert made.complete
    assert shown + b"".join(made.tail()) == b"".join(stream)
    assert made.client_calls == ["c0"]
    assert made.text == "hé😀"


def test_our_calls_in_a_stream_are_held_back_and_the_rounds_are_one_stream() -> None:
    made = offered(stream=True)
    first = sent(
        made,
        ROLE,
        chunk({"content": "Let me look."}),
        chunk({"tool_calls": [part(0, "x_find", id="o1")]}),
        chunk({"tool_calls": [part(0, arguments='{"q"')]}),
        chunk({"tool_calls": [part(0, arguments=":1}")]}),
        chunk({}, "tool_calls"),
        chunk(usage={"total_tokens": 3}),
        DONE,
    )
    assert deltas(first) == [{"role": "assistant", "content": ""}, {"content": "Let me look."}]
    assert [(one.id, one.name, one.arguments) for one in made.calls] == [("o1", "x_find", '{"q":1}')]
    made.go_on(ran(made), last=False)
    assert body_of(made)["messages"][1] == {
        "role": "assistant", "content": "Let me look.", "tool_calls": [call("x_find", "o1", '{"q":1}')],
    }  # fmt: skip
    second = sent(
        made,
        *(
            event.replace(b'"a1"', b'"a2"').replace(b'"created": 1', b'"created": 2')
            for event in [
                ROLE,
                chunk({"content": "It"}),
                chunk({"content": " is 4."}),
                chunk({}, "stop"),
                chunk(usage={"total_tokens": 4}),
                DONE,
            ]
        ),
    )
    assert deltas(second) == [{"content": "\n\nIt"}, {"content": " is 4."}, {}]
    assert {(one["id"], one["created"]) for one in chunks(first + second)} == {("a1", 1)}
    assert [one["choices"][0]["finish_reason"] for one in chunks(second) if one["choices"]] == [None, None, "stop"]
    assert chunks(second)[-1]["usage"] == {"total_tokens": 7} == made.usage
    assert made.tail() == [DONE]
    assert made.text == "Let me look.\n\nIt is 4."


def test_of_a_mixed_stream_the_client_gets_its_own_calls_counted_from_zero() -> None:
    made = offered(tools=[CLIENT_TOOL])
    shown = sent(
        made,
        chunk({"role": "assistant", "content": None, "tool_calls": [part(0, "x_find", id="o1")]}),
        chunk({"tool_calls": [part(0, arguments="{}"), part(1, "weather", id="c1")]}),
        chunk({"tool_calls": [part(1, arguments='{"at":')]}),
        chunk({"tool_calls": [part(2, "x_save", id="o2")]}),
        chunk({"tool_calls": [part(3, "weather", id="c2"), part(1, arguments="1}")]}),
        chunk({}, "tool_calls", usage={"total_tokens": 1}),
        DONE,
    )
    assert [one.id for one in made.calls] == ["o1", "o2"]
    assert made.client_calls == ["c1", "c2"]
    assert [(entry["index"], entry.get("id")) for delta in deltas(shown) for entry in delta.get("tool_calls", [])] == [
        (0, "c1"), (0, None), (1, "c2"), (0, None),
    ]  # fmt: skip
    assert deltas(shown)[0] == {"role": "assistant", "content": None}
    assert "x_" not in shown.decode()
    made.settle(ran(made))
    made.note.saved.append("mem_a")
    held, end = made.tail()
    assert end == DONE
    assert chunks(held)[0]["choices"][0]["finish_reason"] == "tool_calls"
    assert chunks(held)[0]["x_memory"] == {"injected": [], "saved": ["mem_a"]}
    assert chunks(held)[0]["usage"] == {"total_tokens": 1}


def test_a_name_in_pieces_is_held_until_it_is_known() -> None:
    made = offered(tools=[CLIENT_TOOL])
    shown = sent(
        made,
        chunk({"tool_calls": [part(0, "x_", id="c1")]}),
        chunk({"tool_calls": [{"index": 0, "function": {"name": "other"}}]}),
        chunk({"tool_calls": [part(1, "x_fi", id="o1")]}),
        chunk({"tool_calls": [{"index": 1, "function": {"name": "nd"}}]}),
        chunk({"tool_calls": [part(2, "x", id="c2")]}),
        chunk({"tool_calls": [part(2, arguments="{}")]}),
        chunk({}, "tool_calls"),
    )
    assert [one.name for one in made.calls] == ["x_find"]
    assert made.client_calls == ["c1", "c2"]
    entries = [entry for delta in deltas(shown) for entry in delta.get("tool_calls", [])]
    assert [entry["function"].get("name") for entry in entries] == ["x_", "other", "x", None]
    assert [entry["index"] for entry in entries] == [0, 0, 1, 1]


def test_a_clients_call_whose_name_begins_like_ours_flows_once_it_is_known() -> None:
    made = offered(tools=[CLIENT_TOOL])
    assert sent(made, chunk({"tool_calls": [part(0, "x", id="c1")]})) == b""
    shown = sent(made, chunk({"tool_calls": [part(0, arguments="{")]}))
    assert len(deltas(shown)[0]["tool_calls"]) == 2
    assert len(deltas(sent(made, chunk({"tool_calls": [part(0, arguments="}")]})))) == 1


def test_calls_that_all_count_as_the_first_are_told_apart_by_their_ids() -> None:
    made = offered(tools=[CLIENT_TOOL])
    sent(
        made,
        chunk({"tool_calls": [part(0, "x_find", "{}", id="o1")]}),
        chunk({"tool_calls": [part(0, "weather", "{}", id="c1")]}),
        chunk({"tool_calls": [{"id": "o2", "function": {"name": "x_save", "arguments": "{}"}}]}, "tool_calls"),
    )
    assert [one.id for one in made.calls] == ["o1", "o2"]
    assert made.client_calls == ["c1"]


def test_a_call_and_the_end_may_come_in_one_chunk() -> None:
    made = offered()
    shown = sent(made, chunk({"role": "assistant", "content": "So:", "tool_calls": [part(0, "x_find")]}, "stop"), DONE)
    assert deltas(shown) == [{"role": "assistant", "content": "So:"}]
    assert chunks(shown)[0]["choices"][0]["finish_reason"] is None
    assert len(made.calls) == 1


def test_what_a_model_thought_goes_back_with_its_calls() -> None:
    made = offered()
    sent(
        made,
        chunk({"reasoning_content": "hm"}),
        chunk({"reasoning_content": "m"}),
        chunk({"tool_calls": [{**part(0, "x_find"), "extra_content": {"signature": "s"}}]}, "tool_calls"),
    )
    made.go_on(ran(made), last=False)
    message = body_of(made)["messages"][1]
    assert message["reasoning_content"] == "hmm"
    assert message["tool_calls"][0]["extra_content"] == {"signature": "s"}


def test_a_stream_tells_of_memory_first_and_of_what_was_saved_last() -> None:
    made = offered()
    made.note.injected = [{"id": "mem_a"}]
    first = sent(made, ROLE, chunk({"tool_calls": [part(0, "x_save")]}, "tool_calls"), DONE)
    made.note.saved.append("mem_b")
    made.go_on(ran(made), last=False)
    second = sent(made, ROLE, chunk({"content": "ok"}), chunk({}, "stop"), DONE)
    notes = [one.get("x_memory") for one in chunks(first + second)]
    assert notes == [
        {"injected": [{"id": "mem_a"}], "saved": []}, None, {"injected": [{"id": "mem_a"}], "saved": ["mem_b"]},
    ]  # fmt: skip


def test_only_the_first_chunk_changes_for_a_note() -> None:
    made = chat()
    made.note.injected = [{"id": "mem_a"}]
    rest = [chunk({"content": "a"}), chunk({}, "stop"), DONE]
    shown = sent(made, ROLE, *rest)
    assert chunks(shown)[0]["x_memory"]["injected"] == [{"id": "mem_a"}]
    assert (shown + b"".join(made.tail())).endswith(b"".join(rest))


def test_the_last_rounds_stream_shows_no_call_of_ours() -> None:
    made = offered()
    sent(made, chunk({"tool_calls": [part(0, "x_find")]}, "tool_calls"), DONE)
    made.go_on(ran(made), last=True)
    shown = sent(made, chunk({"content": "a", "tool_calls": [part(0, "x_find")]}), chunk({}, "tool_calls"), DONE)
    assert made.calls == []
    assert [one["choices"][0]["finish_reason"] for one in chunks(shown)] == [None, "stop"]
    assert "x_find" not in shown.decode()


def test_the_role_is_told_once_and_not_never() -> None:
    made = offered()
    first = sent(made, chunk({"tool_calls": [part(0, "x_find")]}, "tool_calls"), DONE)
    assert first == b""
    made.go_on(ran(made), last=False)
    second = sent(made, ROLE, ROLE, chunk({"content": "a"}), chunk({}, "stop"))
    assert [delta.get("role") for delta in deltas(second)] == ["assistant", None, None]


def test_an_upstreams_error_ends_the_stream() -> None:
    made = offered()
    raw = b'data: {"error": {"message": "overloaded", "code": "busy"}}\n\n'
    assert sent(made, ROLE, raw) == ROLE + raw
    assert made.failed
    assert not made.complete
    assert made.error["code"] == "busy"
    assert made.tail() == []


def test_a_stream_without_an_end_is_not_complete() -> None:
    made = offered()
    sent(made, ROLE, chunk({"content": "a"}))
    assert not made.complete
    assert not made.over


def test_a_stream_may_end_with_its_finish_alone() -> None:
    made = offered()
    sent(made, chunk({"content": "a"}), chunk({}, "stop"))
    assert made.complete
    assert made.tail() == []


def test_numbers_in_usage_are_added_at_any_depth() -> None:
    one = {"a": 1, "d": {"x": 1, "y": None}, "cost": 0.5, "own_key": True}
    other = {"a": 2, "d": {"x": 2, "y": 3}, "cost": 0.25, "own_key": True, "new": 7}
    assert sum_of(one, other) == {"a": 3, "d": {"x": 3, "y": 3}, "cost": 0.75, "own_key": True, "new": 7}
    assert sum_of(None, one) == sum_of(one, None) == one
    assert sum_of(None, None) is None


@pytest.mark.parametrize("odd", [[], [[]], [None], "x", {"choices": 3}, {"choices": [3]}, {"choices": [{"delta": 3}]}])
def test_any_shape_may_come_from_an_upstream(odd: Any) -> None:
    made = offered()
    raw = json.dumps(odd).encode()
    assert sent(made, b"data: " + raw + b"\n\n") == b"data: " + raw + b"\n\n"
    whole = offered()
    whole.read(raw)
    assert whole.whole() == raw


@pytest.mark.parametrize("messages", [[[]], [{"role": {}}], [{"role": "assistant", "tool_calls": [{"id": []}, 3]}], {}])
def test_any_shape_may_come_from_a_client(messages: Sequence[Any]) -> None:
    made = chat(messages=messages, tools=[3, {"function": 3}], tool_choice="auto")
    made.inject("c")
    made.splice({name: [] for name in made.ids()})
    made.offer(OURS)
    assert made.said == ""
    assert made.payload
