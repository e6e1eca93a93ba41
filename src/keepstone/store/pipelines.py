"""psycopg's connection, but that it never waits for an answer to what it has not sent.

Where a pipeline is synchronised in the middle (another begins within it, or a transaction does), psycopg flushes once
and then only reads. Of a statement larger than the socket's buffer a part may still be here then: the server waits for
it, we wait for the server, and nobody ever stops.
"""

from collections.abc import Generator
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.waiting import Ready, Wait

Result = TypeVar("Result")


class SendingConnection(psycopg.AsyncConnection[Any]):
    async def wait(self, gen: PQGen[Result], *args: Any, **options: Any) -> Result:
        return await super().wait(self._sending(gen) if self.pgconn.pipeline_status else gen, *args, **options)

    def _sending(self, steps: PQGen[Result]) -> Generator[Wait, Ready | int, Result]:
        try:
            wanted = next(steps)
            while True:
                unsent = wanted == Wait.R and self.pgconn.flush()
                wanted = steps.send((yield Wait.RW if unsent else wanted))
        except StopIteration as ended:
            return ended.value
