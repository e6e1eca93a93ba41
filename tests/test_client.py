"""The Python client without a server: what it would send, what it makes of answers, and when it tries again."""

import asyncio
import inspect
import json
import pickle
import re
import threading
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keepstone_client
from keepstone_client import AsyncKeepstone, Keepstone, Retries, errors, turns
from keepstone_client.binding import downloaded, operation, paged, streamed
from keepstone_client.capsules import Capsule, Source
from keepstone_client.chats import MemoriesInjected, MemorySaved, MessageCreated, MessageDelta, MessageDone
from keepstone_client.core import (
    Answer,
    Attempts,
    Request,
    as_is,
    at,
    into,
    items_of,
    nothing,
    page_of,
    raw,
    retry_after,
)
from keepstone_client.core import text as as_text
from keepstone_client.decode import decode
from keepstone_client.scopes import Turn
from keepstone_client.streams import EventParser, Streamed

ROOT = Path(__file__).parent.parent
API = json.loads((ROOT / "openapi.json").read_text())
NOW = datetime(2026, 7, 1, 9, 30, tzinfo=UTC)

# What belongs to a browser, to OpenAI's clients, to an operator or to a payment service.
NOT_OURS = re.compile(
    r"/chat/api|/x_console|/auth/(login|logout|once|accept|totp)|/v1/(chat/completions|responses|models|embeddings|billing)"
    r"|/v1/(completions|moderations|images|audio|rerank|\{family\})"
)


def operations() -> Iterator[tuple[str, Any]]:
    """Every operation by name, such as `capsules.get`."""
    for name, resource in sorted(vars(Keepstone(base_url="http://keepstone.test")).items()):
        if not name.startswith("_"):
            for method, held in vars(type(resource)).items():
                if isinstance(held, operation | paged | streamed | downloaded):
                    yield f"{name}.{method}", held


OPERATIONS = dict(operations())


def example(kind: Any) -> Any:
    """A value for a parameter, whatever it may be."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in {Union, types.UnionType}:
        return example(inner[0])
    if origin is Literal:
        return inner[0]
    if origin is Sequence:
        return [example(inner[0])]
    if origin is Mapping:
        return {"format": "keepstone-archive"}
    known = {
        str: "x", int: 1, float: 0.5, bool: True, bytes: b"x", date: date(2026, 7, 1), datetime: NOW, Any: "x",
        Source: Source(chat_id="x", message_id="x"), Turn: Turn(speaker="x", text="x", id="x", ts=NOW),
    }  # fmt: skip
    return known[kind]


def built(held: Any) -> Request[Any]:
    """The request of an operation when every parameter is given."""
    wanted = list(inspect.signature(held.build).parameters.values())[1:]
    hints = get_type_hints(held.build)
    given_values = {one.name: example(hints[one.name]) for one in wanted}
    made = held.build(None, **given_values)
    return made.request if isinstance(made, Streamed) else made


def route(request: Request[Any]) -> tuple[str, Any]:
    """The description of what this request calls, the most literal path first."""
    for template in sorted(API["paths"], key=lambda path: path.count("{")):
        pattern = re.sub(r"\{[^/]+\}", "[^/]+", template)
        if re.fullmatch(pattern, request.path) and request.method.lower() in API["paths"][template]:
            return f"{request.method} {template}", API["paths"][template][request.method.lower()]
    raise AssertionError(f"the server has no {request.method} {request.path}")


def resolved(schema: Any) -> Any:
    return API["components"]["schemas"][schema["$ref"].split("/")[-1]] if "$ref" in schema else schema


def test_every_route_is_an_operation() -> None:
    ours = {
        f"{method.upper()} {path}"
        for path, held in API["paths"].items()
        for method, described in held.items()
        if not NOT_OURS.match(path) and described["tags"] != ["mem0"]  # those are for its own client
    }
    assert {route(built(held))[0] for held in OPERATIONS.values()} == ours


@pytest.mark.parametrize("name", OPERATIONS)
def test_what_an_operation_sends_is_what_its_route_takes(name: str) -> None:
    request = built(OPERATIONS[name])
    _, described = route(request)
    taken = {one["name"] for one in described.get("parameters", []) if one["in"] == "query"}
    assert set(request.params) <= taken
    # And the other way round: there is nothing that the route takes and the client can't say. Lists page by themselves.
    assert taken - set(request.params) <= {"cursor", "limit", "skip", "q", "mode", "min_relevance"}
    content = described.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        schema = resolved(content["application/json"]["schema"])
        sent = json.loads(request.body or b"null")
        assert set(sent) <= set(schema["properties"])
        # Of a room's name and its project each has an operation of its own.
        if name not in {"capsules.import_archive", "rooms.rename", "rooms.move"}:
            assert set(schema["properties"]) - set(sent) <= {"user", "agent", "thread_id"}
            assert set(schema.get("required", [])) <= set(sent)
    else:
        assert request.json is None
        assert bool(request.files) == bool(content)


@pytest.mark.parametrize("name", OPERATIONS)
def test_what_an_operation_returns_is_what_its_route_answers(name: str) -> None:
    request = built(OPERATIONS[name])
    _, described = route(request)
    good = next(held for status, held in described["responses"].items() if status.startswith("2"))
    content = good.get("content", {}).get("application/json", {}).get("schema")
    parse = request.parse
    if parse in {nothing, raw, as_text, as_is}:
        assert content is None
        return
    assert isinstance(parse, into | page_of | items_of)
    schema = resolved(content)
    if isinstance(parse, page_of):
        schema = resolved(schema["properties"]["items"]["items"])
    elif isinstance(parse, items_of):
        schema = resolved(schema["properties"][parse.name]["items"])
    compare(parse.kind, schema, name)


def compare(kind: type[Any], schema: Any, where: str) -> None:
    if not is_dataclass(kind):
        assert (get_origin(kind), schema["type"]) == (tuple, "array"), where
        return
    hints = get_type_hints(kind)
    own = {str(one.metadata.get("wire", one.name)): one for one in fields(kind)}
    assert set(own) == set(schema["properties"]), where
    for wire, described in schema["properties"].items():
        one, hint = own[wire], hints[own[wire].name]
        has_default = one.default is not MISSING or one.default_factory is not MISSING
        assert wire in schema.get("required", []) or has_default or "default" in described, f"{where}.{wire}"
        some = [option for option in described.get("anyOf", [described]) if option.get("type") != "null"]
        may_be_none = types.NoneType in get_args(hint) or hint is Any
        assert may_be_none == (len(some) < len(described.get("anyOf", [described])) or not some[0]) or hint is Any
        inner = next(part for part in (*get_args(hint), hint) if part is not types.NoneType)
        target = resolved(some[0].get("items", some[0]))
        if is_dataclass(inner) and isinstance(inner, type):
            compare(inner, target, f"{where}.{wire}")


def client(handler: Callable[[httpx.Request], httpx.Response], **options: Any) -> Keepstone:
    options = {"api_key": "ck_x", "retries": Retries(base=0), **options}
    return Keepstone(base_url="http://keepstone.test", transport=httpx.MockTransport(handler), **options)


@dataclass
class Script:
    """Answers one request after the other; an exception is a fault of the connection."""

    answers: list[httpx.Response | Exception]

    def __post_init__(self) -> None:
        self.seen: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def refusal(status: int, code: str = "x", **headers: str) -> httpx.Response:
    return httpx.Response(
        status, json={"error": {"code": code, "message": "Do this.", "details": [1]}, "request_id": "req"},
        headers=headers,
    )  # fmt: skip


CAPSULE = {
    "id": "cap_1", "title": "t", "content_md": "c", "kind": "note", "tags": ["a"], "project_id": None,
    "source": {"chat_id": "chat_1", "message_id": None}, "metadata": {"n": [1]}, "size_bytes": 3, "version": 1,
    "created_at": "2026-07-01T09:30:00Z", "updated_at": "2026-07-01T09:30:00.5Z",
    "accessed_at": "2026-07-01T09:30:00Z", "deleted_at": None,
}  # fmt: skip


def test_an_answer_becomes_a_frozen_dataclass_and_what_is_not_known_is_left_alone() -> None:
    found = decode(
        Capsule, {**CAPSULE, "of_a_newer_server": 1, "source": {"chat_id": "chat_1", "message_id": None, "more": 2}}
    )
    assert found.created_at == NOW
    assert found.updated_at == NOW + timedelta(milliseconds=500)
    assert found.source == Source(chat_id="chat_1")
    assert found.tags == ("a",)
    with pytest.raises(AttributeError):
        found.title = "another"  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"tags": "a"}, "answer.tags is not list"),
        ({"tags": [1]}, r"answer.tags\[\] is not str"),
        ({"version": "1"}, "answer.version is not int"),
        ({"version": True}, "answer.version is not int"),
        ({"created_at": "soon"}, "answer.created_at is not datetime"),
        ({"metadata": []}, "answer.metadata is not object"),
        ({"source": 3}, "answer.source is not object"),
        ({"title": None}, "answer.title is not str"),
    ],
)
def test_an_answer_of_another_shape_says_where(change: dict[str, Any], told: str) -> None:
    with pytest.raises(errors.UnexpectedAnswer, match=told):
        decode(Capsule, {**CAPSULE, **change})


def test_an_answer_without_a_field_says_which() -> None:
    with pytest.raises(errors.UnexpectedAnswer, match=r"answer\.title"):
        decode(Capsule, {name: value for name, value in CAPSULE.items() if name != "title"})


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "VALIDATION_ERROR", errors.Invalid),
        (401, "UNAUTHORIZED", errors.Unauthorized),
        (402, "PAYMENT_REQUIRED", errors.PaymentRequired),
        (403, "forbidden", errors.Forbidden),
        (404, "not_found", errors.NotFound),
        (405, "method_not_allowed", errors.KeepstoneError),
        (409, "conflict", errors.Conflict),
        (413, "too_large", errors.TooLarge),
        (422, "VALIDATION_ERROR", errors.Invalid),
        (429, "rate_limited", errors.RateLimited),
        (429, "quota_exceeded", errors.QuotaExceeded),
        (429, "QUOTA_EXCEEDED", errors.QuotaExceeded),
        (500, "internal_error", errors.ServerFault),
        (502, "UPSTREAM_ERROR", errors.UpstreamError),
        (503, "unavailable", errors.Unavailable),
    ],
)
def test_an_error_has_its_class_and_all_that_was_told(
    status: int, code: str, kind: type[errors.KeepstoneError]
) -> None:
    script = Script([refusal(status, code, **{"Retry-After": "7"})])
    with client(script, retries=0) as keepstone, pytest.raises(errors.KeepstoneError) as caught:
        keepstone.me.get()
    fault = caught.value
    assert type(fault) is kind
    assert (fault.code, fault.message, fault.status) == (code, "Do this.", status)
    assert (fault.request_id, fault.details, fault.retry_after) == ("req", [1], 7)
    again = pickle.loads(pickle.dumps(fault))
    assert (type(again), again.request_id, str(again)) == (kind, "req", str(fault))


def test_the_error_tree_is_drawn_in_full() -> None:
    drawn = re.findall(r"[├└]── (\w+)", errors.__doc__ or "")
    made = [name for name, held in vars(errors).items() if isinstance(held, type) and held is not errors.KeepstoneError]
    assert drawn == [name for name in made if name != "Any" and issubclass(vars(errors)[name], errors.KeepstoneError)]
    assert set(drawn) <= set(keepstone_client.__all__)


def test_what_is_not_keepstone_is_told_apart() -> None:
    with client(Script([httpx.Response(200, text="<html>")])) as keepstone, pytest.raises(errors.UnexpectedAnswer):
        keepstone.me.get()
    script = Script([httpx.Response(502, text="<html>")])
    with client(script, retries=0) as keepstone, pytest.raises(errors.UpstreamError, match="http_502"):
        keepstone.me.get()
    moved = httpx.Response(307, headers={"Location": "https://elsewhere.example/"})
    script = Script([moved])
    with client(script) as keepstone, pytest.raises(errors.UnexpectedAnswer, match="base_url"):
        keepstone.me.get()
    assert len(script.seen) == 1  # the key goes nowhere else


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_passes_is_tried_again(status: int) -> None:
    script = Script([refusal(status), refusal(status), httpx.Response(200, json=CAPSULE)])
    with client(script) as keepstone:
        assert keepstone.capsules.get("cap_1").title == "t"
    assert len(script.seen) == 3


def test_after_so_many_attempts_the_error_is_raised() -> None:
    script = Script([refusal(503)] * 3)
    with client(script) as keepstone, pytest.raises(errors.Unavailable):
        keepstone.capsules.get("cap_1")
    assert len(script.seen) == 3


@pytest.mark.parametrize(
    "answer", [refusal(400), refusal(404), refusal(409), refusal(500), refusal(429, "quota_exceeded")]
)
def test_what_stays_so_is_not_tried_again(answer: httpx.Response) -> None:
    script = Script([answer])
    with client(script) as keepstone, pytest.raises(errors.KeepstoneError):
        keepstone.capsules.get("cap_1")
    assert len(script.seen) == 1


def lost() -> Exception:
    return httpx.ReadTimeout("no answer")


def unreachable() -> Exception:
    return httpx.ConnectError("refused")


def test_a_write_is_sent_again_only_if_it_never_arrived_or_was_refused_unread() -> None:
    made = httpx.Response(201, json={**CAPSULE, "similar": []})
    for before in (unreachable(), refusal(429)):
        script = Script([before, made])
        with client(script) as keepstone:
            assert keepstone.capsules.create("c").similar == ()
        assert script.seen[0].content == script.seen[1].content
    for before in (lost(), refusal(502), refusal(503), refusal(504)):
        script = Script([before])
        with client(script) as keepstone, pytest.raises(errors.KeepstoneError):
            keepstone.capsules.create("c")
        assert len(script.seen) == 1


def test_a_transcript_whose_rows_have_ids_can_be_sent_again() -> None:
    stored = httpx.Response(202, json={"scope_id": "s", "ingested": 1, "message_ids": ["m"]})
    with client(Script([lost(), stored])) as keepstone:
        assert keepstone.scopes.ingest("s", [{"speaker": "a", "text": "b", "id": "1"}]).ingested == 1
    with client(Script([lost()])) as keepstone, pytest.raises(errors.ConnectionFailed):
        keepstone.scopes.ingest("s", [Turn(speaker="a", text="b", id="1"), Turn(speaker="a", text="b")])


def test_a_delete_whose_answer_was_lost_has_been_done() -> None:
    with client(Script([lost(), refusal(404)])) as keepstone:
        keepstone.capsules.delete("cap_1")
    with client(Script([unreachable(), refusal(404)])) as keepstone, pytest.raises(errors.NotFound):
        keepstone.capsules.delete("cap_1")


def test_nobody_there_says_where_it_looked() -> None:
    told = r"http://keepstone\.test \(ConnectError\)"
    with client(Script([unreachable()] * 3)) as keepstone, pytest.raises(errors.ConnectionFailed, match=told):
        keepstone.me.get()


GET = Request(method="GET", path="/", parse=nothing)


def waits(retries: Retries, answers: Sequence[Answer | None], chance: float = 1.0) -> list[float | None]:
    """What is waited after each answer; None is a fault of the connection."""
    attempts = Attempts(GET, retries, lambda: chance)
    return [attempts.after_fault(sent=True) if one is None else attempts.after_answer(one) for one in answers]


def test_waits_grow_up_to_a_cap_and_a_random_half_is_left_out() -> None:
    retries = Retries(most=5, base=1, cap=5)
    assert waits(retries, [None] * 6) == [1, 2, 4, 5, 5, None]
    assert waits(retries, [None] * 6, chance=0.0) == [0.5, 1, 2, 2.5, 2.5, None]


def test_what_the_server_asks_for_comes_on_top_and_has_a_limit() -> None:
    def busy(told: str) -> Answer:
        return Answer(503, {"retry-after": told}, b"")

    assert waits(Retries(base=1, patience=30), [busy("30"), busy("3")]) == [31, 5]
    assert waits(Retries(base=1, patience=30), [busy("31")]) == [None]


def test_retry_after_is_a_number_or_a_date() -> None:
    assert retry_after({"retry-after": "12"}) == 12
    assert retry_after({"retry-after": "Wed, 01 Jul 2026 09:31:00 GMT"}, NOW) == 60
    assert retry_after({"retry-after": "Wed, 01 Jul 2026 09:29:00 GMT"}, NOW) == 0
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({}) is None


async def test_the_async_client_tries_again_too() -> None:
    script = Script([refusal(503), unreachable(), httpx.Response(200, json=CAPSULE)])
    keepstone = AsyncKeepstone(
        base_url="http://keepstone.test", transport=httpx.MockTransport(script), retries=Retries(base=0), api_key="ck_x"
    )
    async with keepstone:
        found, *_ = await asyncio.gather(keepstone.capsules.get("cap_1"))
    assert found.title == "t"
    assert len(script.seen) == 3


def test_a_request_says_who_calls_and_for_whom() -> None:
    script = Script([httpx.Response(200, json={}) for _ in range(3)])
    with client(script, on_behalf_of="ada@example.org") as keepstone:
        keepstone.request("GET", "/v1/me")
        keepstone.acting_for("usr_2").request("get", "/v1/me")
        keepstone.request("GET", "/v1/me")
    assert [one.headers["x-keepstone-user"] for one in script.seen] == ["ada@example.org", "usr_2", "ada@example.org"]
    assert script.seen[0].headers["authorization"] == "Bearer ck_x"
    assert script.seen[0].headers["user-agent"] == f"keepstone-client/{keepstone_client.__version__}"


def test_resources_of_another_user_act_for_them() -> None:
    script = Script([httpx.Response(200, json=CAPSULE)])
    with client(script) as keepstone:
        keepstone.acting_for("usr_2").capsules.get("cap_1")
    assert script.seen[0].headers["x-keepstone-user"] == "usr_2"


def test_address_and_key_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPSTONE_URL", "https://keepstone.test/below/")
    monkeypatch.setenv("KEEPSTONE_API_KEY", "ck_environment")
    script = Script([httpx.Response(200, json={}), httpx.Response(200, json={})])
    with Keepstone(transport=httpx.MockTransport(script)) as keepstone:
        keepstone.request("GET", "/v1/me")
    with Keepstone(
        base_url="http://other.test", api_key="ck_given", transport=httpx.MockTransport(script)
    ) as keepstone:
        keepstone.request("GET", "/v1/me")
    assert [str(one.url) for one in script.seen] == ["https://keepstone.test/below/v1/me", "http://other.test/v1/me"]
    assert [one.headers["authorization"] for one in script.seen] == ["Bearer ck_environment", "Bearer ck_given"]


@pytest.mark.parametrize("url", ["keepstone.example.org", "ftp://keepstone.example.org", "http://"])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="base_url"):
        Keepstone(base_url=url)


@given(st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda text: text not in {".", ".."}))
def test_an_id_stays_one_piece_of_the_path(text: str) -> None:
    script = Script([httpx.Response(200, json=CAPSULE)])
    with client(script) as keepstone:
        keepstone.capsules.get(text)
    assert script.seen[0].url.raw_path.count(b"/") == 4
    assert script.seen[0].url.query == b""
    assert script.seen[0].url.host == "keepstone.test"


@pytest.mark.parametrize("text", ["", ".", ".."])
def test_what_would_lead_elsewhere_is_no_id(text: str) -> None:
    with pytest.raises(ValueError, match="not an id"):
        at(text)


def test_times_lists_and_what_is_left_out_travel_as_the_server_takes_them() -> None:
    script = Script([httpx.Response(200, json={"items": []}) for _ in range(2)])
    with client(script) as keepstone:
        keepstone.capsules.search("a&b", since=NOW.astimezone(timezone(timedelta(hours=2))), limit=3)
        keepstone.workspaces.search("ws_1", "q", type=["memory", "artifact"])
    first, second = (one.url.params for one in script.seen)
    assert dict(first) == {"q": "a&b", "mode": "hybrid", "limit": "3", "from": "2026-07-01T11:30:00+02:00"}
    assert second.get_list("type") == ["memory", "artifact"]
    request = Request(
        method="PUT", path="/", parse=nothing, json={"at": NOW, "of": types.MappingProxyType({"ö": (1,)})}
    )
    assert request.body == '{"at": "2026-07-01T09:30:00+00:00", "of": {"ö": [1]}}'.encode()
    with pytest.raises(ValueError, match="JSON"):
        assert Request(method="PUT", path="/", parse=nothing, json=float("nan")).body


def test_a_list_is_gone_through_page_by_page_and_only_as_far_as_one_looks() -> None:
    def page(number: int) -> httpx.Response:
        held = {"items": [{**CAPSULE, "id": f"cap_{number}"}], "next_cursor": f"c{number}", "has_more": number < 3}
        return httpx.Response(200, json=held)

    script = Script([page(number) for number in (1, 2, 3)])
    with client(script) as keepstone:
        pages = keepstone.capsules.list(tag="a", page_size=1)
        assert script.seen == []
        assert [one.id for one in pages] == ["cap_1", "cap_2", "cap_3"]
    assert [one.url.params.get("cursor") for one in script.seen] == [None, "c1", "c2"]
    assert {(one.url.params["tag"], one.url.params["limit"]) for one in script.seen} == {("a", "1")}
    script = Script([page(1)])
    with client(script) as keepstone:
        assert next(iter(keepstone.capsules.list())).id == "cap_1"


MESSAGE = {
    "id": "msg_1", "role": "assistant", "content": "a\u2028b\r", "user_id": None, "model": "m",
    "created_at": "2026-07-01T09:30:00Z", "metadata": {},
}  # fmt: skip


def told(*events: tuple[str, Any]) -> bytes:
    return "".join(f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n" for name, data in events).encode()


DONE = ("message.done", {"message": MESSAGE, "usage": None})


def stream(body: bytes) -> Script:
    return Script([httpx.Response(200, content=body, headers={"content-type": "text/event-stream"})])


def test_the_events_of_an_answer_are_typed_and_those_of_a_newer_server_are_passed_over() -> None:
    injected = {"memories": [{"id": "m", "category": None, "relevance": 1, "content": "c"}], "capsule_ids": ["cap_1"]}
    body = told(
        ("message.created", {"message": MESSAGE}), ("x_memory.injected", injected), ("message.thought", {"x": 1}),
        ("message.delta", {"delta": "a\u2028"}), ("message.delta", {"delta": "b"}), DONE,
    )  # fmt: skip
    with client(stream(body)) as keepstone:
        found = list(keepstone.chats.say("chat_1", "hi"))
    assert [type(one) for one in found] == [MessageCreated, MemoriesInjected, MessageDelta, MessageDelta, MessageDone]
    assert "".join(one.delta for one in found if isinstance(one, MessageDelta)) == "a\u2028b"
    with client(stream(body)) as keepstone:
        assert keepstone.chats.say("chat_1", "hi").done().message.content == "a\u2028b\r"


def test_an_answer_that_fails_or_breaks_off_raises() -> None:
    begun = told(("message.created", {"message": MESSAGE}))
    failed = begun + told(("error", {"error": {"code": "UPSTREAM_ERROR", "message": "No."}}))
    with client(stream(failed)) as keepstone, pytest.raises(errors.KeepstoneError, match="UPSTREAM_ERROR: No"):
        list(keepstone.chats.say("chat_1", "hi"))
    with client(stream(begun)) as keepstone, pytest.raises(errors.ConnectionFailed, match="complete"):
        list(keepstone.chats.say("chat_1", "hi"))
    with client(stream(b"data: no\n\n")) as keepstone, pytest.raises(errors.UnexpectedAnswer):
        list(keepstone.chats.say("chat_1", "hi"))
    with client(Script([refusal(404)])) as keepstone, pytest.raises(errors.NotFound):
        list(keepstone.chats.say("chat_1", "hi"))


async def test_the_async_client_streams_too() -> None:
    transport = httpx.MockTransport(stream(told(("message.delta", {"delta": "x"}), DONE)))
    keepstone = AsyncKeepstone(base_url="http://keepstone.test", transport=transport)
    async with keepstone, keepstone.chats.say("chat_1", "hi") as events:
        assert [type(one) async for one in events] == [MessageDelta, MessageDone]
    transport = httpx.MockTransport(Script([refusal(404)]))
    async with AsyncKeepstone(base_url="http://keepstone.test", transport=transport) as keepstone:
        with pytest.raises(errors.NotFound):
            await keepstone.chats.say("chat_1", "hi").done()


def test_leaving_a_stream_early_closes_it() -> None:
    class Body(httpx.SyncByteStream):
        closed = False

        def __iter__(self) -> Iterator[bytes]:
            yield told(("message.delta", {"delta": "x"}))
            raise AssertionError("nobody asked for more")

        def close(self) -> None:
            self.closed = True

    body = Body()
    with client(Script([httpx.Response(200, stream=body)])) as keepstone:
        with keepstone.chats.say("chat_1", "hi") as events:
            assert next(events) == MessageDelta(delta="x")
            assert not body.closed
        assert body.closed


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b.c"]), st.text(st.characters(codec="utf-8"))), max_size=4),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(st.integers(0, 200), max_size=6),
)
def test_events_are_the_same_however_the_bytes_are_cut(
    events: list[tuple[str, str]], end: str, cuts: list[int]
) -> None:
    lines = [
        f"event: {name}{end}data: {json.dumps(data, ensure_ascii=False)}{end}: hi{end}{end}" for name, data in events
    ]
    # A last line end keeps a lone CR from being the end of what arrived.
    sent = "".join(lines).encode() + b": \n"
    places = sorted({min(cut, len(sent)) for cut in cuts})
    parser = EventParser()
    found = [
        (event.name, json.loads(event.data))
        for start, stop in zip([0, *places], [*places, len(sent)], strict=True)
        for event in parser.feed(sent[start:stop])
    ]
    assert found == events


def test_data_over_several_lines_is_one() -> None:
    (event,) = EventParser().feed(b"data: a\ndata:b\nid: 7\n\n\n\n")
    assert (event.name, event.data) == ("message", "a\nb")


def test_what_the_model_kept_is_an_event() -> None:
    memory = {
        "id": "mem_1", "content": "c", "summary": None, "category": None, "source_type": "auto", "source_chat_id": None,
        "source_message_id": None, "workspace_id": "ws_1", "version": 1, "created_at": "2026-07-01T09:30:00Z",
        "updated_at": "2026-07-01T09:30:00Z",
    }  # fmt: skip
    with client(stream(told(DONE, ("x_memory.auto_saved", {"memory": memory})))) as keepstone:
        _, saved = keepstone.chats.say("chat_1", "hi")
    assert isinstance(saved, MemorySaved)
    assert saved.memory.id == "mem_1"


# ------------------------------------------------------------------------------------------- many at once, odd texts


class Crowd:
    """A server that says how many calls were with it at once."""

    def __init__(self) -> None:
        self.now, self.most, self.seen = 0, 0, 0

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.now += 1
        self.seen += 1
        self.most = max(self.most, self.now)
        try:
            for _ in range(3):
                await asyncio.sleep(0)
        finally:
            self.now -= 1
        return httpx.Response(200, json={})


async def test_of_a_thousand_calls_at_once_a_few_are_under_way_and_none_gives_up_waiting() -> None:
    crowd = Crowd()
    async with AsyncKeepstone(
        base_url="http://keepstone.test", transport=httpx.MockTransport(crowd), timeout=0.001
    ) as keepstone:  # fmt: skip
        given_up = asyncio.create_task(keepstone.request("GET", "/v1/me"))
        others = asyncio.gather(*(keepstone.request("GET", "/v1/me") for _ in range(1000)))
        await asyncio.sleep(0)
        given_up.cancel()
        assert await others == [{}] * 1000
        assert crowd.most == turns.CALLS
        await asyncio.gather(*(keepstone.acting_for("usr_2").request("GET", "/v1/me") for _ in range(100)))
        assert crowd.most == turns.CALLS, "who shares a client's connections shares its turns"


async def test_an_answer_that_is_read_slowly_takes_no_call_its_turn() -> None:
    sent = told(("message.delta", {"delta": "x"}), DONE)

    def answer(request: httpx.Request) -> httpx.Response:
        streams = request.url.path.endswith("/messages")
        return httpx.Response(200, content=sent) if streams else httpx.Response(200, json={})

    async with AsyncKeepstone(base_url="http://keepstone.test", transport=httpx.MockTransport(answer)) as keepstone:
        held = [keepstone.chats.say("chat_1", "hi") for _ in range(turns.CALLS + 1)]
        for one in held:
            await anext(one)
        assert await keepstone.request("GET", "/v1/me") == {}
        for one in held:
            await one.close()


def test_threads_share_the_turns_of_a_client_that_waits() -> None:
    now, most, lock, full = [0], [0], threading.Lock(), threading.Barrier(turns.CALLS)

    def answer(request: httpx.Request) -> httpx.Response:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        full.wait(timeout=30)
        with lock:
            now[0] -= 1
        return httpx.Response(200, json={})

    calls = 4 * turns.CALLS
    with client(answer) as keepstone, ThreadPoolExecutor(calls) as threads:
        assert list(threads.map(lambda _: keepstone.request("GET", "/v1/me"), range(calls))) == [{}] * calls
    assert most[0] == turns.CALLS


def test_an_async_client_is_used_in_one_event_loop_after_the_other_until_it_is_closed() -> None:
    keepstone = AsyncKeepstone(base_url="http://keepstone.test", transport=httpx.MockTransport(Crowd()))

    async def work() -> list[Any]:
        return await asyncio.gather(*(keepstone.request("GET", "/v1/me") for _ in range(100)))

    assert asyncio.run(work()) == asyncio.run(work()) == [{}] * 100
    asyncio.run(keepstone.close())
    with pytest.raises(RuntimeError, match="closed"):
        asyncio.run(work())


def test_what_is_in_no_text_is_replaced_and_a_warning_says_so() -> None:
    script = Script([httpx.Response(200, json={}) for _ in range(2)])
    with client(script) as keepstone:
        with pytest.warns(UnicodeWarning, match="U\\+FFFD"):
            keepstone.request("POST", "/v1/x", params={"key": "a\0"}, json={"a\0": ["b\ud800", {"c": "\udfff"}]})
        keepstone.request("POST", "/v1/x", json={"a": "\\u0000 ä \ud83d\ude00"})
    assert json.loads(script.seen[0].content) == {"a\ufffd": ["b\ufffd", {"c": "\ufffd"}]}
    assert script.seen[0].url.params["key"] == "a\ufffd"
    assert json.loads(script.seen[1].content) == {"a": "\\u0000 ä 😀"}, "two halves side by side are a character"


def test_bytes_are_refused_with_what_to_do() -> None:
    with client(Script([])) as keepstone:
        for value in (b"x", bytearray(b"x"), memoryview(b"x")):
            with pytest.raises(TypeError, match="base64"):
                keepstone.stores.put("notes", ("a",), "k", {"file": value})
