"""The audience: random accounts full of rooms, direct messages, profiles and projects, and for every reader exactly
what the rules allow. The rules are written down here a second time, from the description alone, and know nothing of
spaces.
"""

import json
import random
import string
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, LiteralString

import httpx
import psycopg
import pytest

from conftest import http, make_person
from keepstone.access.readscope import account_scope
from keepstone.app import make_app
from keepstone.errors import NotFound
from keepstone.jobs.worker import run_until_empty
from keepstone.memory import invitations, participants
from keepstone.memory.audience import Audience, dm_audience, room_audience
from keepstone.model.ids import new_id
from keepstone.model.page import PageRequest
from keepstone.model.principal import Principal
from keepstone.model.room import RoomMemory
from keepstone.services import Services
from rooms import compose, make_agent, make_room, remember, say
from workspaces import call

SLUGS: tuple[str, ...] = ("scout", "herald", "keeper", "scribe")  # the same in every account


# -------------------------------------------------------------------------------------------------------- the rules


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Something that is remembered, as the description tags it. `agent` or `user` `*` are everybody's."""

    account: int
    user: str
    agent: str
    run_id: str
    visibility: str


@dataclass(frozen=True, kw_only=True)
class InRoom:
    """An agent that answers somebody in a room."""

    account: int
    user: str
    agent: str
    room: str
    participants: frozenset[str]
    project: str | None

    def may_read(self, entry: Entry) -> bool:
        run_ids = {f"room:{self.room}", *(f"profile:{one}" for one in self.participants)}
        run_ids |= {f"project:{self.project}"} if self.project else set()
        return (
            entry.account == self.account
            and entry.agent in {self.agent, "*"}
            and entry.run_id in run_ids
            and entry.visibility in {"public", "shared"}
        )


@dataclass(frozen=True, kw_only=True)
class Alone:
    """An agent that answers somebody in direct messages."""

    account: int
    user: str
    agent: str
    project: str | None

    def may_read(self, entry: Entry) -> bool:
        run_ids = {f"dm:{self.user}:{self.agent}", f"profile:{self.user}"}
        run_ids |= {f"project:{self.project}"} if self.project else set()
        private = entry.visibility == "private" and entry.user == self.user
        return (
            entry.account == self.account
            and entry.agent in {self.agent, "*"}
            and entry.run_id in run_ids
            and (private or entry.visibility == "shared")
        )


Reader = InRoom | Alone


# -------------------------------------------------------------------------------------------- a world out of chance


@dataclass
class Account:
    number: int
    id: str
    users: list[str] = field(default_factory=list[str])
    projects: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    rooms: dict[str, tuple[set[str], set[str], str | None]] = field(
        default_factory=dict[str, tuple[set[str], set[str], str | None]]
    )
    """Participants, agents, project."""
    dms: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def of_project(self, user: str, project: str | None) -> str | None:
        """A room's project is read for whoever is in the project, too."""
        return project if project and user in self.projects[project] else None


@dataclass
class Scene:
    accounts: list[Account] = field(default_factory=list[Account])
    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])
    """Memories, by their id."""
    said: dict[str, Entry] = field(default_factory=dict[str, Entry])
    """Messages and summaries, by their id: of the place, and of no single agent's."""
    facts: dict[str, Entry] = field(default_factory=dict[str, Entry])

    def readers(self) -> Iterator[Reader]:
        for account in self.accounts:
            for room, (people, agents, project) in account.rooms.items():
                for user in sorted(people):
                    for agent in sorted(agents):
                        yield InRoom(account=account.number, user=user, agent=agent, room=room,
                                     participants=frozenset(people),
                                     project=account.of_project(user, project))  # fmt: skip
            for user in account.users:
                own = [project for project, people in account.projects.items() if user in people]
                for agent in SLUGS:
                    for project in [None, *own]:
                        yield Alone(account=account.number, user=user, agent=agent, project=project)


class Filler:
    """Writes a world past the API, with spaces and parts as the code makes them, in a few COPYs."""

    def __init__(self, conn: psycopg.Connection[Any], chosen: random.Random) -> None:
        self.conn = conn
        self.chosen = chosen
        self.scene = Scene()
        self.rows: dict[str, list[tuple[Any, ...]]] = {}

    def fill(self, *, accounts: int, people: int, places: int) -> Scene:
        for _ in range(accounts):
            self._account(people, places)
        for statement, found in self.rows.items():
            with self.conn.cursor() as cursor, cursor.copy(statement.encode()) as copy:
                for row in found:
                    copy.write_row(row)
        self.conn.execute("ANALYZE")
        return self.scene

    def _account(self, people: int, places: int) -> None:
        chosen = self.chosen
        ((number,),) = self.conn.execute("SELECT nextval('account_numbers')::int").fetchall()
        account = Account(number=number, id=new_id("acct"))
        self.scene.accounts.append(account)
        self.conn.execute("INSERT INTO accounts (account, id, name, plan) VALUES (%s, %s, 'x', 'unlimited')",
                          [number, account.id])  # fmt: skip
        everywhere = self._space(account, "global", account.id)
        self._fact(account, everywhere, "global", account.id, "*")
        for slug in SLUGS:
            self.conn.execute(
                "INSERT INTO agents (account, slug, name, context_window) VALUES (%s, %s, %s, 32000)",
                [number, slug, slug],
            )
        for _ in range(people):
            user = new_id("usr")
            account.users.append(user)
            self.conn.execute(
                "INSERT INTO users (account, id, email, name) VALUES (%s, %s, %s, %s)",
                [number, user, f"{user}@example.org", user[4:10]],
            )
            profile = self._space(account, "profile", user, owner=user)
            self._notes(account, profile, "profile", f"profile:{user}", user, ("shared", "shared", "private"))
            self._fact(account, profile, "user", user, user)
        for _ in range(places // 3):
            project = new_id("proj")
            account.projects[project] = set(chosen.sample(account.users, chosen.randint(1, 4)))
            space = self._space(account, "project", project)
            self._members(account, space, account.projects[project])
            self._notes(account, space, "project", f"project:{project}", "*", ("shared",))
            self._fact(account, space, "project", project, "*")
        for _ in range(places):
            self._room(account)
        for user in account.users:
            for agent in chosen.sample(SLUGS, chosen.randint(0, 4)):
                self._dm(account, user, agent)

    def _room(self, account: Account) -> None:
        chosen = self.chosen
        room = new_id("room")
        people = set(chosen.sample(account.users, chosen.randint(1, 6)))
        agents = set(chosen.sample(SLUGS, chosen.randint(1, 4)))
        project = chosen.choice([None, *account.projects])
        account.rooms[room] = (people, agents, project)
        space = self._space(account, "room", room)
        self.conn.execute("INSERT INTO rooms (account, space, project_id) VALUES (%s, %s, %s)",
                          [account.number, space, project])  # fmt: skip
        self._members(account, space, people)
        for agent in agents:
            self.conn.execute("INSERT INTO room_agents (account, space, agent) VALUES (%s, %s, %s)",
                              [account.number, space, agent])  # fmt: skip
        run_id = f"room:{room}"
        everybody = [*people, chosen.choice(account.users)]  # also somebody who has left
        for agent in [*agents, chosen.choice(SLUGS)]:  # also one that was sent away
            part = self._part(account, space, "room", agent)
            for _ in range(chosen.randint(1, 4)):
                seen = chosen.choice(("public", "public", "public", "shared", "private"))
                self._memory(account, part, "semantic", chosen.choice(everybody), agent, run_id, seen)
        self._memory(account, space, "landmark", chosen.choice(everybody), "*", run_id, "public")
        self._talk(account, space, run_id, chosen.choice(everybody), "public")
        self._fact(account, space, "room", room, "*")

    def _dm(self, account: Account, user: str, agent: str) -> None:
        account.dms.add((user, agent))
        space = self._space(account, "dm", agent, owner=user)
        self.conn.execute("INSERT INTO rooms (account, space) VALUES (%s, %s)", [account.number, space])
        run_id = f"dm:{user}:{agent}"
        for _ in range(self.chosen.randint(1, 4)):
            seen = self.chosen.choice(("private", "private", "private", "shared", "public"))
            self._memory(account, space, "semantic", user, agent, run_id, seen)
        self._memory(account, space, "landmark", user, "*", run_id, "private")
        self._talk(account, space, run_id, user, "private")

    def _notes(
        self, account: Account, space: int, kind: str, run_id: str, user: str, visibilities: tuple[str, ...]
    ) -> None:
        """What is remembered for all agents, and for single ones."""
        for _ in range(self.chosen.randint(1, 3)):
            self._memory(account, space, "semantic", user, "*", run_id, self.chosen.choice(visibilities))
        for agent in self.chosen.sample(SLUGS, self.chosen.randint(0, 3)):
            part = self._part(account, space, kind, agent)
            self._memory(account, part, "semantic", user, agent, run_id, self.chosen.choice(visibilities))

    def _space(self, account: Account, kind: str, name: str, owner: str | None = None) -> int:
        ((space,),) = self.conn.execute(
            "INSERT INTO spaces (account, kind, name, owner) VALUES (%s, %s, %s, %s) RETURNING space",
            [account.number, kind, name, owner],
        ).fetchall()
        return space

    def _part(self, account: Account, space: int, kind: str, agent: str) -> int:
        name = f"{space}/{agent}"
        self.conn.execute(
            "INSERT INTO spaces (account, kind, name, part_of) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
            [account.number, kind, name, space],
        )
        ((part,),) = self.conn.execute(
            "SELECT space FROM spaces WHERE account = %s AND name = %s", [account.number, name]
        ).fetchall()
        return part

    def _members(self, account: Account, space: int, people: set[str]) -> None:
        for user in people:
            self.conn.execute("INSERT INTO members (account, space, user_id) VALUES (%s, %s, %s)",
                              [account.number, space, user])  # fmt: skip

    def _memory(
        self, account: Account, space: int, kind: str, user: str, agent: str, run_id: str, visibility: str
    ) -> None:
        own = new_id("mem" if kind == "semantic" else "lmk")
        self.scene.entries[own] = Entry(
            account=account.number, user=user, agent=agent, run_id=run_id, visibility=visibility
        )
        self._row(
            "COPY memories (account, space, id, kind, content, visibility, user_id, agent, run_id, content_hash,"
            " size_bytes) FROM STDIN",
            account.number, space, own, kind, own, visibility, None if user == "*" else user, agent, run_id,
            own.encode(), 1,
        )  # fmt: skip
        self._passage(account, space, "memory", own, visibility)

    def _talk(self, account: Account, space: int, run_id: str, user: str, visibility: str) -> None:
        for table, prefix in (("messages", "msg"), ("summaries", "sum")):
            own = new_id(prefix)  # pyright: ignore[reportArgumentType]
            self.scene.said[own] = Entry(
                account=account.number, user=user, agent="*", run_id=run_id, visibility=visibility
            )
            if table == "messages":
                self._row("COPY messages (account, space, id, speaker, user_id, text, at, visibility) FROM STDIN",
                          account.number, space, own, "x", user, own, "2026-05-04T09:00Z", visibility)  # fmt: skip
            else:
                self._row(
                    "COPY summaries (account, space, id, tier, content, starts_at, ends_at, message_count, visibility)"
                    " FROM STDIN",
                    account.number, space, own, "week", own, "2026-05-04", "2026-05-11", 1, visibility,
                )  # fmt: skip
                self._passage(account, space, "summary", own, visibility)

    def _fact(self, account: Account, space: int, kind: str, name: str, user: str) -> None:
        for visibility in ("shared", "private") if kind == "user" else ("shared",):
            own = new_id("fact")
            run_id = {"user": f"profile:{name}", "project": f"project:{name}", "room": f"room:{name}"}.get(kind, "*")
            self.scene.facts[own] = Entry(
                account=account.number, user=user, agent="*", run_id=run_id, visibility=visibility
            )
            self._row("COPY facts (account, space, id, scope_kind, scope_id, key, value, visibility) FROM STDIN",
                      account.number, space, own, kind, name, own, "1", visibility)  # fmt: skip

    def _passage(self, account: Account, space: int, kind: str, own: str, visibility: str) -> None:
        self._row(
            "COPY passages (account, space, source_kind, source_id, at, visibility, text, terms, term_count)"
            " FROM STDIN",
            account.number, space, kind, own, "2026-05-04T09:00Z", visibility, own, [], 0,
        )  # fmt: skip

    def _row(self, statement: LiteralString, *values: Any) -> None:
        self.rows.setdefault(statement, []).append(values)


def made(database: str, chosen: random.Random, **size: int) -> Scene:
    with psycopg.connect(database) as conn:
        conn.execute("SET search_path = keepstone, public")
        return Filler(conn, chosen).fill(**size)


# --------------------------------------------------------------------------------------------- what can be read


def principal(scene: Scene, reader: Reader) -> Principal:
    account = next(one for one in scene.accounts if one.number == reader.account)
    return Principal(account=account.number, account_id=account.id, user_id=reader.user, role="member", via="key")


async def audience_of(services: Services, scene: Scene, reader: Reader) -> Audience:
    """As the composer makes it."""
    caller = principal(scene, reader)
    async with services.db.transaction(account_scope(caller)) as conn:
        if isinstance(reader, InRoom):
            return await room_audience(conn, caller, reader.room, reader.agent)
        return await dm_audience(conn, caller, reader.agent, reader.project)


async def readable(services: Services, audience: Audience) -> tuple[set[str], set[str], set[str]]:
    """Memories, what was said, and facts: all that the database gives in this scope when nothing is asked for."""
    async with services.db.transaction(audience.scope) as conn:
        rows = await conn.execute(
            """
            SELECT 'memory', id FROM memories UNION ALL SELECT 'passage', source_id FROM passages
            UNION ALL SELECT 'said', id FROM messages UNION ALL SELECT 'said', id FROM summaries
            UNION ALL SELECT 'fact', id FROM facts
            """
        )
        found: dict[str, set[str]] = {}
        for kind, own in await rows.fetchall():
            found.setdefault(kind, set()).add(own)
    memories, said = found.get("memory", set()), found.get("said", set())
    # What can be searched is what can be read: no passage of anything else.
    searched = found.get("passage", set())
    assert searched <= memories | said
    assert {one for one in memories | said if not one.startswith("msg_")} <= searched
    return memories, said, found.get("fact", set())


async def check(services: Services, scene: Scene, reader: Reader) -> int:
    """Nothing that the rules forbid, and nothing missing that they allow. Returns how many pairs were compared."""
    memories, said, facts = await readable(services, await audience_of(services, scene, reader))
    pairs = 0
    for found, known in ((memories, scene.entries), (said, scene.said), (facts, scene.facts)):
        allowed = {
            own for own, one in known.items()
            if reader.may_read(one) or (one.run_id == "*" and one.account == reader.account)
        }  # fmt: skip
        assert found - allowed == set(), f"{reader} reads what it may not"
        assert allowed - found == set(), f"{reader} does not find what it may read"
        pairs += len(known)
    return pairs


def intruders(scene: Scene, chosen: random.Random) -> Iterator[Reader]:
    """Those whose business it is not: not in the room, in another account, of a project that they are not in."""
    for account in scene.accounts:
        other = chosen.choice([one for one in scene.accounts if one is not account])
        for room, (people, agents, project) in account.rooms.items():
            agent = min(agents)
            outside = [one for one in account.users if one not in people]
            shared: dict[str, Any] = {"room": room, "participants": frozenset(people), "project": project}
            yield InRoom(account=account.number, user=chosen.choice(outside), agent=agent, **shared)
            yield InRoom(account=other.number, user=chosen.choice(other.users), agent=agent, **shared)
            yield InRoom(account=other.number, user=min(people), agent=agent, **shared)
            for absent in set(SLUGS) - agents:
                yield InRoom(account=account.number, user=min(people), agent=absent, **shared)
        for project, people in account.projects.items():
            outside = [one for one in account.users if one not in people]
            yield Alone(account=account.number, user=chosen.choice(outside), agent="scout", project=project)
            yield Alone(account=other.number, user=chosen.choice(other.users), agent="scout", project=project)
        yield Alone(account=account.number, user=account.users[0], agent="nobody", project=None)


@pytest.mark.parametrize("seed", [1, 2])
async def test_every_reader_reads_exactly_what_the_rules_allow(
    services: Services, database: str, seed: int, record_property: Any
) -> None:
    """Some millions of pairs of a reader and a memory for each seed."""
    chosen = random.Random(seed)
    scene = made(database, chosen, accounts=4, people=20, places=30)
    pairs = 0
    readers = list(scene.readers())
    for reader in readers:
        pairs += await check(services, scene, reader)
    for reader in intruders(scene, chosen):
        with pytest.raises(NotFound):
            await audience_of(services, scene, reader)
        pairs += len(scene.entries)
    record_property("pairs", pairs)
    record_property("readers", len(readers))
    assert pairs > 2_000_000, (pairs, len(readers), len(scene.entries))


async def test_who_comes_and_goes_changes_what_is_read_from_then_on(services: Services, database: str) -> None:
    chosen = random.Random(3)
    scene = made(database, chosen, accounts=2, people=8, places=6)
    for _ in range(60):
        account = chosen.choice(scene.accounts)
        room, (people, agents, project) = chosen.choice(list(account.rooms.items()))
        by = Principal(account=account.number, account_id=account.id, user_id=min(people), role="member", via="key")
        step = chosen.choice(["join", "leave", "agent in", "agent out"])
        if step == "join":
            user = chosen.choice(account.users)
            await participants.join(services, by, room, user)
            me = replace(by, user_id=user)
            for invitation in (await invitations.list_invitations(services, me, PageRequest())).items:
                reader = InRoom(account=account.number, user=min(people), agent=min(agents), room=room,
                                participants=frozenset(people),
                                project=account.of_project(min(people), project))  # fmt: skip
                await check(services, scene, reader)  # nothing of theirs is read before they come
                await participants.accept(services, me, invitation.id)
            people.add(user)
        elif step == "leave" and len(people) > 1:
            await participants.leave(services, by, room, str(by.user_id))
            people.discard(str(by.user_id))
        elif step == "agent in":
            slug = chosen.choice(SLUGS)
            await participants.add_agent(services, by, room, slug)
            agents.add(slug)
        elif step == "agent out" and len(agents) > 1:
            slug = chosen.choice(sorted(agents))
            await participants.remove_agent(services, by, room, slug)
            agents.discard(slug)
        for user in people:
            for agent in agents:
                await check(services, scene, InRoom(account=account.number, user=user, agent=agent, room=room,
                                                    participants=frozenset(people),
                                                    project=account.of_project(user, project)))  # fmt: skip
        gone = [one for one in account.users if one not in people]
        if gone:
            reader = InRoom(account=account.number, user=chosen.choice(gone), agent=min(agents), room=room,
                            participants=frozenset(people), project=project)  # fmt: skip
            with pytest.raises(NotFound):
                await audience_of(services, scene, reader)


async def test_the_code_lets_through_what_the_rules_allow_whatever_the_database_gives(
    services: Services, database: str
) -> None:
    """Also tags that nothing in Keepstone ever writes."""
    chosen = random.Random(4)
    scene = made(database, chosen, accounts=2, people=6, places=6)
    (account, _) = scene.accounts
    runs = sorted({one.run_id for one in scene.entries.values()})
    compared, now = 0, services.clock()
    for reader in [one for one in scene.readers() if one.account == account.number][::5]:
        audience = await audience_of(services, scene, reader)
        for _ in range(2_000):
            entry = Entry(
                account=account.number, user=chosen.choice([*account.users, "*"]), agent=chosen.choice([*SLUGS, "*"]),
                run_id=chosen.choice([*audience.run_ids, *runs]),
                visibility=chosen.choice(["public", "shared", "private"]),
            )  # fmt: skip
            memory = RoomMemory(
                id="mem_1", type="fact", content="x", user_id=None if entry.user == "*" else entry.user,
                agent=entry.agent, run_id=entry.run_id, visibility=entry.visibility, created_at=now, updated_at=now,
                accessed_at=now, valid_from=now,
            )  # fmt: skip
            if entry.run_id in {one for each in scene.accounts[1:] for one in _runs(each)}:
                continue  # another account's: the database alone knows of which account a row is
            assert audience.lets(memory) == reader.may_read(entry), (reader, entry)
            compared += 1
    assert compared > 20_000


def _runs(account: Account) -> Iterator[str]:
    yield from (f"profile:{one}" for one in account.users)
    yield from (f"room:{one}" for one in account.rooms)
    yield from (f"project:{one}" for one in account.projects)
    yield from (f"dm:{user}:{agent}" for user, agent in account.dms)


# ------------------------------------------------------------------------------------------- the composer itself


class Canaries:
    """Words that stand for who may read them, and are written nowhere else."""

    def __init__(self, chosen: random.Random) -> None:
        self.chosen = chosen
        self.known: dict[str, Entry] = {}

    def new(self, **tags: Any) -> str:
        word = "zq" + "".join(self.chosen.choices(string.ascii_lowercase, k=10))
        self.known[word] = Entry(**tags)
        return word

    def in_text(self, text: str) -> set[str]:
        return {word for word in self.known if word in text}


async def test_no_prompt_holds_a_word_that_its_reader_may_not_read(services: Services, database: str) -> None:
    """Everything made through the API, everything about the same matter, and every prompt looked through."""
    chosen = random.Random(5)
    canaries = Canaries(chosen)
    scene = Scene()
    auth: dict[str, dict[str, str]] = {}
    async with http(make_app(services)) as client:
        for place in range(2):
            account = await _settle(client, services, chosen, canaries, auth, place)
            scene.accounts.append(account)
        await run_until_empty(services)
        composed = forbidden = shown = 0
        own = 0
        readers = list(scene.readers())
        chosen.shuffle(readers)
        for reader in readers[:300]:
            wish = chosen.choice(
                ["How many lanterns did we order for the harbour?", "Show all direct messages.", *SLUGS]
            )
            told = json.dumps(await _ask(client, auth[reader.user], reader, wish))
            seen = canaries.in_text(told)
            allowed = {
                word for word, one in canaries.known.items()
                if reader.may_read(one) or (one.run_id == "*" and one.account == reader.account)
            }  # fmt: skip
            assert seen <= allowed, (reader, [canaries.known[word] for word in seen - allowed])
            composed += 1
            forbidden += len(canaries.known) - len(allowed)
            shown += len(seen)
            if "lanterns" in wish:
                # What was said there last, and its facts, are always there.
                here = f"room:{reader.room}" if isinstance(reader, InRoom) else f"dm:{reader.user}:{reader.agent}"
                latest = {word for word, one in canaries.known.items() if one.run_id == here and word in allowed}
                assert latest <= seen
                own += len(latest)
    assert (composed, len(readers) >= 300) == (300, True)
    assert shown > 1_000
    assert own > 200
    assert forbidden > 10_000


async def _settle(
    client: httpx.AsyncClient,
    services: Services,
    chosen: random.Random,
    canaries: Canaries,
    auth: dict[str, dict[str, str]],
    place: int,
) -> Account:
    """An account with people, projects, rooms and direct messages, in which everybody speaks of lanterns."""
    first = await make_person(services, f"first{place}@example.org")
    people = [first]
    people += [
        await make_person(services, f"p{place}{number}@example.org", account=first.user.account) for number in range(5)
    ]
    account = Account(number=first.user.account, id=first.principal.account_id, users=[one.user.id for one in people])
    auth |= {one.user.id: one.auth for one in people}
    for slug in SLUGS:
        await make_agent(client, first.auth, slug)
    tags: dict[str, Any] = {"account": account.number}

    def ordered(word: str) -> str:
        return f"We decided to order {chosen.randint(2, 99)} lanterns from {word} for the harbour."

    word = canaries.new(**tags, user="*", agent="*", run_id="*", visibility="shared")
    await call(client, first.auth, "PUT", "/facts/global/global/lanterns", json={"value": word})
    for person in people:
        own = {**tags, "user": person.user.id, "run_id": f"profile:{person.user.id}"}
        for agent in (None, *chosen.sample(SLUGS, 2)):
            word = canaries.new(**own, agent=agent or "*", visibility="shared")
            await remember(client, person.auth, person.user.id, ordered(word), **({"agent": agent} if agent else {}))
        for visibility in ("shared", "private"):
            word = canaries.new(**own, agent="*", visibility=visibility)
            body = {"value": word, "visibility": visibility}
            await call(client, person.auth, "PUT", f"/facts/user/{person.user.id}/{visibility}", json=body)
    for maker in people[:3]:
        body = {"name": "Harbour"}
        project = (await call(client, maker.auth, "POST", "/projects", json=body, expect=201))["id"]
        account.projects[project] = {maker.user.id}
        for agent in (None, chosen.choice(SLUGS)):
            word = canaries.new(**tags, user="*", agent=agent or "*", run_id=f"project:{project}", visibility="shared")
            await remember(client, maker.auth, project, ordered(word), **({"agent": agent} if agent else {}))
    for _ in range(16):
        inside = chosen.sample(people, chosen.randint(3, 5))
        agents = set(chosen.sample(SLUGS, chosen.randint(1, 3)))
        own = [one for one, members in account.projects.items() if inside[0].user.id in members]
        project = chosen.choice([None, *own])
        room = await make_room(client, inside[0].auth, *inside[1:], agents=sorted(agents),
                               project_id=project)  # fmt: skip
        account.rooms[room] = ({one.user.id for one in inside}, agents, project)
        for person in inside:
            # As a message it is everybody's in the room; as a memory the same, once for each agent.
            word = canaries.new(**tags, user=person.user.id, agent="*", run_id=f"room:{room}", visibility="public")
            await say(client, person.auth, room, ordered(word))
        word = canaries.new(**tags, user="*", agent="*", run_id=f"room:{room}", visibility="shared")
        await call(client, inside[0].auth, "PUT", f"/facts/room/{room}/lanterns", json={"value": word})
    for person in people:
        for agent in chosen.sample(SLUGS, 2):
            run_id = f"dm:{person.user.id}:{agent}"
            word = canaries.new(**tags, user=person.user.id, agent=agent, run_id=run_id, visibility="private")
            await say(client, person.auth, agent, ordered(word))
            account.dms.add((person.user.id, agent))
    return account


async def _ask(client: httpx.AsyncClient, auth: dict[str, str], reader: Reader, text: str) -> Any:
    if isinstance(reader, InRoom):
        return await compose(client, auth, reader.room, text, agent=reader.agent)
    more = {"project_id": reader.project} if reader.project else {}
    return await compose(client, auth, reader.agent, text, **more)
