"""Asking an upstream again that is busy or away for a moment: for what Keepstone asks by itself."""

import asyncio
import random

from keepstone.errors import UpstreamError
from keepstone.providers.upstream import Upstream, UpstreamAnswer

_AGAIN = frozenset({408, 409, 429})  # and whatever is the upstream's own fault
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 8.0  # seconds
_LONGEST_ASKED = 60.0  # seconds that an upstream may ask us to wait


def is_its_fault(status: int) -> bool:
    """Whether whatever else it is asked will be refused, too: it is broken or busy, does not take our key, or there is
    nothing at this address.
    """
    return status in {401, 403, 404, 429} or status >= 500


def advice(status: int) -> str:
    """What the operator may do about it."""
    if status in {401, 403}:
        return "check the key"
    if status == 404:
        return "check the address and the name of the model"
    if status == 429:
        return "too many requests, or no credit left"
    return "try again later" if status >= 500 else "check the name of the model"


async def post(upstream: Upstream, path: str, body: bytes, *, retries: int, seconds: float) -> tuple[int, bytes]:
    """Status and body of the last answer. `seconds` is what each try may take; UpstreamError when the last one had no
    answer.
    """
    for left in range(retries, -1, -1):
        wait = min(_FIRST_WAIT * 2 ** (retries - left), _LONGEST_WAIT)
        wait *= random.uniform(0.75, 1)  # noqa: S311  so that not all come back at once
        try:
            async with asyncio.timeout(seconds):
                answer = await upstream.send("POST", path, body)
                try:
                    said = await answer.read()
                finally:
                    await answer.close()
        except (UpstreamError, TimeoutError):
            if not left:
                raise UpstreamError("The upstream did not answer.", code="upstream_unreachable") from None
        else:
            if not left or not (answer.status in _AGAIN or answer.status >= 500):
                return answer.status, said
            wait = _asked_wait(answer) or wait
        await asyncio.sleep(wait)
    raise ValueError("retries are at least 0")


def _asked_wait(answer: UpstreamAnswer) -> float | None:
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(answer.headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if 0 < seconds <= _LONGEST_ASKED:
            return seconds
    return None
