"""What a call is, without any input or output: the request, its answer, its errors, and when to try again.

Both clients drive this; whoever writes another one needs nothing else. A `Request[T]` says how its answer becomes a
`T`. `Attempts` is asked after each answer or fault whether to go on, and after how many seconds.
"""

import ipaddress
import json
import os
import random
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from typing import IO, Any, Generic, Literal, TypeVar, cast
from urllib.parse import quote, urlsplit

from keepstone_client.decode import decode, decode_all
from keepstone_client.errors import (
    BY_STATUS,
    ConnectionFailed,
    KeepstoneError,
    QuotaExceeded,
    ServerFault,
    UnexpectedAnswer,
)

T = TypeVar("T")

VERSION = "0.1.0"
DEFAULT_URL = "http://127.0.0.1:8420"
# Of these a repetition changes nothing that the first did not; a POST says so itself.
_IDEMPOTENT = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS"})
_PASSING = frozenset({502, 503, 504})
# NUL, and halves of surrogate pairs.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_ESCAPED_NUL = "\\u0000"  # as JSON has it


@dataclass(frozen=True)
class Answer:
    """`headers` has lower-case names."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    def json(self) -> Any:
        try:
            return json.loads(self.content)
        except ValueError:
            raise UnexpectedAnswer(
                "unexpected_answer", "The answer is not JSON. Does base_url name a Keepstone?", self.status
            ) from None


@dataclass(frozen=True, kw_only=True)
class Upload:
    """`content` may be an open file, which is sent as it is read."""

    name: str
    content: bytes | IO[bytes]
    media_type: str | None = None


@dataclass(frozen=True, kw_only=True)
class Request(Generic[T]):
    """One call. `repeatable` is whether it may be sent again when nobody knows what became of the first."""

    method: str
    path: str
    parse: Callable[[Answer], T]
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    json: Any = None
    files: Mapping[str, Upload] = field(default_factory=dict[str, Upload])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    repeatable: bool | None = None
    allowed: frozenset[int] = frozenset()  # statuses that are an answer here, though they are errors elsewhere
    timeout: float | None = None

    @property
    def may_repeat(self) -> bool:
        return self.method in _IDEMPOTENT if self.repeatable is None else self.repeatable

    @property
    def query(self) -> list[tuple[str, str]]:
        """Parameters as they travel: what is None is left out, a list is there once for each of its items."""
        return [
            (name, storable(_word(one)))
            for name, value in self.params.items()
            for one in _each(value)
            if one is not None
        ]

    @property
    def body(self) -> bytes | None:
        """The JSON of it, None if there is none."""
        return None if self.json is None else as_json(self.json)


@dataclass(frozen=True, kw_only=True)
class Page(Generic[T]):
    """Some items of a list. Iterating goes over these; `next_cursor` leads to what comes next."""

    items: tuple[T, ...]
    next_cursor: str | None = None
    has_more: bool = False
    degraded: str | None = None  # what a search had to do without

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, place: int) -> T:
        return self.items[place]


def after(request: Request[Page[T]], page: Page[T]) -> Request[Page[T]] | None:
    """What asks for the page behind this one."""
    if not page.has_more or page.next_cursor is None:
        return None
    return replace(request, params={**request.params, "cursor": page.next_cursor})


# How an answer is read. Each of these is a small object, not a closure, so that tests can ask what it makes.


@dataclass(frozen=True)
class into(Generic[T]):
    """The whole answer is one record."""

    kind: type[T]

    def __call__(self, answer: Answer) -> T:
        return decode(self.kind, answer.json())


@dataclass(frozen=True, kw_only=True)
class _Frame:
    items: tuple[Any, ...]
    next_cursor: str | None = None
    has_more: bool = False
    degraded: str | None = None


@dataclass(frozen=True)
class page_of(Generic[T]):
    kind: type[T]

    def __call__(self, answer: Answer) -> Page[T]:
        frame = decode(_Frame, answer.json())
        return Page(
            items=decode_all(self.kind, list(frame.items)),
            next_cursor=frame.next_cursor,
            has_more=frame.has_more,
            degraded=frame.degraded,
        )


@dataclass(frozen=True)
class items_of(Generic[T]):
    """A list that comes whole."""

    kind: type[T]
    name: str = "items"

    def __call__(self, answer: Answer) -> tuple[T, ...]:
        held = answer.json()
        found = cast("dict[str, Any]", held).get(self.name) if isinstance(held, dict) else None
        return decode_all(self.kind, found)


def as_json(value: Any) -> bytes:
    """As it is sent. What is in no text is replaced wherever it stands, and a warning says so: tools that read files
    let it through, and no run of an agent is to end by it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_encode)
    try:
        plain = text.encode()
    except UnicodeEncodeError:
        plain = None
    if plain is not None and _ESCAPED_NUL not in text:
        return plain
    # Read once more: two halves that stand side by side are a character.
    whole = json.loads(json.dumps(value, allow_nan=False, default=_encode))
    made = json.dumps(_storable(whole), ensure_ascii=False).encode()
    if made != json.dumps(whole, ensure_ascii=False).encode(errors="surrogatepass"):
        _warn_of_replaced()
    return made


def storable(text: str) -> str:
    """The same of one text."""
    made = _storable(text)
    if made != text:
        _warn_of_replaced()
    return made


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_storable(name): _storable(part) for name, part in cast("dict[str, Any]", value).items()}
    return [_storable(part) for part in cast("list[Any]", value)] if isinstance(value, list) else value


def _warn_of_replaced() -> None:
    warnings.warn("NUL or half a surrogate pair in a text: U+FFFD is sent in its place.", UnicodeWarning, stacklevel=4)


def nothing(_: Answer) -> None:
    return None


def as_is(answer: Answer) -> Any:
    """The JSON itself; None if there is no body."""
    return answer.json() if answer.content else None


def raw(answer: Answer) -> bytes:
    return answer.content


def text(answer: Answer) -> str:
    return answer.content.decode()


def at(part: str) -> str:
    """A piece of a path, such as an id; whatever it holds, it stays one piece."""
    if part in {"", ".", ".."}:
        raise ValueError(f"{part!r} is not an id")
    return quote(part, safe="")


# What a new memory does to older ones: supersede what it surely takes the place of, only name it, or look for nothing.
# A list of ids means these and no others.
Supersede = Literal["auto", "suggest", "off"] | Sequence[str]


def filled(**values: Any) -> dict[str, Any]:
    """A body or a query of what was given: None is left out."""
    return {name: value for name, value in values.items() if value is not None}


def failure(answer: Answer) -> KeepstoneError | None:
    """The error that an answer is, if it is one."""
    if answer.status < 400:
        if answer.status < 300:
            return None
        return UnexpectedAnswer("unexpected_answer", "The server sends elsewhere: check base_url.", answer.status)
    body, error = _error_in(answer)
    kind = BY_STATUS.get(answer.status, ServerFault if answer.status >= 500 else KeepstoneError)
    code = str(error.get("code") or f"http_{answer.status}")
    # Two things answer 429: one passes by itself, the other does not.
    if answer.status == 429 and code.lower() == "quota_exceeded":
        kind = QuotaExceeded
    return kind(
        code,
        str(error.get("message") or f"The server answers {answer.status}."),
        answer.status,
        str(body.get("request_id") or answer.headers.get("x-request-id") or "") or None,
        error.get("details"),
        error.get("upgrade_url"),
        retry_after(answer.headers),
    )


def broken_off(reason: str) -> ConnectionFailed:
    return ConnectionFailed("connection_failed", reason)


def _error_in(answer: Answer) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        body = _object(json.loads(answer.content))
    except ValueError:
        return {}, {}
    return body, _object(body.get("error"))


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds, whether the header has a number or a date."""
    told = headers.get("retry-after", "").strip()
    if told.isascii() and told.isdigit():
        return float(told)
    try:
        then = parsedate_to_datetime(told)
    except ValueError:
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max(0.0, (then - (now or datetime.now(UTC))).total_seconds())


@dataclass(frozen=True, kw_only=True)
class Retries:
    """How often a call is sent again, and how long is waited before: `base`, twice that, … but at most `cap` seconds,
    of which a random half is left out, so that clients that failed together don't come back together. What the
    server asks for in Retry-After comes on top; above `patience` the error is raised at once."""

    most: int = 2
    base: float = 0.5
    cap: float = 8.0
    patience: float = 60.0


class Attempts:
    """What has become of one request so far. Both methods give the seconds to wait, or None: it is over."""

    def __init__(self, request: Request[Any], retries: Retries, chance: Callable[[], float] = random.random) -> None:
        self._request = request
        self._retries = retries
        self._chance = chance
        self._repeated = 0
        self._lost = False  # one was sent and its answer never came

    def after_answer(self, answer: Answer) -> float | None:
        # A limit of requests is looked at before anything else is done, so nothing of it has happened.
        refused = answer.status == 429 and not isinstance(failure(answer), QuotaExceeded)
        passing = answer.status in _PASSING and self._request.may_repeat
        if answer.status in self._request.allowed or not (refused or passing):
            return None
        told = retry_after(answer.headers) or 0.0
        return self._next(told) if told <= self._retries.patience else None

    def after_fault(self, *, sent: bool) -> float | None:
        """`sent`: the server may have got it."""
        self._lost = self._lost or sent
        return self._next(0.0) if self._request.may_repeat or not sent else None

    def check(self, answer: Answer) -> None:
        """Raise the error that the last answer is, if it is one."""
        if answer.status in self._request.allowed:
            return
        if answer.status == 404 and self._lost and self._request.method == "DELETE":
            return  # the one whose answer was lost has done it
        fault = failure(answer)
        if fault:
            raise fault

    def _next(self, told: float) -> float | None:
        if self._repeated >= self._retries.most:
            return None
        own = min(self._retries.cap, self._retries.base * (1 << self._repeated))
        self._repeated += 1
        return told + own * (1 + self._chance()) / 2


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Where calls go, and as whom."""

    base_url: str
    api_key: str | None
    on_behalf_of: str | None
    timeout: float
    retries: Retries

    @property
    def is_local(self) -> bool:
        """This machine: no proxy of the environment stands between."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return host == "localhost" or ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    def headers(self, request: Request[Any]) -> dict[str, str]:
        made = {"Accept": "application/json", "User-Agent": f"keepstone-client/{VERSION}"}
        if request.json is not None:
            made["Content-Type"] = "application/json"
        if self.api_key:
            made["Authorization"] = f"Bearer {self.api_key}"
        if self.on_behalf_of:
            made["X-Keepstone-User"] = self.on_behalf_of
        return {**made, **request.headers}


def settle(
    base_url: str | None, api_key: str | None, on_behalf_of: str | None, timeout: float, retries: int | Retries
) -> Settings:
    """What was given, else the environment's KEEPSTONE_URL and KEEPSTONE_API_KEY, else the server of this machine."""
    url = base_url or os.environ.get("KEEPSTONE_URL") or DEFAULT_URL
    if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
        raise ValueError(f"base_url is {url!r}: give an address such as {DEFAULT_URL}")
    return Settings(
        base_url=url.rstrip("/"),
        api_key=api_key or os.environ.get("KEEPSTONE_API_KEY"),
        on_behalf_of=on_behalf_of,
        timeout=timeout,
        retries=retries if isinstance(retries, Retries) else Retries(most=retries),
    )


def _each(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list | tuple) else (value,)  # pyright: ignore[reportUnknownVariableType]


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _encode(value) if isinstance(value, date) else str(value)


def _encode(value: Any) -> Any:
    """What JSON does not know: times, and what only behaves like its objects and lists."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    if isinstance(value, bytes | bytearray | memoryview):
        raise TypeError("JSON has no bytes: send them as text, decoded or in base64")
    if isinstance(value, Sequence):
        return list(cast("Sequence[Any]", value))
    raise TypeError(f"{type(value).__name__} can't be sent as JSON")
