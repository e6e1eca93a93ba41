"""What the provider keeps, and for whom it is there: behind the provider's key all users are one, so it would show and
continue anybody's. A response is for whoever asked for it; all else for the operator, or for everybody together.
"""

from keepstone.access.readscope import account_scope
from keepstone.errors import Forbidden, NotFound
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import provider_responses as store
from keepstone.store.arrays import storable
from keepstone.store.provider_responses import ProviderResponse

LONGEST = 255  # of an id; one that is longer is not continued


async def keep_response(services: Services, principal: Principal, response_id: str, provider: str) -> None:
    """Before its asker hears of it."""
    if len(response_id) <= LONGEST:
        made = ProviderResponse(
            id=storable(response_id), user_id=principal.user_id, credential_id=principal.credential_id,
            provider=provider,
        )  # fmt: skip
        async with services.db.transaction(account_scope(principal)) as conn:
            await store.insert(conn, made)


async def require_own_response(services: Services, principal: Principal, response_id: str) -> ProviderResponse:
    """The caller's own. With a key that is limited to some spaces, what was asked with that key: there may be memory of
    others in it.
    """
    found: ProviderResponse | None = None
    if len(response_id) <= LONGEST and response_id == storable(response_id):
        async with services.db.transaction(account_scope(principal)) as conn:
            found = await store.get(conn, response_id)
    limited = principal.reach.spaces is not None
    if (
        found is None
        or found.user_id != principal.user_id
        or (limited and (found.credential_id is None or found.credential_id != principal.credential_id))
    ):
        raise NotFound("You have no such response: it is of somebody else, or the provider keeps none of this id.")
    return found


def require_shared(services: Services, principal: Principal) -> None:
    """All else that the provider keeps."""
    shared = services.settings.llm_pass_through == "all"  # noqa: S105  no password
    if not (shared or principal.is_admin):
        raise Forbidden(
            "What the provider keeps lies in one account for everybody here, so it is for admins of this server alone. "
            "Its operator can share it with all (KEEPSTONE_LLM_PASS_THROUGH=all).",
            code="kept_at_provider",
        )
