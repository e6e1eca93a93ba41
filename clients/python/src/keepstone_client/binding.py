"""One definition of every operation, for both clients.

A resource's method only makes a `Request[T]`. The decorator turns it into what the client at hand needs: with
`Keepstone` a call that returns `T`, with `AsyncKeepstone` one that returns an awaitable of `T`. Type checkers see the
same, with all parameters, because the decorators are descriptors whose `__get__` is overloaded by the kind of the
client.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator, Iterator
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, cast, overload

from keepstone_client.core import Page, Request, after
from keepstone_client.streams import Streamed

P = ParamSpec("P")
T = TypeVar("T")
E = TypeVar("E")
L = TypeVar("L")


class Sync(ABC):
    """A client that waits."""

    @abstractmethod
    def run(self, request: Request[T]) -> T: ...

    @abstractmethod
    def events(self, streamed: Streamed[E, Any]) -> Generator[E]: ...

    @abstractmethod
    def pieces(self, request: Request[None]) -> Generator[bytes]: ...


class Async(ABC):
    """A client that is awaited."""

    @abstractmethod
    async def run(self, request: Request[T]) -> T: ...

    @abstractmethod
    def events(self, streamed: Streamed[E, Any]) -> AsyncGenerator[E]: ...

    @abstractmethod
    def pieces(self, request: Request[None]) -> AsyncGenerator[bytes]: ...


D = TypeVar("D", bound=Sync | Async)


class Resource(Generic[D]):
    def __init__(self, driver: D) -> None:
        self._driver: D = driver


class operation(Generic[P, T]):
    """A call with one answer."""

    def __init__(self, build: Callable[Concatenate[Any, P], Request[T]]) -> None:
        self.build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(self, instance: Resource[Sync], owner: type[Any]) -> Callable[P, T]: ...
    @overload
    def __get__(self, instance: Resource[Async], owner: type[Any]) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, instance: Any, owner: type[Any]) -> Any:
        if instance is None:
            return self
        # For both: what `run` of an async client returns is awaited by whoever called.
        return _bound(self.build, instance, cast("Sync | Async", instance._driver).run)


class paged(Generic[P, T]):
    """A list that is as long as it is; the pages are fetched while it is gone through."""

    def __init__(self, build: Callable[Concatenate[Any, P], Request[Page[T]]]) -> None:
        self.build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(self, instance: Resource[Sync], owner: type[Any]) -> Callable[P, "Pages[T]"]: ...
    @overload
    def __get__(self, instance: Resource[Async], owner: type[Any]) -> Callable[P, "AsyncPages[T]"]: ...
    def __get__(self, instance: Any, owner: type[Any]) -> Any:
        if instance is None:
            return self
        driver: Sync | Async = instance._driver
        kind = Pages[T] if isinstance(driver, Sync) else AsyncPages[T]
        return _bound(self.build, instance, lambda request: kind(cast("Any", driver), request))


class streamed(Generic[P, E, L]):
    """A call that is answered by events, one after the other."""

    def __init__(self, build: Callable[Concatenate[Any, P], Streamed[E, L]]) -> None:
        self.build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(self, instance: Resource[Sync], owner: type[Any]) -> Callable[P, "Stream[E, L]"]: ...
    @overload
    def __get__(self, instance: Resource[Async], owner: type[Any]) -> Callable[P, "AsyncStream[E, L]"]: ...
    def __get__(self, instance: Any, owner: type[Any]) -> Any:
        if instance is None:
            return self
        driver: Sync | Async = instance._driver
        kind = Stream[E, L] if isinstance(driver, Sync) else AsyncStream[E, L]
        return _bound(self.build, instance, lambda request: kind(cast("Any", driver), request))


class downloaded(Generic[P]):
    """A call that is answered by a file, piece by piece."""

    def __init__(self, build: Callable[Concatenate[Any, P], Request[None]]) -> None:
        self.build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(self, instance: Resource[Sync], owner: type[Any]) -> Callable[P, Generator[bytes]]: ...
    @overload
    def __get__(self, instance: Resource[Async], owner: type[Any]) -> Callable[P, AsyncGenerator[bytes]]: ...
    def __get__(self, instance: Any, owner: type[Any]) -> Any:
        if instance is None:
            return self
        return _bound(self.build, instance, cast("Sync | Async", instance._driver).pieces)


def _bound(build: Callable[..., Any], instance: Any, drive: Callable[[Any], Any]) -> Callable[..., Any]:
    @wraps(build)
    def call(*positional: Any, **named: Any) -> Any:
        return drive(build(instance, *positional, **named))

    return call


class Pages(Generic[T]):
    """All items of a list, or page by page. Nothing is asked for before it is gone through."""

    def __init__(self, driver: Sync, request: Request[Page[T]]) -> None:
        self._driver = driver
        self._request = request

    def first(self) -> Page[T]:
        """The first page alone."""
        return self._driver.run(self._request)

    def pages(self) -> Iterator[Page[T]]:
        request: Request[Page[T]] | None = self._request
        while request is not None:
            page = self._driver.run(request)
            yield page
            request = after(request, page)

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            yield from page.items


class AsyncPages(Generic[T]):
    """As `Pages`, with `async for`."""

    def __init__(self, driver: Async, request: Request[Page[T]]) -> None:
        self._driver = driver
        self._request = request

    async def first(self) -> Page[T]:
        return await self._driver.run(self._request)

    async def pages(self) -> AsyncIterator[Page[T]]:
        request: Request[Page[T]] | None = self._request
        while request is not None:
            page = await self._driver.run(request)
            yield page
            request = after(request, page)

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for item in page.items:
                yield item


class Stream(Generic[E, L]):
    """The events of an answer. The call is made when the first is asked for; leaving `with` ends it."""

    def __init__(self, driver: Sync, streamed: Streamed[E, L]) -> None:
        self._events = driver.events(streamed)
        self._last = streamed.last

    def __iter__(self) -> Iterator[E]:
        return self._events

    def done(self) -> L:
        """Go through all of it and return the event with the whole answer."""
        with self:
            for event in [one for one in self._events if isinstance(one, self._last)]:
                return event
        raise AssertionError("a stream without its last event is an error before this")

    def __next__(self) -> E:
        return next(self._events)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._events.close()


class AsyncStream(Generic[E, L]):
    """As `Stream`, with `async for` and `async with`."""

    def __init__(self, driver: Async, streamed: Streamed[E, L]) -> None:
        self._events = driver.events(streamed)
        self._last = streamed.last

    def __aiter__(self) -> AsyncIterator[E]:
        return self._events

    async def done(self) -> L:
        async with self:
            for event in [one async for one in self._events if isinstance(one, self._last)]:
                return event
        raise AssertionError("a stream without its last event is an error before this")

    async def __anext__(self) -> E:
        return await anext(self._events)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._events.aclose()
