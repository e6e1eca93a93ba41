"""Where an import goes: the few things that a delivery asks of a Keepstone, be it a server elsewhere (`server`) or the
one that the import runs in (`memory/import_target`).
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol


class Refused(Exception):
    """This it does not take; something else it may. `gone`: what was to be changed is not there."""

    def __init__(self, message: str, *, gone: bool = False) -> None:
        super().__init__(message)
        self.message, self.gone = message, gone


class Target(Protocol):
    """What no other piece would be taken after either, such as a full quota, is raised as what it is."""

    async def ingest(self, scope_id: str, turns: Sequence[dict[str, Any]]) -> int:
        """How many of them were new."""
        ...

    async def keep_capsules(self, capsules: Sequence[dict[str, Any]], projects: Mapping[str, str]) -> int:
        """How many of them were new. `projects` has the names of those that they were in."""
        ...

    async def change_capsule(self, capsule_id: str, changes: Mapping[str, Any]) -> None: ...

    async def remember(self, workspace_id: str, text: str, category: str, at: datetime | None) -> bool:
        """Whether it was new."""
        ...

    async def keep_file(self, workspace_id: str, name: str, text: str, at: datetime | None) -> None: ...

    def projects(self) -> AsyncIterator[Mapping[str, Any]]:
        """Those that one is in, each with `id` and `name`."""
        ...

    def workspaces(self) -> AsyncIterator[Mapping[str, Any]]:
        """Each with `id`, `name` and `is_default`."""
        ...

    async def make_workspace(self, name: str) -> str:
        """Its id. A name that none can have is Invalid."""
        ...


class Arrivals(Protocol):
    """What has arrived, by its id."""

    def digest(self, key: str) -> str | None: ...

    async def note(self, arrived: Iterable[tuple[str, str]]) -> None: ...
