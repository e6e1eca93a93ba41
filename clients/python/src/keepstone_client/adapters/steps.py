"""What an adapter does, written once for both clients: a generator that yields requests and is sent their answers."""

from collections.abc import Generator
from typing import Any, TypeVar

from keepstone_client.client import AsyncKeepstone, Keepstone
from keepstone_client.core import Request
from keepstone_client.errors import KeepstoneError

T = TypeVar("T")
Steps = Generator[Request[Any], Any, T]


def walk(client: Keepstone, steps: Steps[T]) -> T:
    """Do them. An error of the server is raised where its request was yielded."""
    try:
        request = next(steps)
        while True:
            try:
                answer = client.run(request)
            except KeepstoneError as fault:
                request = steps.throw(fault)
            else:
                request = steps.send(answer)
    except StopIteration as done:
        return done.value


async def awalk(client: AsyncKeepstone, steps: Steps[T]) -> T:
    try:
        request = next(steps)
        while True:
            try:
                answer = await client.run(request)
            except KeepstoneError as fault:
                request = steps.throw(fault)
            else:
                request = steps.send(answer)
    except StopIteration as done:
        return done.value
