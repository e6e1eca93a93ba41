"""Work on long texts in processes of its own: few of them, started when needed, ended when idle.

Python that counts and compares holds the interpreter, in a thread too, and everybody else waits. Here a piece of work
has as much of a processor as `_CPU_SECONDS` allows and is then ended with its process; who asked is told. What is given
and what comes back is pickled, so work is a function of a module that imports little: no database, no model. Short
texts are quicker done where they are.
"""

import asyncio
import os
import pickle
import resource
import signal
import struct
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, ParamSpec, TypeVar, cast

from keepstone.errors import Malformed, Unavailable

SHORT = 20_000  # characters that are read in a few milliseconds
LONG = 100_000  # what is shorter is done in a thread, sooner than a process would have started
_CPU_SECONDS = 30
_MOST_MEMORY = 1 << 30
_IDLE_SECONDS = 20
_STEP_BACK = 5  # niceness
_PART = 64  # of a list that comes back: unpickled at once, it would hold the interpreter again
_LENGTH = struct.Struct(">Q")
# What a child needs to start, and nothing of ours.
_PASSED = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LANG")

_COSTLY = "Reading this text takes more time or memory than a text may: send it in smaller pieces."
_BUSY = "The server is reading too many long texts: try again in a minute."

P = ParamSpec("P")
Made = TypeVar("Made")


class CantBeSent(Exception):
    """The work, or something that it is given, is known in this process alone."""


class Offload:
    """`at_once` processes; whoever comes then waits, and not for ever."""

    def __init__(self, *, at_once: int = 2, cpu_seconds: float = _CPU_SECONDS, patience: float = 60) -> None:
        self._slots = asyncio.Semaphore(at_once)
        self._cpu_seconds = cpu_seconds
        self._patience = patience
        self._idle: list[Process] = []
        self._ending: asyncio.TimerHandle | None = None

    async def run(self, size: int, work: Callable[P, Made], *args: P.args, **options: P.kwargs) -> Made:
        """What `work` makes of its arguments, of so many characters in all. What can't be sent is done in a thread."""
        if size <= SHORT:
            return work(*args, **options)
        if size <= LONG:
            return await asyncio.to_thread(work, *args, **options)
        try:
            given = pickle.dumps((self._cpu_seconds, work, args, options), protocol=5)
            return await self._elsewhere(given)
        except (pickle.PicklingError, AttributeError, TypeError, CantBeSent):
            return await asyncio.to_thread(work, *args, **options)

    async def close(self) -> None:
        if self._ending is not None:
            self._ending.cancel()
        while self._idle:
            await _end(self._idle.pop())

    async def _elsewhere(self, given: bytes) -> Any:
        try:
            async with asyncio.timeout(self._patience):
                await self._slots.acquire()
        except TimeoutError:
            raise Unavailable(_BUSY, retry_after=60) from None
        try:
            child = self._idle.pop() if self._idle else await _started()
            try:
                # A processor that is shared with others gives its seconds slowly.
                async with asyncio.timeout(10 * self._cpu_seconds):
                    kind, value = await _exchange(child, given)
            except BaseException as fault:
                if isinstance(fault, EOFError):  # it has ended, or is about to: by which signal, it says itself
                    with suppress(TimeoutError):
                        await asyncio.wait_for(child.wait(), 1)
                await _end(child)
                if isinstance(fault, TimeoutError) or child.returncode == -signal.SIGPROF:
                    raise Malformed(_COSTLY) from None
                if isinstance(fault, OSError | EOFError):
                    raise Unavailable("A process of the server has ended: try again.", retry_after=1) from None
                raise
            self._idle.append(child)
            self._end_idle_later()
        finally:
            self._slots.release()
        if kind == "made":
            return value
        if kind == "unknown":
            raise CantBeSent
        raise Malformed(_COSTLY) if isinstance(value, MemoryError) else value

    def _end_idle_later(self) -> None:
        def end() -> None:
            for child in self._idle:
                cast("asyncio.StreamWriter", child.stdin).close()
            self._idle.clear()

        if self._ending is not None:
            self._ending.cancel()
        self._ending = asyncio.get_running_loop().call_later(_IDLE_SECONDS, end)


async def _started() -> Process:
    starting = asyncio.create_task(
        asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "keepstone.offload", stdin=PIPE, stdout=PIPE, stderr=DEVNULL,
            env={name: os.environ[name] for name in _PASSED if name in os.environ},
        )
    )  # fmt: skip
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError):  # half started it could not be ended
            await _end(await starting)
        raise


async def _exchange(child: Process, given: bytes) -> tuple[str, Any]:
    into, out = cast("asyncio.StreamWriter", child.stdin), cast("asyncio.StreamReader", child.stdout)
    into.write(_LENGTH.pack(len(given)))
    into.write(given)
    await into.drain()
    parts: list[Any] = []
    while True:
        (length,) = _LENGTH.unpack(await out.readexactly(_LENGTH.size))
        kind, value = pickle.loads(await out.readexactly(length))  # noqa: S301  our own process
        if kind != "part":
            return kind, parts if value is ... else value
        parts += value
        await asyncio.sleep(0)  # between two parts others have their turn


async def _end(child: Process) -> None:
    with suppress(ProcessLookupError):
        child.kill()
    out = cast("asyncio.StreamReader", child.stdout)
    while await out.read(1 << 16):
        pass  # a pipe that nobody empties is never closed, and then nobody is told that the process ended
    await child.wait()


# --- the child --------------------------------------------------------------------------------------------------------


def main() -> None:
    """Works until its input ends, which it does when the server does, however that dies."""
    os.nice(_STEP_BACK)
    resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's business
    given, made = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with suppress(BrokenPipeError):
        while head := given.read(_LENGTH.size):
            for kind, value in _answer(given.read(*_LENGTH.unpack(head))):
                _say(made, kind, value)


def _answer(given: bytes) -> list[tuple[str, Any]]:
    try:
        seconds, work, args, options = pickle.loads(given)  # noqa: S301  from the process that started this one
    except Exception as fault:
        return [("unknown", type(fault).__name__)]
    # Not by a handler, which would wait for the very call that takes too long: the signal ends the process.
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        made = work(*args, **options)
    except Exception as fault:
        return [("fault", fault)]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if not isinstance(made, list):
        return [("made", made)]
    items = cast("list[Any]", made)
    return [*(("part", items[at : at + _PART]) for at in range(0, len(items), _PART)), ("made", ...)]


def _say(made: IO[bytes], kind: str, value: object) -> None:
    data = pickle.dumps((kind, value), protocol=5)
    made.write(_LENGTH.pack(len(data)) + data)
    made.flush()


if __name__ == "__main__":
    main()
