"""Views over one's capsules: tags, the timeline, the week, also by e-mail; and what is worth keeping."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from capsules import CAPSULES, at, delete, get, keep, post
from conftest import World
from keepstone.errors import UpstreamError
from keepstone.jobs.tasks import send_digests
from keepstone.memory.capsule_views import send_digest
from keepstone.services import Services
from mails import mailbox
from statements import sent

NOW = datetime.now(UTC)


async def test_tags_are_counted_the_most_used_first(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    for number, tags in enumerate((["auth", "web"], ["auth"], ["auth", "budget"], ["web"], [])):
        await keep(client, auth, f"number {number}", tags=tags)
    gone = await keep(client, auth, "gone", tags=["gone"])
    await delete(client, auth, gone["id"])
    assert (await get(client, auth, f"{CAPSULES}/tags"))["items"] == [
        {"tag": "auth", "count": 3}, {"tag": "web", "count": 2}, {"tag": "budget", "count": 1}
    ]  # fmt: skip
    assert (await get(client, world.member.auth, f"{CAPSULES}/tags"))["items"] == []


async def test_views_of_all_capsules_are_made_once_and_anew_with_every_change(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    kept = await keep(client, auth, "Bread rises overnight.", title="Bread", tags=["food"])
    paths = (f"{CAPSULES}/tags", f"{CAPSULES}/timeline?bucket=month")
    before = [await get(client, auth, path) for path in paths]
    with sent() as statements:
        assert [await get(client, auth, path) for path in paths] == before
    assert not [each for each in statements if "memories" in each], "nothing has changed"
    assert (await get(client, auth, f"{CAPSULES}/timeline?bucket=day"))["bucket"] == "day"
    for change in ({"tags": ["baking"]}, {"title": "Sourdough"}):
        await client.patch(f"{CAPSULES}/{kept['id']}", headers=auth, json=change)
    tags, timeline = [await get(client, auth, path) for path in paths]
    assert tags["items"] == [{"tag": "baking", "count": 1}]
    assert timeline["items"][0]["topics"] == ["baking", "Sourdough"]
    await delete(client, auth, kept["id"])
    assert [(await get(client, auth, path))["items"] for path in paths] == [[], []]
    await post(client, auth, f"{CAPSULES}/{kept['id']}/restore")
    assert (await get(client, auth, paths[0]))["items"] == [{"tag": "baking", "count": 1}]


@pytest.mark.parametrize(
    ("zone", "days"),
    [
        ("UTC", ["2026-03-01", "2026-03-02"]),
        ("Asia/Tokyo", ["2026-03-02"]),
        ("America/Los_Angeles", ["2026-03-01"]),
    ],
)
async def test_a_day_of_the_timeline_is_one_in_the_users_time_zone(
    services: Services, world: World, zone: str, days: list[str]
) -> None:
    for hour in (datetime(2026, 3, 1, 20, tzinfo=UTC), datetime(2026, 3, 2, 1, tzinfo=UTC)):
        async with at(services, hour) as client:
            await keep(client, world.owner.auth, f"kept at {hour:%H}")
    async with at(services, NOW) as client:
        await client.patch("/v1/me", headers=world.owner.auth, json={"timezone": zone})
        spans = (await get(client, world.owner.auth, f"{CAPSULES}/timeline"))["items"]
    assert [span["start"] for span in spans] == days
    assert sum(span["count"] for span in spans) == 2


async def test_the_timeline_counts_days_weeks_and_months_and_says_what_they_were_about(
    services: Services, world: World
) -> None:
    auth = world.owner.auth
    kept = [
        ("2026-03-02T10:00:00Z", "Sourdough bread", ["bread"]),
        ("2026-03-04T10:00:00Z", "Rye bread", ["bread", "rye"]),
        ("2026-03-12T10:00:00Z", "The ferry to the island", []),
        ("2026-05-01T10:00:00Z", "The ferry and the harbour", ["ferry"]),
    ]
    for time, title, tags in kept:
        async with at(services, datetime.fromisoformat(time)) as client:
            await keep(client, auth, f"About: {title}", title=title, tags=tags)
    async with at(services, NOW) as client:
        gone = await keep(client, auth, "gone")
        await delete(client, auth, gone["id"])
        by = {
            bucket: await get(client, auth, f"{CAPSULES}/timeline", bucket=bucket)
            for bucket in ("day", "week", "month")
        }
        assert by["month"]["bucket"] == "month"
        assert [(span["start"], span["count"]) for span in by["month"]["items"]] == [
            ("2026-03-01", 3), ("2026-05-01", 1)
        ]  # fmt: skip
        assert [(span["start"], span["count"]) for span in by["week"]["items"]] == [
            ("2026-03-02", 2), ("2026-03-09", 1), ("2026-04-27", 1)
        ]  # fmt: skip
        assert [span["count"] for span in by["day"]["items"]] == [1, 1, 1, 1]
        assert by["month"]["items"][0]["topics"][:2] == ["bread", "rye"]
        assert len(by["month"]["items"][0]["topics"]) <= 5
        assert "ferry" in " ".join(by["week"]["items"][1]["topics"]).lower(), "without tags the titles say it"
        assert (await client.get(f"{CAPSULES}/timeline?bucket=year", headers=auth)).status_code == 422
        assert (await get(client, world.member.auth, f"{CAPSULES}/timeline"))["items"] == []


async def test_the_digest_tells_the_last_seven_days_and_reminds_of_what_was_forgotten(
    services: Services, world: World
) -> None:
    auth = world.owner.auth
    async with at(services, NOW - timedelta(days=90)) as client:
        old = await keep(client, auth, "An old thought about sailing", title="Sailing")
    async with at(services, NOW - timedelta(days=8)) as client:
        await keep(client, auth, "just outside", title="Outside")
    for number in range(12):
        async with at(services, NOW - timedelta(days=6) + timedelta(hours=number)) as client:
            kind = "decision" if number < 4 else "note"
            await keep(client, auth, f"bread number {number}", title=f"Bread {number}", kind=kind, tags=["bread"])
    async with at(services, NOW) as client:
        week = await get(client, auth, "/v1/memory/digest")
        assert week["count"] == 12
        assert week["kinds"] == {"decision": 4, "note": 8}
        assert week["topics"][0] == "bread"
        assert [item["title"] for item in week["capsules"]] == [f"Bread {n}" for n in range(11, 1, -1)]
        assert week["rediscover"][0]["id"] == old["id"]
        assert datetime.fromisoformat(week["until"]) - datetime.fromisoformat(week["since"]) == timedelta(days=7)
        theirs = await get(client, world.member.auth, "/v1/memory/digest")
        assert (theirs["count"], theirs["capsules"], theirs["rediscover"]) == (0, [], [])


async def test_the_week_comes_by_mail_to_whoever_wishes_it(services: Services, world: World) -> None:
    async with mailbox() as box:
        settings = replace(services.settings, smtp_url=box.url, smtp_from="keepstone@example.org")
        mailing = replace(services, settings=settings)
        async with at(services, NOW - timedelta(hours=1)) as client:
            for person in (world.owner, world.member, world.stranger):
                await keep(client, person.auth, f"Secret of {person.user.name}", title=f"Über {person.user.name}")
            for person in (world.owner, world.stranger):
                await client.patch("/v1/me", headers=person.auth, json={"weekly_digest": True})
        await send_digests(mailing)
        waiting = [job for job in await services.queue.latest(status="todo", limit=50) if job.task == "send_digest"]
        assert len(waiting) == 2, "a job for each who wishes it"
        await send_digest(mailing, world.owner.principal.account, world.owner.user.id)
        (message,) = box.messages
        assert message["To"] == "olga@example.org"
        assert message["From"] == "keepstone@example.org"
        assert "1" in message["Subject"]
        text = message.get_content()
        assert "Über olga" in text
        assert "stan" not in text
        assert "Secret" not in text, "titles are enough"
        await send_digest(mailing, world.member.principal.account, world.member.user.id)
        assert len(box.messages) == 1, "not to who does not wish it"
        later = replace(mailing, clock=lambda: NOW + timedelta(days=30))
        await send_digest(later, world.owner.principal.account, world.owner.user.id)
        assert len(box.messages) == 1, "and not when nothing was kept"
        box.refuses = True
        with pytest.raises(UpstreamError):
            await send_digest(mailing, world.owner.principal.account, world.owner.user.id)


async def test_without_a_mail_server_nothing_is_sent(services: Services, world: World) -> None:
    async with at(services, NOW) as client:
        await client.patch("/v1/me", headers=world.owner.auth, json={"weekly_digest": True})
        await keep(client, world.owner.auth, "something")
        assert (await get(client, world.owner.auth, "/v1/me"))["user"]["weekly_digest"] is True
    await send_digests(services)
    await send_digest(services, world.owner.principal.account, world.owner.user.id)
    assert [job for job in await services.queue.latest(status=None, limit=50) if job.task == "send_digest"] == []


async def test_a_title_and_tags_are_proposed_for_a_text(client: httpx.AsyncClient, world: World) -> None:
    text = "# Why Clerk\n\nWe picked Clerk over Auth0, since Clerk has organisations and Auth0 costs more."
    made = await post(client, world.owner.auth, f"{CAPSULES}/title", {"content_md": text})
    assert "Clerk" in made["title"]
    assert any("clerk" in tag.lower() for tag in made["tags"])
    for body in ({}, {"content_md": ""}, {"content_md": "a\0"}):
        assert (await client.post(f"{CAPSULES}/title", headers=world.owner.auth, json=body)).status_code == 422
    assert (await get(client, world.owner.auth, CAPSULES))["items"] == [], "nothing is kept by it"


async def test_the_curator_says_what_of_a_conversation_is_worth_keeping_and_why(
    client: httpx.AsyncClient, world: World
) -> None:
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "Hello! How can I help?"},
        {"role": "user", "content": "Should we build our own login or take Clerk?"},
        {
            "role": "assistant",
            "content": "Decision: we use Clerk for sign-in. It costs $25 a month, and nobody here has to run it. "
            "We decided against Auth0 because it costs $240 a month.",
        },
        {"role": "user", "content": "thanks"},
        {"speaker": "Ben", "text": "lol"},
    ]
    found = await post(client, world.owner.auth, f"{CAPSULES}/curate", {"messages": messages})
    assert found["segments"]
    best = max(found["segments"], key=lambda one: one["score"])
    assert 3 in best["messages"]
    assert "Clerk" in best["text"]
    assert "Clerk" in best["title"] or best["tags"]
    assert best["kind"] == "decision"
    assert 0 < best["score"] <= 1
    assert all(reason["code"] and reason["phrase"] for reason in best["reasons"])
    assert all(5 not in one["messages"] for one in found["segments"])
    made = await keep(
        client, world.owner.auth, best["text"], title=best["title"], kind=best["kind"], tags=best["tags"]
    )  # fmt: skip
    assert made["kind"] == "decision"
    small = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello!"}]
    assert (await post(client, world.owner.auth, f"{CAPSULES}/curate", {"messages": small}))["segments"] == []
    for body in ({"messages": []}, {}, {"messages": [{"role": "user", "content": "x\0"}]}, {"messages": "hi"}):
        assert (await client.post(f"{CAPSULES}/curate", headers=world.owner.auth, json=body)).status_code == 422
