"""What a principal has to be for a thing; each refusal says what is missing."""

from typing import TypeVar

from keepstone.errors import Forbidden, NotFound
from keepstone.model.principal import Principal
from keepstone.services import Services

T = TypeVar("T")


def require_found(thing: T | None, missing: str) -> T:
    """What was looked for, or the sentence that says that it is not there."""
    if thing is None:
        raise NotFound(missing)
    return thing


def require_user(principal: Principal) -> str:
    """The user behind the call, for what belongs to a person."""
    if principal.user_id is None:
        raise Forbidden("A service key has to name one of the account's users here, in X-Keepstone-User.")
    return principal.user_id


def require_self(principal: Principal) -> None:
    """The one place that keeps whoever speaks for somebody off how that person signs in and what they may."""
    if principal.acting:
        raise Forbidden(
            "A service key that speaks for somebody may not do this: they do it themselves, signed in or with a key "
            "of their own."
        )


def require_owner(principal: Principal) -> None:
    if principal.role != "owner":
        raise Forbidden("Only an owner of the account may do this.")


def may_change(services: Services, principal: Principal, made_by: str | None) -> bool:
    """What all of an account use and see (graphs and what is in them, agents, global facts): whoever made it changes
    it, and an owner. A service key that names nobody is the account itself; what nobody made is the account's.
    """
    return (
        services.settings.shared_editing == "members"
        or principal.role == "owner"
        or principal.user_id is None
        or principal.user_id == made_by
    )


def changeable(services: Services, principal: Principal) -> str | None:
    """Whose of these the caller may change: one user's, or with None everybody's."""
    return None if may_change(services, principal, None) else principal.user_id


def require_maker(services: Services, principal: Principal, made_by: str | None) -> None:
    if not may_change(services, principal, made_by):
        raise Forbidden("Only whoever made this, or an owner of the account, may change or delete it.")


def require_admin(principal: Principal) -> None:
    if not principal.is_admin:
        raise Forbidden("Only the operator of this server may do this.")
