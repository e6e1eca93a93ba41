"""Anthropic's memory tool on a Keepstone store: Claude's `/memories` files, kept for good, with their history.

client.beta.messages.tool_runner(model=…, messages=…, tools=[KeepstoneMemoryTool()])
"""

from collections.abc import Sequence
from typing import Any

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import (
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from keepstone_client.adapters.files import FileError, Files
from keepstone_client.adapters.steps import Steps, T, awalk, walk
from keepstone_client.client import AsyncKeepstone, Keepstone
from keepstone_client.stores import FoundItem, Item, ItemVersion

STORE = "memories"


class KeepstoneMemoryTool(BetaAbstractMemoryTool):
    """Give each user, or each agent, a `namespace` of its own; none leads out of it. Folders are there as long as
    something is in them. `history`, `restore` and `search` are for you, not for the model.
    """

    def __init__(
        self, client: Keepstone | None = None, *, store: str = STORE, namespace: Sequence[str] = (), **options: Any
    ) -> None:
        super().__init__(**options)
        self._client = client or Keepstone()
        self._files = Files(store, namespace)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return self._do(self._files.view(command.path, command.view_range))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return self._do(self._files.create(command.path, command.file_text))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return self._do(self._files.str_replace(command.path, command.old_str, command.new_str))

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        return self._do(self._files.insert(command.path, command.insert_line, command.insert_text))

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return self._do(self._files.delete(command.path))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return self._do(self._files.rename(command.old_path, command.new_path))

    def clear_all_memory(self) -> str:
        return self._do(self._files.clear())

    def history(self, path: str) -> tuple[ItemVersion, ...]:
        """Every version of a file, the latest first; also of one that was deleted."""
        return self._do(self._files.history(path))

    def restore(self, path: str, *, version: int | None = None) -> Item:
        """A file that was deleted, or what it was in an earlier version."""
        return self._do(self._files.restore(path, version))

    def search(self, query: str, *, limit: int = 10) -> tuple[tuple[str, FoundItem], ...]:
        """Files that speak of it, the best first, by their paths."""
        return self._do(self._files.search(query, limit))

    def _do(self, steps: Steps[T]) -> T:
        try:
            return walk(self._client, steps)
        except FileError as fault:
            raise ToolError(str(fault)) from fault


class AsyncKeepstoneMemoryTool(BetaAsyncAbstractMemoryTool):
    """As `KeepstoneMemoryTool`, for `AsyncAnthropic`."""

    def __init__(
        self, client: AsyncKeepstone | None = None, *, store: str = STORE, namespace: Sequence[str] = (), **options: Any
    ) -> None:
        super().__init__(**options)
        self._client = client or AsyncKeepstone()
        self._files = Files(store, namespace)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return await self._do(self._files.view(command.path, command.view_range))

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return await self._do(self._files.create(command.path, command.file_text))

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return await self._do(self._files.str_replace(command.path, command.old_str, command.new_str))

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        return await self._do(self._files.insert(command.path, command.insert_line, command.insert_text))

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return await self._do(self._files.delete(command.path))

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return await self._do(self._files.rename(command.old_path, command.new_path))

    async def clear_all_memory(self) -> str:
        return await self._do(self._files.clear())

    async def history(self, path: str) -> tuple[ItemVersion, ...]:
        return await self._do(self._files.history(path))

    async def restore(self, path: str, *, version: int | None = None) -> Item:
        return await self._do(self._files.restore(path, version))

    async def search(self, query: str, *, limit: int = 10) -> tuple[tuple[str, FoundItem], ...]:
        return await self._do(self._files.search(query, limit))

    async def _do(self, steps: Steps[T]) -> T:
        try:
            return await awalk(self._client, steps)
        except FileError as fault:
            raise ToolError(str(fault)) from fault
