"""Plans: how much a user may keep. Capacity counts by user, and an admin can set another for one of them."""

from cairn.errors import QuotaExceeded
from cairn.model.account import User
from cairn.settings import Settings

_MB = 1024 * 1024
CAPACITY: dict[str, int | None] = {"free": 5 * _MB, "pro": 50 * _MB, "max": 300 * _MB, "unlimited": None}


def capacity(user: User, plan: str) -> int | None:
    """In bytes; None is without a limit. A plan that we don't know has that of `free`, not all there is."""
    return user.quota_bytes if user.quota_bytes is not None else CAPACITY.get(plan, CAPACITY["free"])


def quota_exceeded(settings: Settings, *, used: int, more: int, allowed: int) -> QuotaExceeded:
    return QuotaExceeded(
        f"This needs {more} bytes and {max(0, allowed - used)} of {allowed} are left: delete something, or take a "
        "larger plan.",
        details={"bytes_used": used, "bytes_needed": more, "quota_bytes": allowed},
        upgrade_url=f"{settings.base_url}/pricing",
    )
