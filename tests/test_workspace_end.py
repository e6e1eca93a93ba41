"""What ends for good: what was in the trash for thirty days, and what somebody who is erased left in shared places."""

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from capsules import audited, rows
from conftest import Person, World, make_person
from keepstone.access.readscope import account_scope
from keepstone.jobs.tasks import purge_memories
from keepstone.jobs.worker import run_until_empty
from keepstone.memory.chats import find_chat
from keepstone.relay.calls import AnsweredCall
from keepstone.relay.tools import RECALL_TOOL
from keepstone.relay.turn import ModelTurn, keep_calls
from keepstone.services import Services
from keepstone.store import summaries
from workspaces import (
    artifact,
    call,
    count_of,
    found,
    keep,
    let_in,
    listed,
    make_chat,
    make_workspace,
    remember,
    say,
    upload,
)

NOW = datetime.now(UTC)
TABLES = (
    "spaces", "members", "chats", "messages", "summaries", "memories", "memory_versions", "documents",
    "document_versions", "passages", "terms", "vectors", "distillations", "tool_calls",
)  # fmt: skip


async def everywhere(database: str, *words: str) -> list[str]:
    """The tables in which any of these still stands, the audit and the queue among them."""
    left: list[str] = []
    for table in (*TABLES, "audit", "procrastinate_jobs", "procrastinate_events"):
        text = str(await rows(database, f"SELECT to_jsonb(t)::text FROM {table} t"))
        left += [f"{table}: {word}" for word in words if word in text]
    return left


async def fill(
    client: httpx.AsyncClient, services: Services, who: Person, workspace: str, word: str, chat: str | None = None
) -> dict[str, str]:
    """Something of every kind, with this word in it; by what it is."""
    auth = who.auth
    chat = chat or await make_chat(client, auth, workspace, f"About {word}")
    message = await say(services, who, chat, f"I like {word} very much.", reply=f"{word} it is.", tools=[RECALL_TOOL])
    memory = await remember(client, auth, chat, messageId=message)
    other = await keep(client, auth, workspace, f"The {word} opens at six.")
    paper = await upload(client, auth, workspace, f"{word}.txt", f"Everything about the {word}.".encode())
    made = await artifact(client, auth, workspace, f"A plan for the {word}.", f"{word}.md")
    await call(client, auth, "PATCH", f"/workspaces/{workspace}/artifacts/{made['id']}", json={"content": f"{word} 2"})
    async with services.db.transaction(account_scope(who.principal.account)) as conn:
        _, place = await find_chat(conn, who.principal, chat)
        await summaries.insert_compaction(
            conn, place.space, f"sum_{chat[5:]}", chat, f"They spoke of {word}.", starts_at=NOW, ends_at=NOW,
            source_ids=[message],
        )  # fmt: skip
    turn = ModelTurn(workspace_id=workspace, chat_id=chat)
    call_of = AnsweredCall(id=f"own_{word}", name=RECALL_TOOL, arguments="{}", result="")
    await keep_calls(services, who.principal, turn, [f"call_{word}"], [call_of])
    return {
        "chat": chat, "message": message, "memory": memory["id"], "other": other["id"], "file": paper["id"],
        "artifact": made["id"],
    }  # fmt: skip


async def put_off(database: str, *tables: str, days: int) -> None:
    """What is in the trash has been there so much longer."""
    for table in tables:
        await rows(
            database,
            f"UPDATE {table} SET deleted_at = now() - make_interval(days => %s) WHERE deleted_at IS NOT NULL"
            " RETURNING 1",
            [days],
        )


# ------------------------------------------------------------------------------------------------------------ the trash


async def test_after_thirty_days_what_is_in_the_trash_goes_for_good_with_a_line_in_the_audit(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    auth, workspace = world.owner.auth, await make_workspace(client, world.owner.auth)
    gone = await fill(client, services, world.owner, workspace, "zeppelin")
    kept = await fill(client, services, world.owner, workspace, "lighthouse")
    paths = {
        "chat": f"/chats/{gone['chat']}",
        "memory": f"/workspaces/{workspace}/memories/{gone['memory']}",
        "other": f"/workspaces/{workspace}/memories/{gone['other']}",
        "file": f"/workspaces/{workspace}/files/{gone['file']}",
        "artifact": f"/workspaces/{workspace}/artifacts/{gone['artifact']}",
    }
    for path in paths.values():
        await call(client, auth, "DELETE", path, expect=204)
    await put_off(database, "chats", "memories", "documents", days=29)
    await purge_memories(services)
    for path in paths.values():
        await call(client, auth, "POST", f"{path}/restore")
        await call(client, auth, "DELETE", path, expect=204)
    await put_off(database, "chats", "memories", "documents", days=31)
    await rows(
        database,
        "UPDATE tool_calls SET created_at = now() - interval '2 days' RETURNING 1",
    )
    await run_until_empty(services)
    await purge_memories(services)
    await purge_memories(services)
    left = await everywhere(database, "zeppelin", gone["message"])
    assert left == [], "not in any table, not in a job's arguments"
    assert await rows(database, "SELECT 1 FROM tool_calls") == [], "calls that nobody came back for"
    for path in paths.values():
        await call(client, auth, "POST", f"{path}/restore", expect=404)
        await call(client, auth, "GET", path, expect=404)
    for action, name in (
        ("chat.purge", "chat"), ("file.purge", "file"), ("artifact.purge", "artifact"),
    ):  # fmt: skip
        (line,) = await audited(client, auth, action)
        assert (line["object_id"], line["via"], line["user_id"]) == (gone[name], "job", None)
    lines = await audited(client, auth, "memory.purge")
    assert {line["object_id"] for line in lines} == {gone["memory"], gone["other"]}
    kinds = ["memory", "document", "artifact"]
    assert set(await found(client, auth, workspace, "lighthouse", type=kinds)) == {
        kept["memory"], kept["other"], kept["file"], kept["artifact"],
    }  # fmt: skip
    assert len((await call(client, auth, "GET", f"/chats/{kept['chat']}/messages"))["items"]) == 2


async def test_a_workspace_goes_with_all_that_is_in_it(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    auth, workspace = world.owner.auth, await make_workspace(client, world.owner.auth, "zeppelin")
    await let_in(client, auth, workspace, world.member)
    gone = await fill(client, services, world.member, workspace, "zeppelin")
    kept = await make_workspace(client, auth, "lighthouse")
    await keep(client, auth, kept, "The lighthouse opens at six.")
    await call(client, auth, "DELETE", f"/chats/{gone['chat']}", expect=204)
    await call(client, auth, "DELETE", f"/workspaces/{workspace}", expect=204)
    await put_off(database, "spaces", "chats", days=29)
    await purge_memories(services)
    await call(client, auth, "POST", f"/workspaces/{workspace}/restore")
    await call(client, auth, "DELETE", f"/workspaces/{workspace}", expect=204)
    await put_off(database, "spaces", "chats", days=31)
    await run_until_empty(services)
    await purge_memories(services)
    assert await everywhere(database, "zeppelin", gone["message"]) == []
    assert [line["object_id"] for line in await audited(client, auth, "workspace.purge")] == [workspace]
    await call(client, auth, "POST", f"/workspaces/{workspace}/restore", expect=404)
    assert (await call(client, auth, "GET", "/workspaces?deleted=true"))["items"] == []
    assert await count_of(client, auth, kept) == 1


# --------------------------------------------------------------------------------------------------- somebody is erased


async def erase(client: httpx.AsyncClient, services: Services, world: World, who: Person) -> None:
    assert (await client.delete(f"/v1/users/{who.user.id}", headers=world.owner.auth)).status_code == 204
    await run_until_empty(services)


async def test_of_an_erased_user_nothing_is_left_in_what_they_shared_and_others_keep_theirs(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    auth, workspace = world.owner.auth, await make_workspace(client, world.owner.auth)
    await let_in(client, auth, workspace, world.member)
    mine = await fill(client, services, world.owner, workspace, "lighthouse")
    theirs = await fill(client, services, world.member, workspace, "zeppelin")
    # What they said in somebody else's chat, and what stands for its beginning.
    together = await make_chat(client, auth, workspace)
    await say(services, world.owner, together, "What do you like?")
    guest = await fill(client, services, world.member, workspace, "kayak", chat=together)
    await say(services, world.owner, together, "So do I.")
    deleted = await keep(client, world.member.auth, workspace, "The submarine opens at six.")
    await call(client, world.member.auth, "DELETE", f"/workspaces/{workspace}/memories/{deleted['id']}", expect=204)
    await rows(database, "DELETE FROM tool_calls RETURNING 1")  # those have nobody's name, and go after a day
    await run_until_empty(services)
    before = await count_of(client, auth, workspace)

    await erase(client, services, world, world.member)
    left = [
        one
        for one in await everywhere(
            database, "zeppelin", "submarine", "kayak opens", "like kayak", "spoke of kayak", theirs["message"]
        )
        if "kayak" not in one or not one.startswith("messages")
    ]
    assert left == []
    assert [one for one in await everywhere(database, world.member.user.id) if not one.startswith("audit")] == []
    for path in (f"/chats/{theirs['chat']}", f"/workspaces/{workspace}/memories/{theirs['memory']}"):
        await call(client, auth, "GET", path, expect=404)
    assert await found(client, auth, workspace, "zeppelin submarine kayak") == []
    kinds = ["memory", "document", "artifact"]
    assert set(await found(client, auth, workspace, "lighthouse", type=kinds)) == {
        mine["memory"], mine["other"], mine["file"], mine["artifact"],
    }  # fmt: skip
    said = (await call(client, auth, "GET", f"/chats/{together}/messages"))["items"]
    assert [one["content"] for one in said if one["role"] == "user"] == ["What do you like?", "So do I."]
    assert guest["message"] not in [one["id"] for one in said]
    assert await count_of(client, auth, workspace) == len(await listed(client, auth, workspace)) < before
    ((size, wanted),) = await rows(
        database,
        "SELECT s.size_bytes, (SELECT sum(octet_length(content)) FROM memories m"
        "                      WHERE m.account = s.account AND m.space = s.space)"
        " FROM spaces s WHERE name = %s AND kind = 'workspace'",
        [workspace],
    )
    assert size == wanted
    members = (await call(client, auth, "GET", f"/workspaces/{workspace}/members"))["items"]
    assert [one["user_id"] for one in members] == [world.owner.user.id]


async def test_places_in_which_nobody_else_is_go_with_them(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    alone = await make_workspace(client, world.member.auth, "zeppelin")
    trashed = await make_workspace(client, world.member.auth, "zeppelin of old")
    await fill(client, services, world.member, alone, "zeppelin")
    chat = await make_chat(client, world.member.auth)  # in the default one
    await say(services, world.member, chat, "A zeppelin of my own")
    await call(client, world.member.auth, "DELETE", f"/workspaces/{trashed}", expect=204)
    await erase(client, services, world, world.member)
    assert await everywhere(database, "zeppelin") == []
    assert await rows(database, "SELECT 1 FROM spaces WHERE kind IN ('workspace', 'library')") == []


@pytest.mark.parametrize(
    ("roles", "heir"),
    [(["viewer", "member", "editor"], 2), (["viewer", "member", "member"], 1), (["viewer", "viewer"], 0)],
)
async def test_where_they_were_the_only_owner_somebody_takes_over(
    client: httpx.AsyncClient, services: Services, world: World, roles: list[Any], heir: int
) -> None:
    workspace = await make_workspace(client, world.member.auth)
    kept = await keep(client, world.member.auth, workspace, "Of the one who left")
    people = [
        await make_person(services, f"p{number}@example.org", account=world.owner.user.account)
        for number in range(len(roles))
    ]
    for person, role in zip(people, roles, strict=True):
        await let_in(client, world.member.auth, workspace, person, role)
    await erase(client, services, world, world.member)
    members = (await call(client, people[heir].auth, "GET", f"/workspaces/{workspace}/members"))["items"]
    wanted = [role if number != heir else "owner" for number, role in enumerate(roles)]
    assert [one["role"] for one in members] == wanted
    assert kept["id"] not in await listed(client, people[heir].auth, workspace)
    await call(client, people[heir].auth, "PATCH", f"/workspaces/{workspace}", json={"name": "Ours now"})


async def test_where_there_is_another_owner_nobody_is_raised(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    workspace = await make_workspace(client, world.member.auth)
    third = await make_person(services, "third@example.org", account=world.owner.user.account)
    await let_in(client, world.member.auth, workspace, third, "editor")
    await let_in(client, world.member.auth, workspace, world.owner, "owner")
    await erase(client, services, world, world.member)
    members = (await call(client, third.auth, "GET", f"/workspaces/{workspace}/members"))["items"]
    assert [(one["user_id"], one["role"]) for one in members] == [
        (third.user.id, "editor"), (world.owner.user.id, "owner"),
    ]  # fmt: skip


async def test_erase_traces_touches_nobody_who_is_not_being_erased(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    """The function runs past row-level security, so it has to be sure by itself."""
    workspace = await make_workspace(client, world.member.auth)
    await fill(client, services, world.member, workspace, "zeppelin")
    before = await everywhere(database, "zeppelin")
    for account, user in (
        (world.owner.user.account, world.member.user.id),  # alive
        (world.stranger.user.account, world.member.user.id),  # of another account
        (world.owner.user.account, "usr_nobody"),
    ):
        async with services.db.transaction(account_scope(account)) as conn:
            await conn.execute("SELECT erase_traces(%s)", [user])
    assert await everywhere(database, "zeppelin") == before
