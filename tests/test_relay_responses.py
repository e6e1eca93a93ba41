"""Responses without a network: requests and how they are changed, answers and what the client sees of them."""

import json
from typing import Any

import pytest

from keepstone.relay.calls import AnsweredCall, CallsToKeep
from keepstone.relay.dialects.exchange import Exchange
from keepstone.relay.dialects.responses import ResponsesExchange
from keepstone.relay.dialects.values import read_object
from keepstone.relay.sse import Events
from test_relay_chat import OURS, body_of, ran, sent

CLIENT_TOOL = {"type": "function", "name": "weather", "parameters": {"type": "object"}}
OWN = AnsweredCall(id="o1", name="x_find", arguments='{"q":1}', result="found")


def responses(**body: Any) -> ResponsesExchange:
    raw = json.dumps({"model": "m", "input": "hi", **body}).encode()
    return ResponsesExchange(raw, read_object(raw))


def offered(**body: Any) -> ResponsesExchange:
    made = responses(**body)
    made.offer(OURS)
    assert made.names
    return made


def call(name: str, call_id: str, arguments: str = "{}") -> dict[str, Any]:
    return {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name, "arguments": arguments}


def message(text: str, id: str = "msg_1") -> dict[str, Any]:
    return {"type": "message", "id": id, "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def answer(*items: dict[str, Any], id: str = "resp_1", status: str = "completed", **more: Any) -> dict[str, Any]:
    return {"id": id, "created_at": 1, "model": "m-1", "status": status, "output": list(items), **more}


def whole(*items: dict[str, Any], **more: Any) -> bytes:
    return json.dumps(answer(*items, **more)).encode()


def stream(*items: dict[str, Any], id: str = "resp_1", end: str = "completed", **more: Any) -> list[bytes]:
    """As OpenAI sends it: each item with its parts."""
    told: list[dict[str, Any]] = [
        {"type": "response.created", "response": answer(id=id, status="in_progress")},
        {"type": "response.in_progress", "response": answer(id=id, status="in_progress")},
    ]
    for index, item in enumerate(items):
        place = {"output_index": index, "item_id": item["id"]}
        told.append({"type": "response.output_item.added", "output_index": index, "item": item})
        if item["type"] == "message":
            text = item["content"][0]["text"]
            told.append({"type": "response.output_text.delta", **place, "content_index": 0, "delta": text})
        if item["type"] == "function_call":
            told.append({"type": "response.function_call_arguments.delta", **place, "delta": item["arguments"]})
        told.append({"type": "response.output_item.done", "output_index": index, "item": item})
    told.append({"type": f"response.{end}", "response": answer(*items, id=id, status=end, **more)})
    return [
        f"event: {one['type']}\ndata: {json.dumps({**one, 'sequence_number': number})}\n\n".encode()
        for number, one in enumerate(told)
    ]


def events(raw: bytes) -> list[Any]:
    return [json.loads(event.data) for event in Events().feed(raw) if event.data]


def kept_of(kept: list[CallsToKeep]) -> dict[str, list[str]]:
    return {name: [own.id for own in one.calls] for one in kept for name in one.ids}


# ------------------------------------------------------------------------------------------------- requests


def test_what_was_said_is_the_input_or_the_last_user_message_in_it() -> None:
    assert responses(input="hello").said == "hello"
    parts = [{"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": "data:"}]
    items = [{"role": "user", "content": "a"}, {"type": "message", "role": "user", "content": parts}, message("b")]
    assert responses(input=items).said == "look"
    assert responses(input=items).results_of is None
    result = {"type": "function_call_output", "call_id": "c", "output": "4"}
    assert responses(input=[*items, result]).results_of == responses(input=[result]).results_of == ["c"]


def test_context_goes_to_the_instructions() -> None:
    made = responses(instructions="Be brief.")
    assert made.inject("CONTEXT")
    assert body_of(made)["instructions"] == "Be brief.\n\nCONTEXT"
    made = responses()
    made.inject("CONTEXT")
    assert body_of(made)["instructions"] == "CONTEXT"
    assert not responses(instructions=["?"]).inject("CONTEXT")


def test_our_tools_stand_beside_the_clients() -> None:
    made = offered(tools=[CLIENT_TOOL, {"type": "web_search"}])
    assert [tool.get("name") for tool in body_of(made)["tools"]] == ["weather", None, "x_save", "x_find"]
    assert body_of(made)["tools"][2]["strict"] is False


@pytest.mark.parametrize(
    "body",
    [{"tool_choice": "none"}, {"tool_choice": {"type": "function", "name": "weather"}}, {"background": True}],
)
def test_where_the_model_has_no_choice_ours_are_not_offered(body: dict[str, Any]) -> None:
    made = responses(**body)
    made.offer(OURS)
    assert not made.names


def test_kept_calls_take_their_place_before_the_clients() -> None:
    made = responses(
        input=[
            {"role": "user", "content": "hi"},
            call("weather", "c1"),
            {"type": "function_call_output", "call_id": "c1", "output": "rain"},
        ]
    )
    earlier = AnsweredCall(id="o0", name="x_save", arguments="{}", result="saved")
    assert made.ids() == ["c1", "c1:before"]
    made.splice({"c1": [OWN], "c1:before": [earlier]})
    items = body_of(made)["input"]
    assert [(item.get("type"), item.get("call_id")) for item in items[1:]] == [
        ("function_call", "o0"), ("function_call_output", "o0"), ("function_call", "o1"),
        ("function_call_output", "o1"), ("function_call", "c1"), ("function_call_output", "c1"),
    ]  # fmt: skip
    assert items[4] == {"type": "function_call_output", "call_id": "o1", "output": "found"}


def test_an_upstream_that_keeps_the_conversation_only_lacks_what_came_of_our_calls() -> None:
    made = responses(
        previous_response_id="resp_9", input=[{"type": "function_call_output", "call_id": "c1", "output": "rain"}]
    )
    earlier = AnsweredCall(id="o0", name="x_save", arguments="{}", result="saved")
    assert made.ids() == ["resp_9", "c1", "c1:before"]
    made.splice({"c1": [OWN], "c1:before": [earlier]})
    assert [(item["type"], item["call_id"]) for item in body_of(made)["input"]] == [
        ("function_call_output", "o1"), ("function_call_output", "c1"),
    ]  # fmt: skip


def test_a_response_that_the_client_knows_by_its_first_id_is_continued_from_its_last() -> None:
    made = responses(previous_response_id="resp_1", input="and then?")
    made.splice({"resp_1": [AnsweredCall(id="resp_3", name="previous_response_id", arguments="resp_3", result="")]})
    assert body_of(made)["previous_response_id"] == "resp_3"


def test_a_thought_gets_back_what_it_led_to() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    made = responses(input=[{"role": "user", "content": "a"}, thought, message("b")])
    assert made.ids() == ["rs_1"]
    made.splice({"rs_1": [OWN]})
    kinds = [item.get("type") for item in body_of(made)["input"]]
    assert kinds == [None, "reasoning", "function_call", "function_call_output", "message"]


# -------------------------------------------------------------------------------------------- whole answers


def test_an_answer_without_our_calls_is_given_as_it_came() -> None:
    made = offered()
    raw = whole(message("hello"), call("weather", "c1"), usage={"total_tokens": 3})
    made.read(raw)
    assert made.whole() is raw
    assert made.complete
    assert (made.text, made.model, made.client_calls, made.usage) == ("hello", "m-1", ["c1"], {"total_tokens": 3})


def test_our_calls_are_answered_and_the_client_sees_the_rest_of_all_rounds() -> None:
    made = offered()
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    made.read(whole(thought, message("Let me look."), call("x_find", "o1"), usage={"total_tokens": 2}))
    made.go_on(ran(made), last=False)
    sent_again = body_of(made)["input"]
    assert sent_again[0] == {"role": "user", "content": "hi"}
    assert [item["type"] for item in sent_again[1:]] == [
        "reasoning", "message", "function_call", "function_call_output",
    ]  # fmt: skip
    made.read(whole(message("It is 4.", "msg_2"), id="resp_2", usage={"total_tokens": 3}))
    assert kept_of(made.settle([])) == {"rs_1": ["o1"]}
    shown = json.loads(made.whole())
    assert shown["id"] == "resp_2"
    assert [item["id"] for item in shown["output"]] == ["rs_1", "msg_1", "msg_2"]
    assert shown["usage"] == {"total_tokens": 5}
    assert made.text == "Let me look.\n\nIt is 4."


def test_where_nothing_is_stored_items_go_back_without_their_ids() -> None:
    made = offered(store=False)
    lost = {"type": "reasoning", "id": "rs_1", "summary": []}
    whole_thought = {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "x"}
    made.read(whole(lost, whole_thought, call("x_find", "o1")))
    made.go_on(ran(made), last=False)
    items = body_of(made)["input"][1:]
    assert [item["type"] for item in items] == ["reasoning", "function_call", "function_call_output"]
    assert not any("id" in item for item in items)


def test_a_conversation_that_the_upstream_keeps_gets_only_what_came_of_the_calls() -> None:
    made = offered(conversation="conv_1")
    made.read(whole(call("x_find", "o1")))
    made.go_on(ran(made), last=False)
    assert [item["type"] for item in body_of(made)["input"]] == ["function_call_output"]


def test_of_a_mixed_turn_the_client_gets_only_its_own_calls() -> None:
    made = offered(tools=[CLIENT_TOOL])
    made.read(whole(call("x_save", "o0")))
    made.go_on(ran(made), last=False)
    made.read(whole(call("x_find", "o1"), call("weather", "c1")))
    assert made.client_calls == ["c1"]
    assert kept_of(made.settle(ran(made))) == {"c1": ["o1"], "c1:before": ["o0"]}
    assert [item["call_id"] for item in json.loads(made.whole())["output"]] == ["c1"]


def test_a_call_that_the_client_has_to_make_itself_ends_the_exchange() -> None:
    made = offered()
    shell = {"type": "local_shell_call", "id": "ls_1", "call_id": "c1", "action": {}}
    made.read(whole(call("x_find", "o1"), shell))
    assert made.client_calls == ["c1"]
    hosted = offered()
    searched = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    hosted.read(whole(searched, call("x_find", "o1")))
    assert hosted.client_calls == []


def test_the_last_round_runs_no_tools_of_ours() -> None:
    made = offered()
    made.read(whole(call("x_find", "o1")))
    made.go_on(ran(made), last=True)
    assert body_of(made)["tool_choice"] == "none"
    made.read(whole(message("enough"), call("x_find", "o2")))
    assert made.calls == []
    assert [item["type"] for item in json.loads(made.whole())["output"]] == ["message"]


def test_a_call_of_an_incomplete_answer_is_not_run() -> None:
    made = offered()
    made.read(whole(message("so"), call("x_find", "o1"), status="incomplete"))
    assert made.calls == []
    assert made.complete
    assert "x_find" not in made.whole().decode()


def test_an_answer_that_failed_or_is_yet_to_come_is_not_complete() -> None:
    for status in ("failed", "queued", "in_progress"):
        made = responses()
        made.read(whole(status=status))
        assert not made.complete


# -------------------------------------------------------------------------------------------------- streams


def test_a_stream_without_our_calls_is_given_byte_for_byte() -> None:
    made = offered(tools=[CLIENT_TOOL])
    told = [b": ping\r\n\r\n", *stream(message("hé😀"), call("weather", "c1"))]
    assert sent(made, *told) + b"".join(made.tail()) == b"".join(told)
    assert made.over
    assert made.complete
    assert made.text == "hé😀"


def test_the_rounds_are_one_stream_with_one_id_and_numbers_without_gaps() -> None:
    made = offered()
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    first = sent(made, *stream(thought, call("x_find", "o1"), message("Let me look."), usage={"total_tokens": 2}))
    made.note.saved.append("mem_a")
    made.go_on(ran(made), last=False)
    second = sent(made, *stream(message("It is 4."), id="resp_2", usage={"total_tokens": 3}))
    kept = made.settle([])
    assert kept_of(kept) == {"rs_1": ["o1"], "resp_1": ["resp_2"]}
    told = events(first + second + b"".join(made.tail()))
    assert [one["sequence_number"] for one in told] == list(range(len(told)))
    assert [one["type"] for one in told].count("response.created") == 1
    assert {one["response"]["id"] for one in told if "response" in one} == {"resp_1"}
    added = [one for one in told if one["type"] == "response.output_item.added"]
    assert [one["output_index"] for one in added] == [0, 1, 2]
    assert len({one["item"]["id"] for one in added}) == 3
    final = told[-1]["response"]
    assert [item["id"] for item in final["output"]] == [one["item"]["id"] for one in added]
    assert final["usage"] == {"total_tokens": 5}
    assert final["x_memory"] == {"injected": [], "saved": ["mem_a"]}
    assert "x_find" not in json.dumps(told)
    assert made.text == "Let me look.\n\nIt is 4."
    deltas = [one for one in told if one["type"] == "response.output_text.delta"]
    assert [one["item_id"] for one in deltas] == [one["item"]["id"] for one in added[1:]]


def test_of_a_mixed_stream_the_client_gets_only_its_own_calls() -> None:
    made = offered(tools=[CLIENT_TOOL])
    shown = sent(made, *stream(call("x_find", "o1"), call("weather", "c1")))
    assert [one.id for one in made.calls] == ["o1"]
    assert kept_of(made.settle(ran(made))) == {"c1": ["o1"]}
    told = events(shown + b"".join(made.tail()))
    assert [one["sequence_number"] for one in told] == list(range(len(told)))
    assert {one["output_index"] for one in told if "output_index" in one} == {0}
    assert [item["call_id"] for item in told[-1]["response"]["output"]] == ["c1"]
    assert "x_find" not in json.dumps(told)


def test_a_stream_tells_of_memory_at_its_beginning_and_its_end() -> None:
    made = responses()
    made.note.injected = [{"id": "mem_a"}]
    told = stream(message("hello"))
    shown = sent(made, *told)
    assert events(shown)[0]["response"]["x_memory"] == {"injected": [{"id": "mem_a"}], "saved": []}
    assert shown.endswith(b"".join(told[1:-1]))
    assert events(b"".join(made.tail()))[0]["response"]["x_memory"]["injected"] == [{"id": "mem_a"}]


@pytest.mark.parametrize(("end", "complete"), [("failed", False), ("incomplete", True)])
def test_an_end_that_is_none_is_told_as_it_came(end: str, complete: bool) -> None:
    made = offered()
    told = stream(message("hel"), end=end)
    assert sent(made, *told) + b"".join(made.tail()) == b"".join(told)
    assert made.complete is complete
    assert made.failed is not complete


def test_an_upstreams_error_ends_the_stream() -> None:
    made = offered()
    error = b'event: error\ndata: {"type":"error","code":"busy","message":"no","param":null,"sequence_number":2}\n\n'
    told = [*stream()[:2], error]
    assert sent(made, *told) == b"".join(told)
    assert made.failed
    assert made.error["code"] == "busy"
    assert made.tail() == []


def test_a_fault_of_ours_has_the_next_number() -> None:
    made: Exchange = offered()
    sent(made, *stream(message("a"))[:4])
    told = events(made.fault({"message": "cut", "type": "server_error", "param": None, "code": "c"}))[0]
    assert told["type"] == "error"
    assert told["sequence_number"] == 4
    assert (told["message"], told["code"], told["error"]["type"]) == ("cut", "c", "server_error")


def test_events_without_numbers_stay_without() -> None:
    made = offered()
    told = [json.dumps({k: v for k, v in one.items() if k != "sequence_number"}) for one in
            (json.loads(event.data) for part in stream(call("x_find", "o1"), message("b")) for event in
             Events().feed(part) if event.data)]  # fmt: skip
    shown = sent(made, *(f"data: {one}\n\n".encode() for one in told))
    assert all("sequence_number" not in one for one in events(shown))
    assert [one.id for one in made.calls] == ["o1"]


@pytest.mark.parametrize("odd", [[], "x", {"type": 3}, {"type": "response.output_item.added", "item": 3}, {"item": {}}])
def test_any_shape_may_come_from_an_upstream(odd: Any) -> None:
    raw = b"data: " + json.dumps(odd).encode() + b"\n\n"
    assert sent(offered(), raw) == raw


@pytest.mark.parametrize("given", [3, [3], [{"type": {}}], [{"type": "function_call", "call_id": []}], None])
def test_any_shape_may_come_from_a_client(given: Any) -> None:
    made = responses(input=given, tools=[3])
    made.inject("c")
    made.splice({name: [] for name in made.ids()})
    made.offer(OURS)
    assert made.said == ""
    assert made.payload


def test_a_call_of_ours_is_held_back_also_where_the_server_tells_no_places() -> None:
    exchange = offered()
    seen = b""
    for raw in stream(call("x_find", "o1", '{"q":1}'), message("hello")):
        told = json.loads(raw.split(b"data: ", 1)[1])
        for name in ("output_index", "content_index", "sequence_number"):
            told.pop(name, None)
        event = f"event: {told['type']}\ndata: {json.dumps(told)}\n\n".encode()
        for each in Events().feed(event):
            seen += b"".join(piece.raw for piece in exchange.feed(each))
    assert b"arguments.delta" not in seen
    assert b"hello" in seen
