"""The week in capsules, by e-mail."""

from keepstone.access.principals import principal_of
from keepstone.access.readscope import account_scope
from keepstone.memory.capsule_views import Digest, digest
from keepstone.providers import mail
from keepstone.services import Services
from keepstone.store import accounts, users


async def send(services: Services, account: int, user_id: str) -> None:
    """To somebody who still wants it; nothing when nothing was kept."""
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
            text=written(week, services.settings.base_url),
        )


def written(week: Digest, base_url: str) -> str:
    lines = [f"{week.count} capsules from {week.since:%d %B} to {week.until:%d %B %Y}."]
    if week.topics:
        lines += ["", "About: " + ", ".join(week.topics)]
    lines += ["", *(f"- {capsule.title} ({capsule.kind})" for capsule in week.capsules)]
    if week.rediscover:
        lines += ["", "Not looked at for long:", *(f"- {capsule.title}" for capsule in week.rediscover)]
    return "\n".join([*lines, "", f"{base_url}/dashboard/recall", ""])
