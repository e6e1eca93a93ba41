"""Responses, OpenAI's other protocol: how a request is changed, and what of an answer the client sees.

An answer is a list of items. A client has them sent again with its next request, or names the response that the
upstream has kept (`previous_response_id`, or a conversation).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from keepstone.relay.calls import AnsweredCall, Call, CallsToKeep, Tool
from keepstone.relay.dialects.exchange import BETWEEN, Exchange, Piece
from keepstone.relay.dialects.values import Json, as_list, as_object, as_text, behind_user, dumped, objects_in, texts_of
from keepstone.relay.sse import Event

_BEGIN = frozenset({"response.created", "response.in_progress", "response.queued"})
_END = frozenset({"response.completed", "response.incomplete", "response.failed"})
_KEPT_AS = "previous_response_id"
# What a client has to do before the model can go on. Other calls the upstream answers by itself.
_CLIENT_DOES = frozenset(
    {"function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call",
     "mcp_approval_request"}
)  # fmt: skip


class ResponsesExchange(Exchange):
    path = "/responses"
    question = "input"

    def __init__(self, raw: bytes, body: Json, *, model: str | None = None) -> None:
        self._asked = body  # what the client sent
        self._kept: list[CallsToKeep] = []
        self._unseen: list[AnsweredCall] = []  # of rounds of which the client saw nothing that could stand for them
        self._shown_before: list[Json] = []
        self._next_index = 0
        self._sequence: int | None = None
        self._seen_ids: set[str] = set()
        super().__init__(raw, body, model=model)

    def _begin(self) -> None:
        super()._begin()
        self._items: list[Json] = []
        self._hidden: set[int | str] = set()  # by place and by id: not every server tells both
        self._index: dict[int, int] = {}
        self._renamed: dict[str, str] = {}
        self._shift: int | None = None if self._sequence is not None else 0
        self._end_event: Json | None = None
        self._end_raw = b""
        self._streamed = False
        self._unsure: list[tuple[Json, str, Event]] = []  # of a message that may become a call of ours
        self._unsure_text = ""
        self._growing = ""  # the text of an item that is not done

    # --------------------------------------------------------------------------------------------- the request

    @property
    def asks_nothing(self) -> bool:
        return not any(map(self.body.get, ("input", "prompt", "previous_response_id", "conversation")))

    @property
    def said(self) -> str:
        given = self.body.get("input")
        if isinstance(given, str):
            return given
        users = [item for item in objects_in(given) if item.get("role") == "user"]
        return texts_of(users[-1].get("content")) if users else ""

    @property
    def results_of(self) -> list[str] | None:
        items = behind_user(objects_in(self.body.get("input")))
        results = [item for item in items if as_text(item.get("type")).endswith(("_output", "_response"))]
        return [_call_id(item) for item in results] if results else None

    @property
    def continues(self) -> str:
        return as_text(self._asked.get("previous_response_id"))

    @property
    def is_in_conversation(self) -> bool:
        return bool(self._asked.get("conversation"))

    @property
    def kept_as(self) -> str:
        known = self._first if self._streamed else self._answer
        return as_text(known.get("id")) if self._asked.get("store") is not False else ""

    def ids(self) -> list[str]:
        ids = [as_text(self.body.get("previous_response_id"))]
        for item in objects_in(self.body.get("input")):
            call = _call_id(item)
            ids += [call, _before(call)] if call else []
            if item.get("type") == "reasoning":
                ids.append(as_text(item.get("id")))
        return [name for name in dict.fromkeys(ids) if name]

    def splice(self, kept: Mapping[str, Sequence[AnsweredCall]]) -> None:
        """An upstream that keeps the conversation has our calls, and only lacks what came of the last of them."""
        continued = kept.get(as_text(self.body.get("previous_response_id")), ())
        if continued:
            self._edit(previous_response_id=continued[0].arguments)
        given = objects_in(self.body.get("input"))
        sent = {_call_id(item) for item in given if as_text(item.get("type")) in _CLIENT_DOES}
        items: list[Any] = []
        done: set[str] = set()

        def back(*ids: str, outputs: bool = False) -> list[Json]:
            calls = [call for name in ids for call in kept.get(name, ()) if call.id not in done]
            done.update(call.id for call in calls)
            return [part for call in calls for part in ([] if outputs else [_call(call)]) + [_output(call)]]

        for item in as_list(self.body.get("input")):
            about = as_object(item)
            kind, call = as_text(about.get("type")), _call_id(about)
            if kind in _CLIENT_DOES:
                items += [*back(_before(call), call), item]
            elif kind.endswith(("_output", "_response")) and call not in sent and self._is_kept_upstream:
                items += [*back(call, outputs=True), item]
            elif kind == "reasoning":
                items += [item, *back(as_text(about.get("id")))]
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

    def _client_names(self) -> set[str]:
        return {as_text(tool.get("name")) for tool in objects_in(self.body.get("tools"))}

    def _takes_tools(self) -> bool:
        return not self.body.get("background")

    def _reads_calls(self) -> bool:
        """In a conversation that the upstream keeps there is no call to which a result could belong."""
        wanted = as_object(as_object(self.body.get("text")).get("format")).get("type")
        return wanted in (None, "text") and not self.body.get("conversation")

    def _declared(self, tool: Tool) -> Json:
        # Strict is what is not said, and asks more of a schema than ours promise.
        asked = {"name": tool.name, "description": tool.description, "parameters": tool.parameters, "strict": False}
        return {"type": "function", **asked}

    @property
    def _is_kept_upstream(self) -> bool:
        return bool(self.body.get("previous_response_id") or self.body.get("conversation"))

    # ------------------------------------------------------------------------------------------------ the rounds

    def _own_calls(self) -> list[Call]:
        return [
            Call(id=as_text(item.get("call_id")), name=item["name"], arguments=as_text(item.get("arguments")))
            for item in self._items
            if self._is_ours(item)
        ]

    def _was_stopped(self) -> bool:
        return self._answer.get("status") in ("incomplete", "failed")

    @property
    def client_calls(self) -> list[str]:
        done = {_call_id(item) for item in self._items if as_text(item.get("type")).endswith("_output")}
        asked = [item for item in self._items if as_text(item.get("type")) in _CLIENT_DOES and not self._is_ours(item)]
        return [call for call in map(_call_id, asked) if call not in done]

    def _continue(self, answered: Sequence[AnsweredCall]) -> None:
        given = self.body.get("input")
        before: list[Any] = [{"role": "user", "content": given}] if isinstance(given, str) else as_list(given)
        outputs = list(map(_output, answered))
        if self.body.get("conversation"):  # where the upstream has put the rest by itself
            self._edit(input=outputs)
        else:
            self._edit(input=[*before, *self._again(), *outputs])
        thoughts = [as_text(item.get("id")) for item in self._visible() if item.get("type") == "reasoning"]
        if any(thoughts):  # which may only come back with what they led to
            latest = [thought for thought in thoughts if thought][-1]
            self._kept.append(CallsToKeep(ids=(latest,), calls=tuple(answered)))
        else:
            self._unseen += answered
        self._shown_before += self._visible()

    def settle(self, answered: Sequence[AnsweredCall]) -> list[CallsToKeep]:
        theirs = tuple(call for call in self.client_calls if call)
        if theirs and answered:
            self._kept.append(CallsToKeep(ids=theirs, calls=tuple(answered)))
        if theirs and self._unseen:
            self._kept.append(CallsToKeep(ids=tuple(map(_before, theirs)), calls=tuple(self._unseen)))
        first, latest = as_text(self._first.get("id")), as_text(self._answer.get("id"))
        if self._streamed and self.rounds > 1 and first and latest and self._asked.get("store") is not False:
            # The client knows the first round by its id, and the upstream continues from the last.
            continued = AnsweredCall(id=latest, name=_KEPT_AS, arguments=latest, result="")
            self._kept.append(CallsToKeep(ids=(first,), calls=(continued,)))
        return self._kept

    @property
    def text(self) -> str:
        said = [_text(item) for item in (*self._shown_before, *self._visible())]
        return BETWEEN.join(part for part in said if part)

    @property
    def partial(self) -> str:
        return BETWEEN.join(part for part in (self.text, self._growing) if part)

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
        return item.get("type") == "function_call" and as_text(item.get("name")) in self.names

    # ------------------------------------------------------------------------------------------- a whole answer

    def read(self, payload: bytes) -> None:
        super().read(payload)
        self.complete = self._answer.get("status") in (None, "completed", "incomplete")
        self.failed = self._answer.get("status") == "failed"

    def _take_answer(self, answer: Json) -> None:
        super()._take_answer(answer)
        given = objects_in(answer.get("output")) or self._items
        self._items = [part for item in given for part in self._as_calls(item)]

    def _as_calls(self, item: Json) -> list[Json]:
        """A message that is nothing but calls of ours, as these."""
        calls = [] if self._was_stopped() else self._written(_text(item))
        asked = [{"call_id": call.id, "name": call.name, "arguments": call.arguments} for call in calls]
        return [{"type": "function_call", **one} for one in asked] or [item]

    def _visible_parts(self) -> Json:
        """Of several rounds the answer has the last one's id: from there the upstream can go on."""
        if "output" not in self._answer and not self._shown_before:
            return {}
        return {"output": [*self._shown_before, *self._visible()]}

    # ------------------------------------------------------------------------------------------------- a stream

    def _feed(self, payload: Json, event: Event) -> list[Piece]:
        self._streamed = True
        kind = as_text(payload.get("type")) or (event.name or "")
        if kind in _END:
            self._end_event, self._end_raw = payload, event.raw
            self._take_answer(as_object(payload.get("response")))
            self._growing = "" if objects_in(self._answer.get("output")) else self._growing
            self.over = True
            self.failed = kind == "response.failed"
            self.error = as_object(self._answer.get("error"))
            self.complete = not self.failed
            return []
        if kind == "error" or payload.get("error"):
            self.failed = self.over = True
            self.error = as_object(payload.get("error")) or payload
        if self._is_unsure(payload, kind):
            self._unsure.append((payload, kind, event))
            return []
        return [*self._release(payload, kind), *self._shown(payload, kind, event)]

    def _is_unsure(self, payload: Json, kind: str) -> bool:
        """Whether an event is of a message that may be nothing but calls of ours."""
        begins = kind == "response.output_item.added" and as_object(payload.get("item")).get("type") == "message"
        if begins and not self._unsure:
            self._unsure_text = ""
            return self._may_write("") and not any(map(_text, self._items))
        if kind == "response.output_text.delta":
            self._unsure_text += as_text(payload.get("delta"))
        ends = kind == "response.output_item.done"
        return bool(self._unsure) and not ends and (not self._unsure_text.strip() or self._may_write(self._unsure_text))

    def _release(self, payload: Json, kind: str) -> list[Piece]:
        """What was held back: nothing of a message that is calls, otherwise all of it."""
        unsure, self._unsure = self._unsure, []
        item = as_object(payload.get("item"))
        if unsure and kind == "response.output_item.done" and self._written(_text(item)):
            names = (payload.get("output_index"), item.get("id"))
            self._hidden |= {name for name in names if isinstance(name, int | str) and name != ""}
            for held, _, _ in unsure:
                self._pass_over(held)
            return []
        return [piece for held in unsure for piece in self._shown(*held)]

    def _shown(self, payload: Json, kind: str, event: Event) -> list[Piece]:
        shown = self._filtered(payload, kind)
        if shown is None:
            return []
        text = as_text(payload.get("delta")) if kind == "response.output_text.delta" else ""
        self._growing = "" if kind == "response.output_item.done" else self._growing + text
        return [Piece(raw=event.raw if shown is payload else _event(kind, shown), text=text)]

    def tail(self) -> list[bytes]:
        if self._end_event is None:
            return []
        kind = as_text(self._end_event.get("type"))
        numbered = self._numbered(self._end_event)
        if numbered is self._end_event and not self._is_changed():
            return [self._end_raw]
        return [_event(kind, {**numbered, "response": {**self._shown_answer(), **self._first}})]

    def fault(self, error: Mapping[str, Any]) -> bytes:
        payload: Json = {"type": "error", **{name: error.get(name) for name in ("code", "message", "param")}}
        payload["sequence_number"] = 0 if self._sequence is None else self._sequence + 1
        return _event("error", {**payload, "error": dict(error)})  # the SDKs raise what has the last

    def _filtered(self, payload: Json, kind: str) -> Json | None:
        """What of an event the client gets: the event itself where nothing has to change."""
        if kind in _BEGIN:
            if self.rounds > 1:
                self._pass_over(payload)
                return None
            answer = as_object(payload.get("response"))
            self._first = self._first or {name: answer[name] for name in ("id", "created_at") if name in answer}
            noted = self._noted(answer) if kind == "response.created" else answer
            return self._numbered(payload if noted is answer else {**payload, "response": noted})
        item = as_object(payload.get("item"))
        names = (payload.get("output_index"), payload.get("item_id"), item.get("id"))
        named = {name for name in names if isinstance(name, int | str) and name != ""}
        ours = self._is_ours(item)
        if ours:
            self._hidden |= named
        if kind == "response.output_item.done" and item:
            self._items.append(item)
        if ours or named & self._hidden:
            self._pass_over(payload)
            return None
        if kind == "response.output_item.added" and self.names:
            self._rename(as_text(item.get("id")))
        return self._numbered(self._placed(payload))

    def _placed(self, payload: Json) -> Json:
        """With the place among what the client sees, and an id that no earlier round had."""
        changed = payload
        index = payload.get("output_index")
        if self.names and isinstance(index, int):
            if index not in self._index:
                self._index[index] = self._next_index
                self._next_index += 1
            if self._index[index] != index:
                changed = {**changed, "output_index": self._index[index]}
        if as_text(payload.get("item_id")) in self._renamed:
            changed = {**changed, "item_id": self._renamed[payload["item_id"]]}
        item = as_object(payload.get("item"))
        if as_text(item.get("id")) in self._renamed:
            changed = {**changed, "item": self._with_new_ids(item)}
        return changed

    def _numbered(self, payload: Json) -> Json:
        number = payload.get("sequence_number")
        if not isinstance(number, int):
            return payload
        if self._shift is None:
            self._shift = (self._sequence or 0) + 1 - number
        self._sequence = number + self._shift
        return payload if self._sequence == number else {**payload, "sequence_number": self._sequence}

    def _pass_over(self, payload: Json) -> None:
        """One that the client does not get leaves no gap."""
        if self._shift is not None and isinstance(payload.get("sequence_number"), int):
            self._shift -= 1

    def _rename(self, name: str) -> None:
        """Some upstreams count their items anew in each response."""
        if name and name in self._seen_ids and self.rounds > 1:
            self._renamed[name] = f"{name}_{len(self._seen_ids)}"
        self._seen_ids.add(name)

    def _with_new_ids(self, item: Json) -> Json:
        name = as_text(item.get("id"))
        return {**item, "id": self._renamed[name]} if name in self._renamed else item


def _call_id(item: Json) -> str:
    """By which a call and what came of it belong together."""
    if item.get("type") == "mcp_approval_request":
        return as_text(item.get("id"))
    return as_text(item.get("call_id")) or as_text(item.get("approval_request_id"))


def _before(call: str) -> str:
    """Under this, calls of the rounds before the one with the client's call."""
    return f"{call}:before"


def _text(item: Json) -> str:
    if item.get("type") != "message":
        return ""
    return "".join(as_text(part.get("text")) for part in objects_in(item.get("content")))


def _call(answered: AnsweredCall) -> Json:
    return {"type": "function_call", "call_id": answered.id, "name": answered.name, "arguments": answered.arguments}


def _output(answered: AnsweredCall) -> Json:
    return {"type": "function_call_output", "call_id": answered.id, "output": answered.result}


def _event(kind: str, payload: Json) -> bytes:
    return f"event: {kind}\n".encode() + b"data: " + dumped(payload) + b"\n\n"
