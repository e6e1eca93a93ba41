"""Views over all of somebody's capsules: tags, usage, the timeline, the map, the week, which also goes by e-mail."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Literal

import numpy as np

from keepstone.access.plans import room_of
from keepstone.access.principals import principal_of
from keepstone.access.readscope import account_scope, inside, space_scope
from keepstone.access.require import require_found, require_user
from keepstone.engine import topics as topic_names
from keepstone.engine.atlas import Chart, chart
from keepstone.engine.keyphrases import names
from keepstone.errors import Conflict
from keepstone.memory.capsules import look_into_vault
from keepstone.model.capsule import Capsule
from keepstone.model.memory import restorable_since
from keepstone.model.page import PageRequest
from keepstone.model.principal import Principal, ReadScope
from keepstone.providers import mail
from keepstone.services import Services
from keepstone.store import accounts, users
from keepstone.store import capsules as store
from keepstone.store import maps as map_store
from keepstone.store.db import Connection
from keepstone.store.lanes import FIRST, Lane

Bucket = Literal["day", "week", "month"]
MAP_FROM = 30  # capsules
MAP_STAYS = timedelta(seconds=30)  # at least: it takes a second and more to make
TOPICS = 5
_WAIT_FOR_MAP = 10.0
_LISTED = 10
_READ_TITLES = 2_000  # of the whole timeline: to read all of a large vault's takes seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultUsage:
    """`quota_bytes` is None without a limit."""

    plan: str
    bytes_used: int
    quota_bytes: int | None
    count: int
    in_trash: int
    in_cold: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineSpan:
    """One day, week or month of the timeline, by the date on which it begins."""

    start: str
    count: int
    topics: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Constellation:
    """`newer` counts the capsules that are not on it yet, `changed` those whose text is another since it was made, and
    `gone` those that were on it.
    """

    made_at: datetime | None
    points: list[dict[str, Any]]
    clusters: list[dict[str, Any]]
    newer: int = 0
    changed: int = 0
    gone: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """A week in capsules, and a few of old that nobody has looked at for long."""

    since: datetime
    until: datetime
    count: int
    kinds: dict[str, int]
    topics: list[str]
    capsules: list[Capsule]
    rediscover: list[Capsule]


async def tags(services: Services, principal: Principal) -> list[tuple[str, int]]:
    """Each with the number of capsules that have it, the most used first."""
    async with inside(services, principal, look_into_vault) as (conn, vault):
        return await services.views.at(
            (principal.account, vault.space, "tags"), vault.revision, lambda: store.tags(conn, vault.space),
            size=lambda counts: 200 * len(counts),
        )  # fmt: skip


async def usage(services: Services, principal: Principal) -> VaultUsage:
    user_id = require_user(principal)
    async with inside(services, principal, look_into_vault) as (conn, vault):
        account = require_found(await accounts.get(conn), "This account is gone.")
        room = await room_of(conn, user_id)
        away = await store.count_put_away(conn, vault.space, restorable_since(services.clock()))
    return VaultUsage(
        plan=account.plan,
        bytes_used=room.used,
        quota_bytes=room.allowed,
        count=vault.memory_count,
        in_trash=away[0],
        in_cold=away[1],
    )


async def timeline(services: Services, principal: Principal, bucket: Bucket) -> list[TimelineSpan]:
    """How much was kept when, in the user's time zone, and what it was about; the earliest first."""
    user_id = require_user(principal)
    async with inside(services, principal, look_into_vault) as (conn, vault):
        user = await users.get(conn, user_id)
    zone = user.timezone if user else "UTC"

    async def spans() -> list[TimelineSpan]:
        async with services.db.transaction(space_scope(principal, vault.space)) as conn:
            dated = await store.by_date(conn, vault.space, bucket, zone, titles=_READ_TITLES)
        topics = await _names(services, [span.titles for span in dated], TOPICS)
        return [
            TimelineSpan(start=span.start, count=span.count, topics=_first(span.tags, about))
            for span, about in zip(dated, topics, strict=True)
        ]

    return await services.views.at(
        (principal.account, vault.space, "timeline", bucket, zone), vault.revision, spans,
        size=lambda made: 500 * len(made),
    )  # fmt: skip


async def constellation(
    services: Services, principal: Principal, render: Callable[[Constellation], bytes], *, anew: bool = False
) -> tuple[bytes, str]:
    """The map as it is shown, and a text that is another when it is. A job makes the map, anew when it is looked at and
    something has changed since, or when that is asked for; for the first one the caller waits a little.
    """
    nothing = Constellation(made_at=None, points=[], clusters=[])
    deadline = asyncio.get_running_loop().time() + _WAIT_FOR_MAP
    asked = False
    while True:
        async with inside(services, principal, look_into_vault) as (conn, vault):
            if vault.memory_count < MAP_FROM:
                raise Conflict(f"The map needs at least {MAP_FROM} capsules, and there are {vault.memory_count}.")
            made = await map_store.state(conn, vault.space)
            if made is None and not await map_store.any_vectors(conn, vault.space):
                return render(nothing), "none"  # there is nothing to make it from yet
            old = made is not None and services.clock() - made.made_at >= MAP_STAYS
            if not asked and (made is None or anew or (old and made.size != vault.memory_count)):
                asked = True
                await schedule_map(conn, services, principal.account, vault.space, FIRST)
        if made is not None:
            version = f"{vault.space}-{vault.revision}-{made.made_at.timestamp()}"
            draw = partial(_draw, services, space_scope(principal, vault.space), vault.space, render)
            return await services.views.at((principal.account, vault.space, "map"), version, draw, size=len), version
        if asyncio.get_running_loop().time() > deadline:
            return render(nothing), "none"
        await asyncio.sleep(0.2)


async def _draw(
    services: Services, scope: ReadScope, space: int, render: Callable[[Constellation], bytes]
) -> bytes:  # fmt: skip
    async with services.db.transaction(scope) as conn:
        drawn, shown = await map_store.get(conn, space), await map_store.shown(conn, space)
    # In a thread: tens of thousands of points are shown.
    return await asyncio.to_thread(lambda: render(_drawn(drawn, shown)))


def _drawn(drawn: map_store.Map | None, shown: Mapping[str, map_store.ShownStar]) -> Constellation:
    """With what is still there, as it is called now."""
    if drawn is None:
        return Constellation(made_at=None, points=[], clusters=[])
    points: list[dict[str, Any]] = []
    changed = 0
    for point in drawn.points:
        if point["id"] in shown:
            title, kind, tags, created_at, updated_at = shown[point["id"]]
            changed += updated_at > drawn.made_at
            points.append({**point, "title": title, "kind": kind, "tags": tags, "created_at": created_at})
    sizes = Counter(point["cluster"] for point in points)
    counted = [
        {name: cluster[name] for name in ("cluster", "label", "x", "y")} | {"count": sizes[cluster["cluster"]]}
        for cluster in drawn.clusters
    ]
    return Constellation(
        made_at=drawn.made_at, points=points, clusters=[each for each in counted if each["count"]],
        newer=len(shown) - len(points), changed=changed, gone=len(drawn.points) - len(points),
    )  # fmt: skip


async def schedule_map(conn: Connection, services: Services, account: int, space: int, lane: Lane) -> None:
    """Let a job make the map of a vault, unless one waits in that lane."""
    await services.queue.add(
        conn, "map_vault", account=account, space=space, one_by_one=f"map {space}", lane=lane, unless_waiting=True
    )


async def map_is_stale(services: Services, scope: ReadScope, space: int) -> bool:
    """Whether a vault has none and is large enough; or has grown, or lost, a tenth since it was made, a while ago."""
    async with services.db.transaction(scope) as conn:
        now, mapped, made_at = await map_store.sizes(conn, space)
    if now < MAP_FROM or (made_at is not None and services.clock() - made_at < MAP_STAYS):
        return False
    return abs(now - mapped) * 10 >= max(mapped, MAP_FROM)


async def make_map(services: Services, scope: ReadScope, space: int) -> None:
    """Where every capsule with a vector lies. Those of the last map stay where they were, as far as they can."""
    async with services.db.transaction(scope) as conn:
        placed = await map_store.vectors(conn, space)
        before = await map_store.get(conn, space)
    if len(placed) < MAP_FROM:
        return
    old: dict[str, tuple[float, float, int]] = {}
    if before is not None:
        # What was changed since is looked at as if it were new.
        changed = {capsule.id for capsule in placed if capsule.changed_at > before.made_at}
        old = {
            point["id"]: (point["x"], point["y"], point["cluster"])
            for point in before.points
            if point["id"] not in changed
        }
    vectors = topic_names.with_tags(
        np.stack([capsule.vector for capsule in placed]), [capsule.tags for capsule in placed]
    )
    made = await chart(vectors, [old.get(capsule.id) for capsule in placed])
    within: defaultdict[int, list[map_store.Placed]] = defaultdict(list)
    for capsule, label in zip(placed, made.labels.tolist(), strict=True):
        within[label].append(capsule)
    within.pop(-1, None)
    texts = {
        number: [topic_names.Text(each.title, each.beginning, each.tags) for each in capsules]
        for number, capsules in within.items()
    }
    known = _still_called(before, within)
    size = sum(len(text.beginning) for group in texts.values() for text in group)
    called = await services.offload.run(size, topic_names.names, texts, {number: of[0] for number, of in known.items()})
    points, clusters = await asyncio.to_thread(_mapped, placed, made, called)
    for cluster in clusters:
        number = cluster["cluster"]
        cluster["named_of"] = known[number][1] if number in known else len(within[number])
    async with services.db.transaction(scope) as conn:
        await map_store.put(conn, space, points, clusters)


async def digest(services: Services, principal: Principal) -> Digest:
    until = services.clock()
    since = until - timedelta(days=7)
    async with inside(services, principal, look_into_vault) as (conn, vault):
        wanted = store.CapsuleFilter(since=since, until=until)
        new = (await store.page(conn, vault.space, wanted, PageRequest(limit=1000))).items
        old = await store.least_read(conn, vault.space, limit=20)
    about = await _names(services, [[capsule.title for capsule in new]], TOPICS)
    used = Counter(tag for capsule in new for tag in capsule.tags)
    return Digest(
        since=since,
        until=until,
        count=len(new),
        kinds=dict(Counter(capsule.kind for capsule in new)),
        topics=_first([tag for tag, _ in used.most_common(TOPICS)], about[0] if about else []),
        capsules=list(new[:_LISTED]),
        rediscover=[capsule for capsule in old if capsule.created_at < since][:3],
    )


async def send_digest(services: Services, account: int, user_id: str) -> None:
    """By e-mail, to somebody who still wants it; nothing when nothing was kept."""
    async with services.db.transaction(account_scope(account)) as conn:
        user, home = await users.get(conn, user_id), await accounts.get(conn)
    url = services.settings.smtp_url
    if user is None or home is None or not user.weekly_digest or url is None:
        return
    week = await digest(services, principal_of(user, account_id=home.id, via="job"))
    if week.count:
        await mail.send(
            url,
            sender=services.settings.smtp_from,
            to=user.email,
            subject=f"Your week in Keepstone: {week.count} kept",
            text=_mail_text(week, services.settings.base_url),
        )


async def _names(services: Services, groups: Sequence[Sequence[str]], count: int) -> list[list[str]]:
    size = sum(len(title) for titles in groups for title in titles)
    return await services.offload.run(size, names, groups, count)


def _mail_text(week: Digest, base_url: str) -> str:
    lines = [f"{week.count} capsules from {week.since:%d %B} to {week.until:%d %B %Y}."]
    if week.topics:
        lines += ["", "About: " + ", ".join(week.topics)]
    lines += ["", *(f"- {capsule.title} ({capsule.kind})" for capsule in week.capsules)]
    if week.rediscover:
        lines += ["", "Not looked at for long:", *(f"- {capsule.title}" for capsule in week.rediscover)]
    return "\n".join([*lines, "", f"{base_url}/dashboard/recall", ""])


def _still_called(
    before: map_store.Map | None, within: Mapping[int, Sequence[map_store.Placed]]
) -> dict[int, tuple[str, int]]:
    """The names that stay, each with how many it was given to: where a cluster is mostly the one it was then."""
    old: defaultdict[int, set[str]] = defaultdict(set)
    for point in before.points if before else []:
        old[point["cluster"]].add(point["id"])
    known: dict[int, tuple[str, int]] = {}
    for cluster in before.clusters if before else []:
        number, named_of = cluster["cluster"], cluster.get("named_of")
        now = {capsule.id for capsule in within.get(number, ())}
        # Of a map of earlier there is no such number: its names were titles.
        if named_of and cluster["label"] and len(now & old[number]) * 2 >= len(now) and len(now) <= 3 * named_of:
            known[number] = (cluster["label"], named_of)
    return known


def _mapped(
    placed: Sequence[map_store.Placed], made: Chart, called: Mapping[int, str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Where each lies, and the clusters with what they are called."""
    points: list[dict[str, Any]] = []
    within: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for capsule, (x, y), label in zip(placed, made.points.tolist(), made.labels.tolist(), strict=True):
        points.append({"id": capsule.id, "x": round(x, 4), "y": round(y, 4), "cluster": label})
        within[label].append(points[-1])
    within.pop(-1, None)
    return points, [_cluster(number, called.get(number, ""), within[number]) for number in sorted(within)]


def _cluster(number: int, name: str, points: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "cluster": number,
        "label": name,
        "x": round(sum(point["x"] for point in points) / len(points), 4),
        "y": round(sum(point["y"] for point in points) / len(points), 4),
        "count": len(points),
    }


def _first(given: list[str], made: list[str]) -> list[str]:
    """What people called it themselves, then what the titles say."""
    return list(dict.fromkeys([*given, *made]))[:TOPICS]
