"""Our own tools that a model called beside a client's, until the client comes back."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from keepstone.store.db import Connection, insert_new_rows, select_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    client_call: str
    id: str
    position: int
    name: str
    arguments: str
    memory_id: str | None


async def insert(conn: Connection, space: int, calls: Sequence[ToolCall], user_id: str | None) -> None:
    of_turn = {"space": space, "user_id": user_id}
    await insert_new_rows(conn, "tool_calls", [{**of_turn, **asdict(call)} for call in calls])


async def beside(conn: Connection, space: int, client_calls: Sequence[str]) -> list[ToolCall]:
    where = {"space": space, "client_call": list(client_calls)}
    return await select_rows(conn, ToolCall, "tool_calls", where, order=("client_call", "position"))
