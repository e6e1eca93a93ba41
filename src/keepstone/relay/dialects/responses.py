"""Responses, OpenAI's other protocol: what a request says and how it is changed, what an answer holds and what of it
the client may see, whole or as a stream.

An answer is a list of items. A client has them sent again with its next request, or names the response that the
upstream has kept (`previous_response_id`, or a conversation).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from keepstone.relay.dialects.exchange import (
    BETWEEN,
    DONE,
    Call,
    Exchange,
    Json,
    Kept,
    Piece,
    Ran,
    Tool,
    a_list,
    a_text,
    an_object,
    dumped,
    free_to_choose,
    loaded,
    objects,
    sum_of,
    texts_of,
)
from keepstone.relay.sse import Event

_BEGIN = frozenset({"response.created", "response.in_progress", "response.queued"})
_END = frozenset({"response.completed", "response.incomplete", "response.failed"})
_KEPT_AS = "previous_response_id"
# What a client has to do before the model can go on. Other calls the upstream answers by itself.
_CLIENT_DOES = frozenset(
    {"function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call",
     "mcp_approval_request"}
)  # fmt: skip


class Responses(Exchange):
    path = "/responses"

    def __init__(self, raw: bytes, body: Json, *, model: str | None = None) -> None:
        super().__init__(raw, body, model=model)
        self._asked = body  # what the client sent
        self._kept: list[Kept] = []
        self._unseen: list[Ran] = []  # of rounds of which the client saw nothing that could stand for them
        self._shown_before: list[Json] = []
        self._used_before: Json | None = None
        self._first: Json = {}  # id and time of the first round, which the whole stream has
        self._client_tools: Any = None
        self._next_index = 0
        self._sequence: int | None = None
        self._seen_ids: set[str] = set()
        self._begin()

    def _begin(self) -> None:
        self._answer: Json = {}
        self._answer_raw = b""
        self._items: list[Json] = []
        self._hidden: set[int | str] = set()  # by place and by id: not every server tells both
        self._index: dict[int, int] = {}
        self._renamed: dict[str, str] = {}
        self._shift: int | None = None if self._sequence is not None else 0
        self._end_event: Json | None = None
        self._end_raw = b""
        self._streamed = False
        self.over = self.complete = False

    # --------------------------------------------------------------------------------------------- the request

    @property
    def asks_nothing(self) -> bool:
        return not any(map(self.body.get, ("input", "prompt", "previous_response_id", "conversation")))

    @property
    def said(self) -> str:
        given = self.body.get("input")
        if isinstance(given, str):
            return given
        users = [item for item in objects(given) if item.get("role") == "user"]
        return texts_of(users[-1].get("content")) if users else ""

    @property
    def continues(self) -> bool:
        items = objects(self.body.get("input"))
        return bool(items) and a_text(items[-1].get("type")).endswith(("_output", "_response"))

    def ids(self) -> list[str]:
        found = [a_text(self.body.get("previous_response_id"))]
        for item in objects(self.body.get("input")):
            call = _call_id(item)
            found += [call, _before(call)] if call else []
            if item.get("type") == "reasoning":
                found.append(a_text(item.get("id")))
        return [one for one in dict.fromkeys(found) if one]

    def splice(self, kept: Mapping[str, Sequence[Ran]]) -> None:
        """An upstream that keeps the conversation has our calls, and only lacks what came of the last of them."""
        continued = kept.get(a_text(self.body.get("previous_response_id")), ())
        if continued:
            self._edit(previous_response_id=continued[0].arguments)
        given = objects(self.body.get("input"))
        sent = {_call_id(item) for item in given if a_text(item.get("type")) in _CLIENT_DOES}
        items: list[Any] = []
        done: set[str] = set()

        def back(*ids: str, outputs: bool = False) -> list[Json]:
            found = [one for name in ids for one in kept.get(name, ()) if one.id not in done]
            done.update(one.id for one in found)
            return [part for one in found for part in ([_output(one)] if outputs else [_call(one), _output(one)])]

        for item in a_list(self.body.get("input")):
            about = an_object(item)
            kind, call = a_text(about.get("type")), _call_id(about)
            if kind in _CLIENT_DOES:
                items += [*back(_before(call), call), item]
            elif kind.endswith(("_output", "_response")) and call not in sent and self._is_kept_upstream:
                items += [*back(call, outputs=True), item]
            elif kind == "reasoning":
                items += [item, *back(a_text(about.get("id")))]
            else:
                items.append(item)
        if done:
            self._edit(input=items)

    def inject(self, context: str) -> bool:
        before = self.body.get("instructions")
        if before is not None and not isinstance(before, str):
            return False
        self._edit(instructions=f"{before}{BETWEEN}{context}" if before else context)
        return True

    def offer(self, tools: Iterable[Tool]) -> None:
        body = self.body
        client = {a_text(tool.get("name")) for tool in objects(body.get("tools"))} - {""}
        if body.get("background") or not free_to_choose(body):
            return
        ours = [tool for tool in tools if tool.name not in client]
        if ours:
            self._client_tools = body.get("tools")
            self.names = frozenset(tool.name for tool in ours)
            self._edit(tools=[*a_list(body.get("tools")), *map(_offered, ours)])

    @property
    def _is_kept_upstream(self) -> bool:
        return bool(self.body.get("previous_response_id") or self.body.get("conversation"))

    # ------------------------------------------------------------------------------------------------ the rounds

    @property
    def calls(self) -> list[Call]:
        if self.last or self._answer.get("status") in ("incomplete", "failed"):
            return []
        return [
            Call(id=a_text(item.get("call_id")), name=item["name"], arguments=a_text(item.get("arguments")))
            for item in self._items
            if self._is_ours(item)
        ]

    @property
    def client_calls(self) -> list[str]:
        done = {_call_id(item) for item in self._items if a_text(item.get("type")).endswith("_output")}
        asked = [item for item in self._items if a_text(item.get("type")) in _CLIENT_DOES and not self._is_ours(item)]
        return [call for call in map(_call_id, asked) if call not in done]

    def go_on(self, ran: Sequence[Ran], *, last: bool) -> None:
        given = self.body.get("input")
        before: list[Any] = [{"role": "user", "content": given}] if isinstance(given, str) else a_list(given)
        outputs = list(map(_output, ran))
        if self.body.get("conversation"):  # where the upstream has put the rest by itself
            self._edit(input=outputs)
        else:
            self._edit(input=[*before, *self._again(), *outputs])
        if last:
            # Upstreams want the tools that a conversation speaks of declared; a client's own are enough.
            self._edit(**({"tools": self._client_tools} if self._client_tools else {"tool_choice": "none"}))
        self.last = last
        thoughts = [a_text(item.get("id")) for item in self._visible() if item.get("type") == "reasoning"]
        if any(thoughts):  # which may only come back with what they led to
            self._kept.append(Kept(ids=[[one for one in thoughts if one][-1]], calls=ran))
        else:
            self._unseen += ran
        self._shown_before += self._visible()
        self._used_before = self.usage
        self.rounds += 1
        self._begin()

    def settle(self, ran: Sequence[Ran]) -> list[Kept]:
        theirs = [one for one in self.client_calls if one]
        if theirs and ran:
            self._kept.append(Kept(ids=theirs, calls=ran))
        if theirs and self._unseen:
            self._kept.append(Kept(ids=[_before(one) for one in theirs], calls=self._unseen))
        first, latest = a_text(self._first.get("id")), a_text(self._answer.get("id"))
        if self._streamed and self.rounds > 1 and first and latest and self._asked.get("store") is not False:
            # The client knows the first round by its id, and the upstream continues from the last.
            self._kept.append(Kept(ids=[first], calls=[Ran(id=latest, name=_KEPT_AS, arguments=latest, result="")]))
        return self._kept

    @property
    def text(self) -> str:
        said = [_text(item) for item in (*self._shown_before, *self._visible())]
        return BETWEEN.join(part for part in said if part)

    @property
    def usage(self) -> Json | None:
        return sum_of(self._used_before, an_object(self._answer.get("usage")) or None)

    def _again(self) -> list[Json]:
        """What the model gave in this round, to be sent to it once more."""
        if self.body.get("store") is not False:
            return self._items
        # The upstream keeps nothing, and knows none of its ids; a thought that is not in the item itself is lost.
        return [
            {name: value for name, value in item.items() if name != "id"}
            for item in self._items
            if item.get("type") != "reasoning" or item.get("encrypted_content")
        ]

    def _visible(self) -> list[Json]:
        return [self._with_new_ids(item) for item in self._items if not self._is_ours(item)]

    def _is_ours(self, item: Json) -> bool:
        return item.get("type") == "function_call" and a_text(item.get("name")) in self.names

    # ------------------------------------------------------------------------------------------- a whole answer

    def read(self, payload: bytes) -> None:
        self._answer_raw = payload
        self._take_answer(loaded(payload) or {})
        self.over = True
        self.complete = self._answer.get("status") in (None, "completed", "incomplete")

    def whole(self) -> bytes:
        """Of several rounds the last one's id: from there the upstream can go on."""
        if not self._answer or not self._is_changed():
            return self._answer_raw
        return dumped(self._shown_answer())

    def _take_answer(self, answer: Json) -> None:
        self._answer = answer
        self.model = a_text(answer.get("model")) or self.model
        self._items = objects(answer.get("output")) or self._items

    def _is_changed(self) -> bool:
        return self.rounds > 1 or self.note.shown() is not None or any(map(self._is_ours, self._items))

    def _shown_answer(self) -> Json:
        answer = dict(self._answer)
        if "output" in answer or self._shown_before:
            answer["output"] = [*self._shown_before, *self._visible()]
        if self.rounds > 1 and self.usage is not None:
            answer["usage"] = self.usage
        return self._with_note(answer)

    def _with_note(self, answer: Json) -> Json:
        note = self.note.shown()
        return answer if note is None else {**answer, "x_memory": note}

    # ------------------------------------------------------------------------------------------------- a stream

    def feed(self, event: Event) -> list[Piece]:
        self._streamed = True
        if event.data is None or self.over or event.data.strip() == DONE:
            return [Piece(raw=event.raw)]
        told = loaded(event.data)
        if told is None:
            return [Piece(raw=event.raw)]
        kind = a_text(told.get("type")) or (event.name or "")
        if kind in _END:
            self._end_event, self._end_raw = told, event.raw
            self._take_answer(an_object(told.get("response")))
            self.over = True
            self.failed = kind == "response.failed"
            self.error = an_object(self._answer.get("error"))
            self.complete = not self.failed
            return []
        if kind == "error" or told.get("error"):
            self.failed = self.over = True
            self.error = an_object(told.get("error")) or told
        shown = self._filtered(told, kind)
        if shown is None:
            return []
        text = a_text(told.get("delta")) if kind == "response.output_text.delta" else ""
        return [Piece(raw=event.raw if shown is told else _event(kind, shown), text=text)]

    def tail(self) -> list[bytes]:
        if self._end_event is None:
            return []
        kind = a_text(self._end_event.get("type"))
        numbered = self._numbered(self._end_event)
        if numbered is self._end_event and not self._is_changed():
            return [self._end_raw]
        return [_event(kind, {**numbered, "response": {**self._shown_answer(), **self._first}})]

    def fault(self, error: Mapping[str, Any]) -> bytes:
        told: Json = {"type": "error", **{name: error.get(name) for name in ("code", "message", "param")}}
        told["sequence_number"] = 0 if self._sequence is None else self._sequence + 1
        return _event("error", {**told, "error": dict(error)})  # the SDKs raise what has the last

    def _filtered(self, told: Json, kind: str) -> Json | None:
        """What of an event the client gets: the event itself where nothing has to change."""
        if kind in _BEGIN:
            if self.rounds > 1:
                self._pass_over(told)
                return None
            answer = an_object(told.get("response"))
            self._first = self._first or {name: answer[name] for name in ("id", "created_at") if name in answer}
            noted = self._with_note(answer) if kind == "response.created" else answer
            return self._numbered(told if noted is answer else {**told, "response": noted})
        item = an_object(told.get("item"))
        told_by = (told.get("output_index"), told.get("item_id"), item.get("id"))
        named = {one for one in told_by if isinstance(one, int | str) and one != ""}
        ours = self._is_ours(item)
        if ours:
            self._hidden |= named
        if kind == "response.output_item.done" and item:
            self._items.append(item)
        if ours or named & self._hidden:
            self._pass_over(told)
            return None
        if kind == "response.output_item.added" and self.names:
            self._rename(a_text(item.get("id")))
        return self._numbered(self._placed(told))

    def _placed(self, told: Json) -> Json:
        """With the place among what the client sees, and an id that no earlier round had."""
        changed = told
        index = told.get("output_index")
        if self.names and isinstance(index, int):
            if index not in self._index:
                self._index[index] = self._next_index
                self._next_index += 1
            if self._index[index] != index:
                changed = {**changed, "output_index": self._index[index]}
        if a_text(told.get("item_id")) in self._renamed:
            changed = {**changed, "item_id": self._renamed[told["item_id"]]}
        item = an_object(told.get("item"))
        if a_text(item.get("id")) in self._renamed:
            changed = {**changed, "item": self._with_new_ids(item)}
        return changed

    def _numbered(self, told: Json) -> Json:
        number = told.get("sequence_number")
        if not isinstance(number, int):
            return told
        if self._shift is None:
            self._shift = (self._sequence or 0) + 1 - number
        self._sequence = number + self._shift
        return told if self._sequence == number else {**told, "sequence_number": self._sequence}

    def _pass_over(self, told: Json) -> None:
        """One that the client does not get leaves no gap."""
        if self._shift is not None and isinstance(told.get("sequence_number"), int):
            self._shift -= 1

    def _rename(self, name: str) -> None:
        """Some upstreams count their items anew in each response."""
        if name and name in self._seen_ids and self.rounds > 1:
            self._renamed[name] = f"{name}_{len(self._seen_ids)}"
        self._seen_ids.add(name)

    def _with_new_ids(self, item: Json) -> Json:
        name = a_text(item.get("id"))
        return {**item, "id": self._renamed[name]} if name in self._renamed else item


def _call_id(item: Json) -> str:
    """By which a call and what came of it belong together."""
    if item.get("type") == "mcp_approval_request":
        return a_text(item.get("id"))
    return a_text(item.get("call_id")) or a_text(item.get("approval_request_id"))


def _before(call: str) -> str:
    """Under this, calls of the rounds before the one with the client's call."""
    return f"{call}:before"


def _text(item: Json) -> str:
    if item.get("type") != "message":
        return ""
    return "".join(a_text(part.get("text")) for part in objects(item.get("content")))


def _offered(tool: Tool) -> Json:
    # Strict is what is not said, and asks more of a schema than ours promise.
    asked = {"name": tool.name, "description": tool.description, "parameters": tool.parameters, "strict": False}
    return {"type": "function", **asked}


def _call(ran: Ran) -> Json:
    return {"type": "function_call", "call_id": ran.id, "name": ran.name, "arguments": ran.arguments}


def _output(ran: Ran) -> Json:
    return {"type": "function_call_output", "call_id": ran.id, "output": ran.result}


def _event(kind: str, told: Json) -> bytes:
    return f"event: {kind}\n".encode() + b"data: " + dumped(told) + b"\n\n"
