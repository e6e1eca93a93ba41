"""Whose the responses are that a provider keeps."""

from dataclasses import dataclass

from keepstone.store.db import Connection, insert_new_row, select_row


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderResponse:
    """`user_id` is who asked, None the account itself; `provider` is where that was set."""

    id: str
    user_id: str | None
    credential_id: str | None
    provider: str


async def insert(conn: Connection, response: ProviderResponse) -> None:
    """The first who has an id keeps it."""
    await insert_new_row(
        conn,
        "provider_responses",
        {
            "id": response.id, "user_id": response.user_id, "credential_id": response.credential_id,
            "provider": response.provider,
        },
    )  # fmt: skip


async def get(conn: Connection, response_id: str) -> ProviderResponse | None:
    return await select_row(conn, ProviderResponse, "provider_responses", {"id": response_id})
