"""What a process runs on is closed again, whatever goes wrong."""

from dataclasses import replace
from typing import Any

import pytest

from keepstone.runtime import opened
from keepstone.services import Services


class Part:
    """Something that is opened and closed; it notes what is done with it."""

    def __init__(self, name: str, log: list[str], *, fails: str = "") -> None:
        self.name, self._log, self._fails = name, log, fails

    async def open(self) -> None:
        await self._do("open")

    async def close(self) -> None:
        await self._do("close")

    async def _do(self, what: str) -> None:
        self._log.append(f"{what} {self.name}")
        if self._fails == what:
            raise RuntimeError(f"{what} {self.name}")


def made_of(services: Services, log: list[str], **fails: str) -> Services:
    names = ("db", "queue", "working", "rates", "standing")
    parts: dict[str, Any] = {name: Part(name, log, fails=fails.get(name, "")) for name in names}
    return replace(services, **parts)


CLOSED = ["close standing", "close rates", "close working", "close queue", "close db"]


async def test_everything_is_closed_in_the_other_order(services: Services) -> None:
    log: list[str] = []
    async with opened(made_of(services, log)):
        assert log == ["open db", "open queue"]
    assert log[2:] == CLOSED


async def test_when_the_queue_cant_be_opened_the_pool_is_closed(services: Services) -> None:
    log: list[str] = []
    with pytest.raises(RuntimeError, match="open queue"):
        async with opened(made_of(services, log, queue="open")):
            pass
    assert log[2:] == CLOSED


@pytest.mark.parametrize("name", ["rates", "standing", "queue"])
async def test_one_that_fails_to_close_does_not_keep_the_others_open(services: Services, name: str) -> None:
    log: list[str] = []
    with pytest.raises(RuntimeError, match=f"close {name}"):
        async with opened(made_of(services, log, **{name: "close"})):
            pass
    assert log[2:] == CLOSED
