"""What an audit line is about, by its name: for whoever reads the trail, and only as far as they may read the thing.

An owner sees who did what in the whole account, and of another's capsule no more than that it is one.
"""

from collections.abc import Mapping, Sequence

from keepstone.access.readscope import account_scope
from keepstone.memory.capsules import look_into_vault
from keepstone.model.credential import AuditLine
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import audit as store


async def names_of(services: Services, principal: Principal, lines: Sequence[AuditLine]) -> Mapping[str, str]:
    """By the ids that stand in these lines. What the reader may not know is not among them."""
    if principal.user_id is None:
        return {}
    ids = sorted({one for line in lines for one in (line.user_id, line.credential_id, line.object_id) if one})
    async with services.db.transaction(account_scope(principal)) as conn:
        names = await store.names(conn, ids, reader=principal.user_id, owner=principal.role == "owner")
        # A key that is limited to some surfaces or places is not told what lies elsewhere.
        if not (principal.reach.surfaces is None and principal.reach.spaces is None):
            return names
        names |= await store.place_names(conn, ids, reader=principal.user_id)
        capsules = [one for one in ids if one.startswith("cap_")]
        if capsules:
            await look_into_vault(conn, principal)
            names |= await store.capsule_titles(conn, capsules)
    return names
