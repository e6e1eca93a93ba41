"""Chat completions, as OpenAI speaks them: how a request is changed, and what of an answer the client sees."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from keepstone.relay.calls import AnsweredCall, Call, CallsToKeep, Tool
from keepstone.relay.dialects.exchange import BETWEEN, Exchange, Piece
from keepstone.relay.dialects.values import Json, as_list, as_object, as_text, behind_user, dumped, objects_in, texts_of
from keepstone.relay.sse import Event

# A model that was stopped did not finish what it was about to call.
_STOPPED = frozenset({"length", "content_filter"})
_PARTS = frozenset({"index", "id", "type", "function"})
_SYSTEM = ("system", "developer")


@dataclass(slots=True)
class _GrowingCall:
    """A call of which the parts are still coming. Held back while it may be one of ours."""

    id: str = ""
    name: str = ""
    arguments: str = ""
    more: Json = field(default_factory=dict[str, Any])  # what some upstreams want to see again
    held: list[Json] = field(default_factory=list[Json])
    shown_as: int | None = None  # its index at the client


class ChatExchange(Exchange):
    path = "/chat/completions"
    question = "messages"

    def __init__(self, raw: bytes, body: Json, *, model: str | None = None) -> None:
        self._answered: list[AnsweredCall] = []  # of all rounds
        self._said_before: list[str] = []
        self._noted_once = False
        self._role_told = False
        super().__init__(raw, body, model=model)

    def _begin(self) -> None:
        super()._begin()
        self._content: list[str] = []
        self._extra: dict[str, str] = {}
        self._calls: list[_GrowingCall] = []
        self._call_at: dict[int, _GrowingCall] = {}
        self._finish: str | None = None
        self._held: list[Json] = []
        self._end: list[bytes] = []
        self._unsure: list[tuple[Json, Event]] = []  # text that may become a call of ours
        self._is_text = False  # and so none
        self._wrote_calls = False

    # --------------------------------------------------------------------------------------------- the request

    @property
    def asks_nothing(self) -> bool:
        return not self.body.get("messages")

    @property
    def said(self) -> str:
        users = [message for message in objects_in(self.body.get("messages")) if message.get("role") == "user"]
        return texts_of(users[-1].get("content")) if users else ""

    @property
    def results_of(self) -> list[str] | None:
        messages = behind_user(objects_in(self.body.get("messages")))
        results = [message for message in messages if message.get("role") in ("tool", "function")]
        return [as_text(message.get("tool_call_id")) for message in results] if results else None

    def ids(self) -> list[str]:
        return [
            as_text(call.get("id"))
            for message in objects_in(self.body.get("messages"))
            for call in objects_in(message.get("tool_calls"))
            if call.get("id")
        ]

    def splice(self, kept: Mapping[str, Sequence[AnsweredCall]]) -> None:
        given = as_list(self.body.get("messages"))
        messages: list[Any] = []
        for message in given:
            calls = objects_in(as_object(message).get("tool_calls"))
            own = {answered.id: answered for call in calls for answered in kept.get(as_text(call.get("id")), ())}
            if own:
                message = {**message, "tool_calls": [*map(_call, own.values()), *message["tool_calls"]]}  # noqa: PLW2901
            messages += [message, *map(_result, own.values())]
        if len(messages) > len(given):
            self._edit(messages=messages)

    def inject(self, context: str) -> bool:
        messages = as_list(self.body.get("messages"))
        if not messages:
            return False
        for place, message in enumerate(messages):
            if as_object(message).get("role") in _SYSTEM:
                changed = {**message, "content": _with_context(message.get("content"), context)}
                self._edit(messages=[*messages[:place], changed, *messages[place + 1 :]])
                return True
        self._edit(messages=[{"role": "system", "content": context}, *messages])
        return True

    def _client_names(self) -> set[str]:
        tools = objects_in(self.body.get("tools"))
        return {as_text(as_object(tool.get(kind)).get("name")) for tool in tools for kind in ("function", "custom")}

    def _takes_tools(self) -> bool:
        return not self.body.get("functions") and self.body.get("n") in (None, 1)

    def _reads_calls(self) -> bool:
        return as_object(self.body.get("response_format")).get("type") in (None, "text")

    def _declared(self, tool: Tool) -> Json:
        asked = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        return {"type": "function", "function": asked}

    # ------------------------------------------------------------------------------------------------ the rounds

    def _own_calls(self) -> list[Call]:
        return [Call(id=call.id, name=call.name, arguments=call.arguments) for call in self._ours()]

    def _was_stopped(self) -> bool:
        return self._finish in _STOPPED

    @property
    def client_calls(self) -> list[str]:
        return [call.id for call in self._calls if call.name not in self.names]

    def _continue(self, answered: Sequence[AnsweredCall]) -> None:
        said = "".join(self._content)
        if self._answer and not self._wrote_calls:
            message = as_object(_choice(self._answer).get("message"))
        else:
            message = {
                "role": "assistant",
                "content": said or None,
                **self._extra,
                "tool_calls": [
                    {**grown.more, **_call(call)} for grown, call in zip(self._ours(), answered, strict=True)
                ],
            }
        self._edit(messages=[*as_list(self.body.get("messages")), message, *map(_result, answered)])
        self._answered += answered
        self._said_before += [said] if said else []

    def settle(self, answered: Sequence[AnsweredCall]) -> list[CallsToKeep]:
        self._answered += answered
        ids = tuple(call for call in self.client_calls if call)
        return [CallsToKeep(ids=ids, calls=tuple(self._answered))] if self._answered and ids else []

    @property
    def text(self) -> str:
        return BETWEEN.join([*self._said_before, *(["".join(self._content)] if self._content else [])])

    @property
    def partial(self) -> str:
        return BETWEEN.join(self._said_before) if self._unsure else self.text

    def _ours(self) -> list[_GrowingCall]:
        return [call for call in self._calls if call.name in self.names]

    # ------------------------------------------------------------------------------------------- a whole answer

    def _take_answer(self, answer: Json) -> None:
        super()._take_answer(answer)
        choice = _choice(answer)
        message = as_object(choice.get("message"))
        self._finish = as_text(choice.get("finish_reason")) or None
        if as_text(message.get("content")):
            self._content.append(message["content"])
        for call in objects_in(message.get("tool_calls")):
            asked = as_object(call.get("function"))
            self._calls.append(
                _GrowingCall(as_text(call.get("id")), as_text(asked.get("name")), as_text(asked.get("arguments")))
            )
        self._take_written()

    def _take_written(self) -> None:
        """Calls of ours that the model wrote as its whole text are calls, and no text."""
        calls = [] if self._calls or self._was_stopped() else self._written("".join(self._content))
        if calls:
            self._wrote_calls = True
            self._content = []
            self._calls = [_GrowingCall(call.id, call.name, call.arguments) for call in calls]

    def _visible_parts(self) -> Json:
        if self.rounds == 1 and not self._ours():
            return {}
        choice = _choice(self._answer)
        message = dict(as_object(choice.get("message")))
        if self.text or self._wrote_calls:
            message["content"] = self.text or None
        calls = objects_in(message.pop("tool_calls", None))
        theirs = [call for call in calls if as_text(as_object(call.get("function")).get("name")) not in self.names]
        if theirs:
            message["tool_calls"] = theirs
        finish = choice.get("finish_reason")
        visible = {**choice, "message": message, "finish_reason": finish if theirs else _without_calls(finish)}
        return {"choices": [visible, *as_list(self._answer.get("choices"))[1:]]}

    # ------------------------------------------------------------------------------------------------- a stream

    def _feed(self, payload: Json, event: Event) -> list[Piece]:
        if payload.get("error"):
            self.failed = self.over = True
            self.error = as_object(payload["error"])
            return [Piece(raw=event.raw)]
        self._take_chunk(payload)
        if self._may_be_written():
            self._unsure.append((payload, event))
            return [] if self._finish is None else self._release()
        return [*self._release(), *self._shown(payload, event)]

    def _may_be_written(self) -> bool:
        """Whether all that the model has said so far may be a call of ours. Asked until it can't."""
        if self._is_text or not self._content:
            return False
        self._is_text = bool(self._calls) or not self._may_write("".join(self._content))
        return not self._is_text

    def _release(self) -> list[Piece]:
        """What was held back: without its text if that is calls, otherwise as it came."""
        if self._unsure and (self._finish is not None or self.over):
            self._take_written()
        unsure, self._unsure = self._unsure, []
        pieces: list[Piece] = []
        for payload, event in unsure:
            if not self._wrote_calls:
                pieces += self._shown(payload, event)
                continue
            choice = _choice(payload)
            delta = {name: value for name, value in as_object(choice.get("delta")).items() if name != "content"}
            if not _says_nothing(payload, delta):
                pieces += self._shown(_with_choice(payload, {**choice, "delta": delta}), event)
        return pieces

    def _shown(self, payload: Json, event: Event) -> list[Piece]:
        shown = self._filtered(payload)
        if shown is None:
            return []
        delta = as_object(_choice(shown).get("delta"))
        self._role_told = self._role_told or "role" in delta
        same = shown is payload and not self._wrote_calls
        return [Piece(raw=event.raw if same else _event(shown), text=as_text(delta.get("content")))]

    def _feed_end(self, event: Event) -> list[Piece]:
        self._end.append(event.raw)
        self.over = self.complete = True
        return self._release()

    def tail(self) -> list[bytes]:
        return [] if self.failed else [*(_event(self._with_note(chunk)) for chunk in self._held), *self._end]

    def fault(self, error: Mapping[str, Any]) -> bytes:
        return _event({"error": dict(error)})

    def _take_chunk(self, chunk: Json) -> None:
        self.model = as_text(chunk.get("model")) or self.model
        if not self._first:
            self._first = {name: chunk[name] for name in ("id", "created") if name in chunk}
        self._used = as_object(chunk.get("usage")) or self._used
        choice = _choice(chunk)
        delta = as_object(choice.get("delta"))
        text = as_text(delta.get("content"))
        if text:
            self._content.append(text)
        for name, value in delta.items():
            # What a model thought, by whatever name: it wants to see it again beside its calls.
            if isinstance(value, str) and name.startswith("reasoning"):
                self._extra[name] = self._extra.get(name, "") + value
        if choice.get("finish_reason"):
            self._finish = as_text(choice["finish_reason"])
            self.complete = True

    def _filtered(self, chunk: Json) -> Json | None:
        """What of a chunk the client gets: the chunk itself where nothing has to change."""
        shown = self._without_ours(chunk) if self.names else chunk
        if shown is not None and self.rounds > 1:
            shown = self._of_later_round(shown)
        if shown is not None and self._finish is not None and self.calls:
            held, shown = _split_end(shown)
            self._held.append(held)
        if shown is None:
            return None
        first, self._noted_once = not self._noted_once, True
        return self._with_note(shown, first=first)

    def _without_ours(self, chunk: Json) -> Json | None:
        """Our calls are held back, and the client's counted as if they were alone."""
        choice = _choice(chunk)
        delta = as_object(choice.get("delta"))
        given = objects_in(delta.get("tool_calls"))
        shown: list[Json] = []
        for part in given:
            shown += self._grown(part)
        finish = choice.get("finish_reason")
        if finish:
            for call in self._calls:
                if call.held and call.name not in self.names:
                    shown += self._released(call)
        dropped = bool(self._ours()) and not self.client_calls and not self.calls
        ending = _without_calls(finish) if dropped else finish
        if shown == given and ending == finish:
            return chunk
        changed = {name: value for name, value in delta.items() if name != "tool_calls"}
        if shown:
            changed["tool_calls"] = shown
        if _says_nothing(chunk, changed):
            return None
        return _with_choice(chunk, {**choice, "delta": changed, "finish_reason": ending})

    def _grown(self, part: Json) -> list[Json]:
        """A part of a call: what the client may see now. Held back as long as the name may become one of ours."""
        call = self._call_of(part)
        asked = as_object(part.get("function"))
        named = as_text(asked.get("name"))
        call.name += named
        call.arguments += as_text(asked.get("arguments"))
        call.more.update({name: value for name, value in part.items() if name not in _PARTS})
        if call.shown_as is not None:
            return [_numbered(part, call.shown_as)]
        call.held.append(part)
        unsure = named or not call.name  # a name is whole when something else comes
        may_be = any(name.startswith(call.name) for name in self.names) if unsure else call.name in self.names
        return [] if may_be and "custom" not in part else self._released(call)

    def _call_of(self, part: Json) -> _GrowingCall:
        """The call that a part belongs to. Some upstreams number every call as the first, some none."""
        given, number = as_text(part.get("id")), part.get("index")
        index = number if isinstance(number, int) else -1
        call = self._call_at.get(index)
        if call is None or (given and call.id and given != call.id):
            call = self._call_at[index] = _GrowingCall()
            self._calls.append(call)
        call.id = call.id or given
        return call

    def _released(self, call: _GrowingCall) -> list[Json]:
        call.shown_as = sum(1 for other in self._calls if other.shown_as is not None)
        released = [_numbered(part, call.shown_as) for part in call.held]
        call.held = []
        return released

    def _of_later_round(self, chunk: Json) -> Json | None:
        """A chunk of a later round as one of the same answer; None where it only says what was said."""
        choice = _choice(chunk)
        delta = dict(as_object(choice.get("delta")))
        if self._role_told:
            delta.pop("role", None)
        own = "".join(self._content)
        if self._said_before and own and own == delta.get("content"):
            delta["content"] = BETWEEN + own
        if _says_nothing(chunk, delta):
            return None
        shown = {**chunk, **self._first}
        if choice:
            shown = _with_choice(shown, {**choice, "delta": delta})
        if shown.get("usage"):
            shown["usage"] = self.usage
        return shown

    def _with_note(self, chunk: Json, *, first: bool = False) -> Json:
        """Told with the first chunk, and with the last if something was saved since."""
        due = first or (self.note.saved and _choice(chunk).get("finish_reason"))
        return self._noted(chunk) if due else chunk


def _split_end(chunk: Json) -> tuple[Json, Json | None]:
    """What says that the answer is over, and what it used, waits until our tools have run; the rest does not."""
    choice = _choice(chunk)
    if not choice.get("finish_reason") or not any(as_object(choice.get("delta")).values()):
        return chunk, None
    now = {name: value for name, value in chunk.items() if name != "usage"}
    return _with_choice(chunk, {**choice, "delta": {}}), _with_choice(now, {**choice, "finish_reason": None})


def _says_nothing(chunk: Json, delta: Json) -> bool:
    return not any(delta.values()) and not _choice(chunk).get("finish_reason") and not chunk.get("usage")


def _numbered(part: Json, number: int) -> Json:
    return part if part.get("index") == number else {**part, "index": number}


def _without_calls(finish: Any) -> Any:
    return "stop" if finish == "tool_calls" else finish


def _choice(answer: Json) -> Json:
    """The first: where there may be more, no tools of ours are offered."""
    first = [choice for choice in objects_in(answer.get("choices")) if choice.get("index", 0) == 0]
    return first[0] if first else {}


def _with_choice(chunk: Json, changed: Json) -> Json:
    choices = [changed if as_object(choice).get("index", 0) == 0 else choice for choice in chunk["choices"]]
    return {**chunk, "choices": choices}


def _with_context(content: Any, context: str) -> Any:
    if isinstance(content, list):
        return [*as_list(content), {"type": "text", "text": context}]
    return f"{content}{BETWEEN}{context}" if content else context


def _call(answered: AnsweredCall) -> Json:
    asked = {"name": answered.name, "arguments": answered.arguments}
    return {"id": answered.id, "type": "function", "function": asked}


def _result(answered: AnsweredCall) -> Json:
    return {"role": "tool", "tool_call_id": answered.id, "content": answered.result}


def _event(chunk: Json) -> bytes:
    return b"data: " + dumped(chunk) + b"\n\n"
