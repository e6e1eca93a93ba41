"""Anthropic's tests of the memory tool: our tool where they make theirs, and what is kept where they look at files."""

from typing import Any

import pytest
from anthropic.lib.tools import _beta_builtin_memory_tool as builtin  # pyright: ignore[reportPrivateUsage]

from bench.suites.plugin import named
from keepstone_client import AsyncKeepstone, Keepstone
from keepstone_client.adapters.anthropic import AsyncKeepstoneMemoryTool, KeepstoneMemoryTool


class Tool(KeepstoneMemoryTool):
    def __init__(self, base_path: str) -> None:
        super().__init__(Keepstone(), namespace=(named(base_path),))
        self.base_path = base_path


class AsyncTool(AsyncKeepstoneMemoryTool):
    def __init__(self, base_path: str) -> None:
        super().__init__(AsyncKeepstone(), namespace=(named(base_path),))
        self.base_path = base_path


builtin.BetaLocalFilesystemMemoryTool = Tool  # type: ignore[misc]
builtin.BetaAsyncLocalFilesystemMemoryTool = AsyncTool  # type: ignore[misc]


def _snapshot(base_path: str) -> dict[str, str]:
    with Keepstone() as keepstone:
        found = keepstone.stores.search("memories", (named(base_path),), limit=1000)
    return {"/".join(("memories", *one.namespace[1:], one.key)): one.value["text"] for one in found}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        module: Any = getattr(item.getparent(pytest.Module), "obj", None)
        module.get_directory_snapshot = _snapshot
