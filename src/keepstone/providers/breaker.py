"""Whether a provider is asked at all. One that fails is not asked again by everybody who waits for an answer: it is
tried in the background, less and less often, and everybody does without it until it answers.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime

from keepstone.errors import UpstreamError
from keepstone.model.provider import Outage

log = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # seconds


def growing_pause(tries: int) -> float:
    return min(_FIRST_PAUSE * 2**tries, _LONGEST_PAUSE)


class Breaker:
    """Of `what`, in a word or two. `outage` is None as long as it is asked. `try_it` asks it once and raises
    `UpstreamError` if it does not answer as it should; `changed` is called whenever an outage begins or ends.
    """

    def __init__(
        self, what: str, try_it: Callable[[], Awaitable[object]], pause: Callable[[int], float] = growing_pause
    ) -> None:
        self.outage: Outage | None = None
        self.changed: Callable[[], None] = lambda: None
        self._what = what
        self._try_it = try_it
        self._pause = pause
        self._trying: asyncio.Task[None] | None = None

    def require(self) -> None:
        """Before it is asked."""
        if self.outage is not None:
            raise UpstreamError(
                f"The {self._what} is not asked at the moment: it {self.outage.reason}. It is tried again by itself.",
                code="provider_down",
                retry_after=5,
            )

    def failed(self, reason: str) -> None:
        """It did not answer as it should; `reason` goes on from "it"."""
        if self.outage is None or self.outage.reason != reason:
            since = datetime.now(UTC) if self.outage is None else self.outage.since
            self.outage = Outage(reason=reason, since=since)
            log.warning("a provider fails and is not asked", extra={"what": self._what, "reason": reason})
            self.changed()
        self._try_soon()

    def worked(self) -> None:
        if self.outage is not None:
            self.outage = None
            log.info("a provider answers again", extra={"what": self._what})
            self.changed()

    def hear(self, outage: Outage | None) -> None:
        """What another process of the server has found out; `changed` is not called."""
        self.outage = outage
        if outage is not None:
            self._try_soon()

    def close(self) -> None:
        if self._trying is not None:
            self._trying.cancel()

    def _try_soon(self) -> None:
        if self._trying is None:
            self._trying = asyncio.get_running_loop().create_task(self._try(), name="try a provider again")

    async def _try(self) -> None:
        tries = 0
        try:
            while self.outage is not None:
                await asyncio.sleep(self._pause(tries))
                with suppress(UpstreamError):
                    await self._try_it()
                tries += 1
        finally:
            self._trying = None
