"""Chat completions, as OpenAI speaks them: what a request says and how it is changed, what an answer holds and what of
it the client may see, whole or as a stream.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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

# A model that was stopped did not finish what it was about to call.
_STOPPED = frozenset({"length", "content_filter"})
_PARTS = frozenset({"index", "id", "type", "function"})
_SYSTEM = ("system", "developer")


@dataclass(slots=True)
class _Growing:
    """A call of which the parts are still coming. Held back while it may be one of ours."""

    id: str = ""
    name: str = ""
    arguments: str = ""
    more: Json = field(default_factory=dict[str, Any])  # what some upstreams want to see again
    held: list[Json] = field(default_factory=list[Json])
    shown_as: int | None = None  # its index at the client


class Chat(Exchange):
    path = "/chat/completions"

    def __init__(self, raw: bytes, body: Json, *, model: str | None = None) -> None:
        super().__init__(raw, body, model=model)
        self._own: list[Ran] = []  # of all rounds
        self._said_before: list[str] = []
        self._used_before: Json | None = None
        self._first: Json = {}  # id and time of the first round, which the whole stream has
        self._client_tools: Any = None
        self._noted = False
        self._role_told = False
        self._begin()

    def _begin(self) -> None:
        self._answer: Json | None = None
        self._answer_raw = b""
        self._content: list[str] = []
        self._extra: dict[str, str] = {}
        self._calls: list[_Growing] = []
        self._at: dict[int, _Growing] = {}
        self._finish: str | None = None
        self._used: Json | None = None
        self._held: list[Json] = []
        self._end: list[bytes] = []
        self.over = self.complete = False

    # --------------------------------------------------------------------------------------------- the request

    @property
    def asks_nothing(self) -> bool:
        return not self.body.get("messages")

    @property
    def said(self) -> str:
        users = [one for one in objects(self.body.get("messages")) if one.get("role") == "user"]
        return texts_of(users[-1].get("content")) if users else ""

    @property
    def continues(self) -> bool:
        messages = objects(self.body.get("messages"))
        return bool(messages) and messages[-1].get("role") in ("tool", "function")

    def ids(self) -> list[str]:
        return [
            a_text(call.get("id"))
            for message in objects(self.body.get("messages"))
            for call in objects(message.get("tool_calls"))
            if call.get("id")
        ]

    def splice(self, kept: Mapping[str, Sequence[Ran]]) -> None:
        messages: list[Any] = []
        for message in a_list(self.body.get("messages")):
            calls = objects(an_object(message).get("tool_calls"))
            own = {one.id: one for call in calls for one in kept.get(a_text(call.get("id")), ())}
            if own:
                message = {**message, "tool_calls": [*map(_call, own.values()), *message["tool_calls"]]}  # noqa: PLW2901
            messages += [message, *map(_result, own.values())]
        if len(messages) > len(a_list(self.body.get("messages"))):
            self._edit(messages=messages)

    def inject(self, context: str) -> bool:
        messages = a_list(self.body.get("messages"))
        if not messages:
            return False
        for place, message in enumerate(messages):
            if an_object(message).get("role") in _SYSTEM:
                changed = {**message, "content": _with_context(message.get("content"), context)}
                self._edit(messages=[*messages[:place], changed, *messages[place + 1 :]])
                return True
        self._edit(messages=[{"role": "system", "content": context}, *messages])
        return True

    def offer(self, tools: Iterable[Tool]) -> None:
        body = self.body
        client = _names(body)
        if body.get("functions") or body.get("n") not in (None, 1) or not free_to_choose(body):
            return
        ours = [tool for tool in tools if tool.name not in client]
        if ours:
            self._client_tools = body.get("tools")
            self.names = frozenset(tool.name for tool in ours)
            self._edit(tools=[*a_list(body.get("tools")), *map(_offered, ours)])

    # ------------------------------------------------------------------------------------------------ the rounds

    @property
    def calls(self) -> list[Call]:
        if self.last or self._finish in _STOPPED:
            return []
        return [Call(id=one.id, name=one.name, arguments=one.arguments) for one in self._ours()]

    @property
    def client_calls(self) -> list[str]:
        return [one.id for one in self._calls if not self._is_ours(one)]

    def go_on(self, ran: Sequence[Ran], *, last: bool) -> None:
        if self._answer is not None:
            message = an_object(_choice(self._answer).get("message"))
        else:
            message = {
                "role": "assistant",
                "content": "".join(self._content) or None,
                **self._extra,
                "tool_calls": [{**one.more, **_call(call)} for one, call in zip(self._ours(), ran, strict=True)],
            }
        self._own += ran
        self._edit(messages=[*a_list(self.body.get("messages")), message, *map(_result, ran)])
        if last:
            # Upstreams want the tools that a conversation speaks of declared; a client's own are enough.
            self._edit(**({"tools": self._client_tools} if self._client_tools else {"tool_choice": "none"}))
        self.last = last
        if self._content:
            self._said_before.append("".join(self._content))
        self._used_before = self.usage
        self.rounds += 1
        self._begin()

    def settle(self, ran: Sequence[Ran]) -> list[Kept]:
        self._own += ran
        ids = [one for one in self.client_calls if one]
        return [Kept(ids=ids, calls=self._own)] if self._own and ids else []

    @property
    def text(self) -> str:
        return BETWEEN.join([*self._said_before, *(["".join(self._content)] if self._content else [])])

    @property
    def usage(self) -> Json | None:
        return sum_of(self._used_before, self._used)

    def _is_ours(self, call: _Growing) -> bool:
        return call.name in self.names

    def _ours(self) -> list[_Growing]:
        return [call for call in self._calls if self._is_ours(call)]

    # ------------------------------------------------------------------------------------------- a whole answer

    def read(self, payload: bytes) -> None:
        self._answer_raw = payload
        self.over = self.complete = True
        answer = loaded(payload)
        if answer is None:
            return
        self._answer = answer
        self.model = a_text(answer.get("model")) or self.model
        self._used = an_object(answer.get("usage")) or None
        choice = _choice(answer)
        message = an_object(choice.get("message"))
        self._finish = a_text(choice.get("finish_reason")) or None
        if a_text(message.get("content")):
            self._content.append(message["content"])
        for call in objects(message.get("tool_calls")):
            asked = an_object(call.get("function"))
            self._calls.append(
                _Growing(a_text(call.get("id")), a_text(asked.get("name")), a_text(asked.get("arguments")))
            )

    def whole(self) -> bytes:
        note = self.note.shown()
        hidden = bool(self._ours())
        if self._answer is None or (self.rounds == 1 and note is None and not hidden):
            return self._answer_raw
        answer = dict(self._answer)
        choices = a_list(answer.get("choices"))
        if self.rounds > 1 or hidden:
            answer["choices"] = [self._visible(_choice(answer)), *choices[1:]]
        if self.rounds > 1 and self.usage is not None:
            answer["usage"] = self.usage
        if note is not None:
            answer["x_memory"] = note
        return dumped(answer)

    def _visible(self, choice: Json) -> Json:
        message = dict(an_object(choice.get("message")))
        if self.text:
            message["content"] = self.text
        theirs = [
            call
            for call in objects(message.get("tool_calls"))
            if a_text(an_object(call.get("function")).get("name")) not in self.names
        ]
        message.pop("tool_calls", None)
        if theirs:
            message["tool_calls"] = theirs
        finish = choice.get("finish_reason")
        return {**choice, "message": message, "finish_reason": finish if theirs else _without_calls(finish)}

    # ------------------------------------------------------------------------------------------------- a stream

    def feed(self, event: Event) -> list[Piece]:
        if event.data is None or self.over:
            return [Piece(raw=event.raw)]
        if event.data.strip() == DONE:
            self._end.append(event.raw)
            self.over = self.complete = True
            return []
        chunk = loaded(event.data)
        if chunk is None:
            return [Piece(raw=event.raw)]
        if chunk.get("error"):
            self.failed = self.over = True
            self.error = an_object(chunk["error"])
            return [Piece(raw=event.raw)]
        self._take(chunk)
        shown = self._filtered(chunk)
        if shown is None:
            return []
        delta = an_object(_choice(shown).get("delta"))
        self._role_told = self._role_told or "role" in delta
        return [Piece(raw=event.raw if shown is chunk else _event(shown), text=a_text(delta.get("content")))]

    def tail(self) -> list[bytes]:
        return [] if self.failed else [*(_event(self._with_note(chunk)) for chunk in self._held), *self._end]

    def fault(self, error: Mapping[str, Any]) -> bytes:
        return _event({"error": dict(error)})

    def _take(self, chunk: Json) -> None:
        self.model = a_text(chunk.get("model")) or self.model
        if not self._first:
            self._first = {name: chunk[name] for name in ("id", "created") if name in chunk}
        self._used = an_object(chunk.get("usage")) or self._used
        choice = _choice(chunk)
        delta = an_object(choice.get("delta"))
        text = a_text(delta.get("content"))
        if text:
            self._content.append(text)
        for name, value in delta.items():
            # What a model thought, by whatever name: it wants to see it again beside its calls.
            if isinstance(value, str) and name.startswith("reasoning"):
                self._extra[name] = self._extra.get(name, "") + value
        if choice.get("finish_reason"):
            self._finish = a_text(choice["finish_reason"])
            self.complete = True

    def _filtered(self, chunk: Json) -> Json | None:
        """What of a chunk the client gets: the chunk itself where nothing has to change."""
        shown = self._without_ours(chunk) if self.names else chunk
        if shown is not None and self.rounds > 1:
            shown = self._continued(shown)
        if shown is not None and self._finish is not None and self.calls:
            held, shown = _apart(shown)
            self._held.append(held)
        if shown is None:
            return None
        first, self._noted = not self._noted, True
        return self._with_note(shown, first=first)

    def _without_ours(self, chunk: Json) -> Json | None:
        """Our calls are held back, and the client's counted as if they were alone."""
        choice = _choice(chunk)
        delta = an_object(choice.get("delta"))
        given = objects(delta.get("tool_calls"))
        shown: list[Json] = []
        for part in given:
            shown += self._grown(part)
        finish = choice.get("finish_reason")
        if finish:
            for call in self._calls:
                if call.held and not self._is_ours(call):
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
        known = self._call_of(part)
        asked = an_object(part.get("function"))
        named = a_text(asked.get("name"))
        known.name += named
        known.arguments += a_text(asked.get("arguments"))
        known.more.update({name: value for name, value in part.items() if name not in _PARTS})
        if known.shown_as is not None:
            return [_numbered(part, known.shown_as)]
        known.held.append(part)
        unsure = named or not known.name  # a name is whole when something else comes
        may_be = any(name.startswith(known.name) for name in self.names) if unsure else self._is_ours(known)
        return [] if may_be and "custom" not in part else self._released(known)

    def _call_of(self, part: Json) -> _Growing:
        """The call that a part belongs to. Some upstreams number every call as the first, some none."""
        given, number = a_text(part.get("id")), part.get("index")
        index = number if isinstance(number, int) else -1
        known = self._at.get(index)
        if known is None or (given and known.id and given != known.id):
            known = self._at[index] = _Growing()
            self._calls.append(known)
        known.id = known.id or given
        return known

    def _released(self, call: _Growing) -> list[Json]:
        call.shown_as = sum(1 for one in self._calls if one.shown_as is not None)
        released = [_numbered(part, call.shown_as) for part in call.held]
        call.held = []
        return released

    def _continued(self, chunk: Json) -> Json | None:
        """A chunk of a later round as one of the same answer; None where it only says what was said."""
        choice = _choice(chunk)
        delta = dict(an_object(choice.get("delta")))
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
        note = self.note.shown()
        if note is None or not (first or (self.note.saved and _choice(chunk).get("finish_reason"))):
            return chunk
        return {**chunk, "x_memory": note}


def _apart(chunk: Json) -> tuple[Json, Json | None]:
    """What says that the answer is over, and what it used, waits until our tools have run; the rest does not."""
    choice = _choice(chunk)
    if not choice.get("finish_reason") or not any(an_object(choice.get("delta")).values()):
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
    first = [one for one in objects(answer.get("choices")) if one.get("index", 0) == 0]
    return first[0] if first else {}


def _with_choice(chunk: Json, changed: Json) -> Json:
    return {
        **chunk, "choices": [changed if an_object(one).get("index", 0) == 0 else one for one in chunk["choices"]]
    }  # fmt: skip


def _with_context(content: Any, context: str) -> Any:
    if isinstance(content, list):
        return [*a_list(content), {"type": "text", "text": context}]
    return f"{content}{BETWEEN}{context}" if content else context


def _names(body: Json) -> set[str]:
    """Of the client's tools."""
    return {
        a_text(an_object(tool.get(kind)).get("name"))
        for tool in objects(body.get("tools"))
        for kind in ("function", "custom")
    } - {""}


def _offered(tool: Tool) -> Json:
    asked = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": asked}


def _call(ran: Ran) -> Json:
    return {"id": ran.id, "type": "function", "function": {"name": ran.name, "arguments": ran.arguments}}


def _result(ran: Ran) -> Json:
    return {"role": "tool", "tool_call_id": ran.id, "content": ran.result}


def _event(chunk: Json) -> bytes:
    return b"data: " + dumped(chunk) + b"\n\n"
