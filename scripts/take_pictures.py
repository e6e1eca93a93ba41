"""Fills a server with made-up memories and takes the pictures of the README, in docs/pictures."""

import asyncio
import random
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from playwright.async_api import Page  # noqa: E402

from browser import Visitor, dashboard_server, visiting  # noqa: E402
from chromium import open_chromium  # noqa: E402
from keepstone.model.ids import new_id  # noqa: E402
from upstream import Received, ScriptedUpstream, chunks, completion, streamed, whole  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
SIZE = {"width": 1360, "height": 850}

# What somebody who builds a small product and has a life beside it would keep: tag, kind, title, text.
KEPT = [
    (
        "auth",
        "decision",
        "Clerk instead of our own login",
        "We buy the login: our own would take three weeks and passkeys come with it. Revisit when we have **5,000 users**.",
    ),
    (
        "auth",
        "decision",
        "Sessions last thirty days",
        "Thirty days, renewed on use. The bank customers get eight hours by a setting.",
    ),
    (
        "auth",
        "note",
        "Passkeys on old Android",
        "Android 8 shows the sheet twice. The workaround is to ask for a platform authenticator only.",
    ),
    (
        "auth",
        "decision",
        "One-time links instead of magic codes",
        "People paste codes into the wrong window. A link can't be mistyped.",
    ),
    (
        "auth",
        "note",
        "SSO questions of Hanse Bank",
        "They want SAML, group mapping and an audit export. SCIM can wait until next year.",
    ),
    (
        "database",
        "decision",
        "Postgres for everything",
        "One database for rows, queue and vectors. We are three people: **one thing to back up**, one thing to learn.",
    ),
    (
        "database",
        "note",
        "Why the nightly vacuum was slow",
        "A replication slot that nobody read held back the horizon. We alert on slot lag now.",
    ),
    (
        "database",
        "decision",
        "UUIDs stay out of primary keys",
        "Numbers inside, random ids outside. The index became a third smaller.",
    ),
    (
        "database",
        "answer",
        "How to rename a column without downtime",
        "Add the new one, write both, backfill in batches of 5,000, read the new one, drop the old one a week later.",
    ),
    (
        "database",
        "note",
        "Backups are tried on Mondays",
        "A backup that was never restored is a wish. The job restores into a scratch server and counts rows.",
    ),
    (
        "pricing",
        "decision",
        "Three plans, no seat prices",
        "Free, Pro at $10, Max at $40. Seats make people share accounts.",
    ),
    (
        "pricing",
        "note",
        "What customers said about the annual plan",
        "Eleven of fourteen would pay a year for two months off. Nobody asked for a quarterly plan.",
    ),
    ("pricing", "decision", "No discount codes in the first year", "They train people to wait."),
    (
        "pricing",
        "answer",
        "How the invoice has to look in Germany",
        "Tax number, date of supply, a running number without gaps, and the reverse-charge sentence for companies abroad.",
    ),
    (
        "hiring",
        "note",
        "Interview with Mira",
        "Strong on queues and backpressure, honest about what she doesn't know. Wants four days a week.",
    ),
    (
        "hiring",
        "decision",
        "We hire a designer before a fourth engineer",
        "Support tickets are about words and layout, not about missing features.",
    ),
    (
        "hiring",
        "note",
        "What to ask about incidents",
        "Let them tell one they caused. Listen for what changed afterwards.",
    ),
    (
        "hiring",
        "decision",
        "Paid trial weeks",
        "One week, paid, on a real ticket. Better than five interviews for both sides.",
    ),
    (
        "launch",
        "decision",
        "We launch on a Tuesday",
        "Monday is full, Friday is alone with the pager. **Tuesday, 9:00 in Lisbon.**",
    ),
    (
        "launch",
        "note",
        "Words that tested well",
        '"It remembers, you decide" beat "AI memory platform" by two to one in twenty calls.',
    ),
    (
        "launch",
        "answer",
        "Checklist for the launch day",
        "1. Freeze at noon the day before\n2. Status page tested\n3. Two people awake\n4. Reply to every comment for eight hours",
    ),
    (
        "launch",
        "note",
        "Press list that answered last time",
        "Nine journalists, four podcasts. Short mails with one number in them.",
    ),
    (
        "garden",
        "note",
        "Tomatoes on the south wall",
        "Black Cherry and San Marzano. Water in the morning, pinch out the side shoots on Sundays.",
    ),
    ("garden", "note", "What the slugs left alone", "Lavender, rosemary, the old roses. Not the dahlias."),
    (
        "garden",
        "answer",
        "When to cut the apple tree",
        "Late winter, on a dry day: crossing branches, water shoots, never more than a quarter.",
    ),
    (
        "garden",
        "note",
        "Compost that finally worked",
        "Two parts brown to one part green, turned every other week; worms arrived in May.",
    ),
    (
        "kitchen",
        "note",
        "Anna's bread",
        "500 g flour, 375 g water, 10 g salt, 100 g starter. Fold four times, overnight in the fridge, 45 minutes at 240 °C.",
    ),
    (
        "kitchen",
        "note",
        "Ramen broth for six",
        "Chicken backs, dried shiitake, kombu; never boil the kombu. Tare apart, salt at the end.",
    ),
    (
        "kitchen",
        "answer",
        "How to rescue a split mayonnaise",
        "A new yolk, a spoon of warm water, then the broken one drop by drop.",
    ),
    (
        "kitchen",
        "note",
        "Restaurants worth the detour in Porto",
        "Taberna dos Mercadores early, A Grade for octopus, the nameless grill in Matosinhos.",
    ),
    (
        "travel",
        "decision",
        "Night train to Vienna instead of flying",
        "Leaves 20:27, breakfast at the border, arrives when the cafés open. Book couchettes **90 days before**.",
    ),
    ("travel", "note", "Packing list for the hut", "Liner, headlamp, cash, ear plugs, the small stove. No cotton."),
    (
        "travel",
        "note",
        "Kyoto in November",
        "Tofuku-ji before eight, the philosopher's path in rain, Nishiki market on a weekday.",
    ),
    (
        "health",
        "note",
        "What the physiotherapist said about the knee",
        "Step-downs, three times twelve, slowly. Running again from the sixth week, never two days in a row.",
    ),
    ("health", "decision", "No phone in the bedroom", "An alarm clock for twelve euros did more than any app."),
    (
        "health",
        "answer",
        "Vitamin D: how much and when",
        "1,000 units a day from October to March, with a meal. Blood test in February.",
    ),
    (
        "support",
        "note",
        "Hanse Bank wants an export for auditors",
        "JSON is fine, but signed, and with a page that explains every field.",
    ),
    (
        "support",
        "answer",
        "What to say when a sync is stuck",
        "Ask for the request id, look at the job, restart that job only, write what happened to the customer the same day.",
    ),
    (
        "support",
        "decision",
        "Answer within four hours, solve when solved",
        "A first human sentence counts more than a fast wrong one.",
    ),
    ("support", "note", "Top three questions in October", "Export, invoices, and how to give a colleague access."),
    (
        "design",
        "decision",
        "One accent colour",
        "Stone green for what can be done, nothing else. Red only when something is lost.",
    ),
    (
        "design",
        "note",
        "Why the empty page matters most",
        "Everybody sees it first, and nobody designs it. It says what to do next, in one sentence.",
    ),
    (
        "design",
        "answer",
        "Contrast that passes",
        "4.5 to 1 for text, 3 to 1 for large text and icons. Grey on beige never passes.",
    ),
    (
        "design",
        "note",
        "Undo instead of are-you-sure",
        "People click through questions. A toast with undo for ten seconds was used 214 times last month.",
    ),
]
NODES = [
    ("anna", "person", "Anna leads the backend team and lives in Lisbon", {"team": "backend"}),
    ("ben", "person", "Ben designs the dashboard; his puppy is called Luna", {"team": "design"}),
    ("mira", "person", "Mira joined in September and works four days a week", {"team": "backend"}),
    ("clerk", "decision", "Login is bought from Clerk, not built", {"quarter": "Q3-2026"}),
    ("postgres", "decision", "Postgres holds rows, queue and vectors", {"quarter": "Q2-2026"}),
    ("export", "project", "Signed export for auditors", {"quarter": "Q4-2026"}),
    ("launch", "project", "Launch of version 1 on a Tuesday", {"quarter": "Q4-2026"}),
    ("hanse", "customer", "Hanse Bank: SAML, audit export, eight-hour sessions", {"plan": "max"}),
    ("nord", "customer", "Nordlicht Studio: eleven people, came from spreadsheets", {"plan": "pro"}),
    ("four", "preference", "Answer customers within four hours", {"team": "support"}),
    ("green", "preference", "One accent colour: stone green", {"team": "design"}),
]
EDGES = [
    ("anna", "postgres", "decided"), ("anna", "clerk", "decided"), ("ben", "green", "prefers"), ("mira", "export", "works_on"),
    ("anna", "export", "works_on"), ("hanse", "export", "asked_for"), ("hanse", "clerk", "depends_on"), ("ben", "launch", "works_on"),
    ("mira", "anna", "reports_to"), ("launch", "export", "depends_on"), ("nord", "launch", "waits_for"), ("nord", "four", "praised"),
]  # fmt: skip
ANSWER = (
    "Two things from what you kept matter here:\n\n"
    "- **Login is bought, not built**: Clerk, because your own would take three weeks.\n"
    "- Hanse Bank needs **eight-hour sessions**; everybody else has thirty days.\n\n"
    "So I would put the session length into the plan and leave the rest to Clerk's settings."
)

SUMMARY = "The launch is on Tuesday the 24th, 9:00 in Lisbon, with 4,200 euros. No discount codes. Mira has the pager."


def answered(request: Received) -> Any:
    if request.path.endswith("/models"):
        return whole({"object": "list", "data": [{"id": "small-model", "object": "model", "owned_by": "you"}]})
    asked = request.json
    return streamed(*chunks(ANSWER, usage=True)) if asked.get("stream") else completion(SUMMARY)


def fill(visitor: Visitor) -> dict[str, str]:
    chosen = random.Random(7)
    now = datetime.now(UTC)
    order = chosen.sample(KEPT, len(KEPT))
    capsules: list[dict[str, Any]] = []
    for tag, kind, title, text in order:
        at = (now - timedelta(days=150 * chosen.random() ** 1.6, hours=chosen.uniform(1, 9))).isoformat()
        more = ["hanse-bank"] if "Hanse" in title + text else []
        capsules.append({
            "id": new_id("cap"), "title": title, "content_md": text, "kind": kind, "tags": [tag, *more],
            "created_at": at, "updated_at": at, "accessed_at": at,
        })  # fmt: skip
    _post(visitor, "/v1/memory/import", {"format": "keepstone-archive", "version": 1, "capsules": capsules})
    visitor.api.patch("/v1/me", json={"name": "Olga"}).raise_for_status()
    workspace = visitor.api.get("/v1/workspaces").json()["items"][0]["id"]
    for text, category in [
        ("Hanse Bank needs sessions of eight hours; everybody else has thirty days", "fact"),
        ("Olga prefers short answers with the reason first", "preference"),
        ("The login is bought from Clerk, because our own would take three weeks", "decision"),
    ]:
        _post(visitor, f"/v1/workspaces/{workspace}/memories", {"content": text, "category": category})
    chat = _post(visitor, "/v1/chats", {"title": "Sessions per plan", "workspace_id": workspace})["id"]
    _fill_graph(visitor)
    return {"chat": chat, "workspace": workspace, "room": _fill_room(visitor)}


def _fill_room(visitor: Visitor) -> str:
    _post(
        visitor,
        "/v1/agents",
        {"slug": "scout", "name": "Scout", "instructions": "You help a small team to launch. Be brief."},
    )
    room = _post(visitor, "/v1/rooms", {"name": "Launch", "agents": ["scout"]})["id"]
    begin = datetime.now(UTC) - timedelta(hours=3)
    said = [
        (None, "We launch on Tuesday the 24th at 9:00 in Lisbon."),
        ("scout", "Noted: Tuesday the 24th, 9:00. I will keep the checklist."),
        (None, "We decided: no discount codes in the first year."),
        (None, "The budget for the launch is 4,200 euros, and Mira has the pager."),
        ("scout", "Budget 4,200 euros, Mira on the pager. Shall I draft the status page text?"),
        (None, "Yes. And who is on the pager, by the way?"),
        ("scout", "Mira is."),
    ]
    for number, (agent, text) in enumerate(said):
        at = (begin + timedelta(minutes=2 * number)).isoformat()
        _post(visitor, f"/v1/rooms/{room}/messages", {"text": text, "ts": at} | ({"agent": agent} if agent else {}))
    _post(visitor, f"/v1/rooms/{room}/landmarks", {"text": "Launch: Tuesday the 24th, 9:00 in Lisbon"})
    return room


def _fill_graph(visitor: Visitor) -> None:
    ids: dict[str, str] = {}
    for name, kind, content, metadata in NODES:
        body = {"content": content, "node_type": kind, "metadata": metadata}
        ids[name] = _post(visitor, "/v1/graphs/default/nodes", body)["id"]
    for one, other, kind in EDGES:
        _post(visitor, "/v1/graphs/default/edges", {"from_id": ids[one], "to_id": ids[other], "edge_type": kind})


def _post(visitor: Visitor, path: str, body: dict[str, Any]) -> Any:
    return visitor.api.post(path, json=body).raise_for_status().json()


async def settled(visitor: Visitor) -> None:
    while visitor.api.get("/readyz").json()["pending_embeddings"]:  # noqa: ASYNC110  another process
        await asyncio.sleep(0.2)


async def snap(page: Page, name: str) -> None:
    await page.wait_for_load_state("networkidle")
    await page.wait_for_timeout(1500)  # pictures drawn on a canvas come to rest
    await page.screenshot(path=PICTURES / f"{name}.png")


async def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    upstream = ScriptedUpstream()
    upstream.otherwise = answered
    try:
        server = dashboard_server(
            KEEPSTONE_LLM_PROVIDER="openai", KEEPSTONE_LLM_BASE_URL=upstream.url, KEEPSTONE_LLM_API_KEY="none",
            KEEPSTONE_LLM_MODEL="small-model",
        )  # fmt: skip
        try:
            async with open_chromium() as browser:
                await _pictures(browser, server)
        finally:
            server.stop()
    finally:
        upstream.stop()


async def _pictures(browser: Any, server: Any) -> None:
    async with visiting(browser, server, as_owner=True, viewport=SIZE, device_scale_factor=1.5) as visitor:
        made = fill(visitor)
        await settled(visitor)
        page = visitor.page
        await visitor.go("/dashboard/recall")
        await snap(page, "recall")
        await visitor.go("/dashboard/graphs?view=picture")
        await snap(page, "graphs")
        await visitor.go(f"/dashboard/rooms?room={made['room']}")
        await snap(page, "rooms")
        await visitor.go(f"/dashboard/playground/{made['chat']}")
        field = page.get_by_placeholder("Write a message")
        await field.fill("How long should sessions last on each plan?")
        await field.press("Enter")
        await page.get_by_text("I would put the session length").wait_for()
        await page.get_by_role("button", name="Looked up").click()
        await snap(page, "playground")
        await page.get_by_role("link", name="What memory did").last.click()
        await page.get_by_role("dialog").wait_for()
        await snap(page, "traces")
    async with visiting(
        browser, server, as_owner=True, viewport=SIZE, device_scale_factor=1.5, color_scheme="dark"
    ) as visitor:
        await visitor.go("/dashboard/recall?view=timeline")
        await snap(visitor.page, "timeline")
        await visitor.go("/dashboard/recall?view=constellation")
        await visitor.page.get_by_role("img", name="Map of").wait_for(timeout=90_000)
        await snap(visitor.page, "constellation")


if __name__ == "__main__":
    asyncio.run(main())
