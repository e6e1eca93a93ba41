"""The Agents SDK's tests of sessions: our session where they make theirs."""

from typing import Any

import agents

from bench.suites.plugin import named
from keepstone_client.adapters.openai_agents import KeepstoneSession


class Session(KeepstoneSession):
    """A file of theirs is a namespace of ours."""

    def __init__(self, session_id: str, db_path: Any = ":memory:", *_: Any, session_settings: Any = None) -> None:
        super().__init__(session_id, namespace=(named(db_path),), session_settings=session_settings)

    def close(self) -> None: ...


agents.SQLiteSession = Session  # type: ignore[misc]
