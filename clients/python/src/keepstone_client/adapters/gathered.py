"""What is asked for one by one and at the same time, done together: a thousand calls become a few requests."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

A = TypeVar("A")
B = TypeVar("B")


class Gathered(Generic[A, B]):
    """`work` does all that was asked for while it did what came before, and says for each what came of it. One work
    after the other, so that what is asked first is done first; each event loop has its own.
    """

    def __init__(self, work: Callable[[Sequence[A]], Coroutine[Any, Any, Sequence[B | BaseException]]]) -> None:
        self._work = work
        self._lines: WeakKeyDictionary[asyncio.AbstractEventLoop, _Line[A, B]] = WeakKeyDictionary()

    async def ask(self, one: A) -> B:
        loop = asyncio.get_running_loop()
        line = self._lines.setdefault(loop, _Line())
        answer: asyncio.Future[B] = loop.create_future()
        line.waiting.append((one, answer))
        if line.task is None or line.task.done():
            line.task = loop.create_task(self._serve(line))  # begins after all that is asked in this turn of the loop
        return await answer

    async def _serve(self, line: "_Line[A, B]") -> None:
        asked: list[tuple[A, asyncio.Future[B]]] = []
        try:
            while line.waiting:
                asked, line.waiting = line.waiting, []
                asked = [(one, answer) for one, answer in asked if not answer.done()]  # who asked may have gone
                [done] = await asyncio.gather(self._work([one for one, _ in asked]), return_exceptions=True)
                results = [done] * len(asked) if isinstance(done, BaseException) else done
                for (_, answer), result in zip(asked, results, strict=True):
                    if answer.done():
                        continue
                    if isinstance(result, BaseException):
                        answer.set_exception(result)
                    else:
                        answer.set_result(result)
        finally:
            for _, answer in [*asked, *line.waiting]:
                answer.cancel()  # the loop ends; of what is done this changes nothing
            line.waiting = []


class _Line(Generic[A, B]):
    def __init__(self) -> None:
        self.waiting: list[tuple[A, asyncio.Future[B]]] = []
        self.task: asyncio.Task[None] | None = None
