"""How often somebody may ask: the requests a minute of their plan, by credential and by account.

The plan's rate comes with the credential, so nothing is looked up here.
"""

from keepstone.errors import RateLimited
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.throttle import Limit

RATE_LIMITED = "RATE_LIMITED"


async def admit(services: Services, principal: Principal) -> None:
    """One more request of this caller; raises `RateLimited` when it came too early. It then counts for nothing."""
    rate = principal.rate
    limits: list[Limit] = []
    if rate.by_key is not None:
        limits.append(Limit(name=principal.credential_id or f"user:{principal.user_id}", per_minute=rate.by_key))
    if rate.by_account is not None:
        limits.append(Limit(name=f"account:{principal.account}", per_minute=rate.by_account))
    wait = await services.rates.take(principal.account, limits)
    if wait > 0:
        raise RateLimited(
            "That is more requests a minute than the plan allows: wait as long as Retry-After says.",
            code=RATE_LIMITED,
            retry_after=wait,
        )
