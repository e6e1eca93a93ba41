"""The caller, the account and the people in it."""

from typing import Annotated, Any

from pydantic import Field

from keepstone.access import users
from keepstone.access.passwords import LONGEST, SHORTEST
from keepstone.access.require import require_user
from keepstone.model.account import Account, User
from keepstone.model.principal import Role, Via
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import Routes
from keepstone.surfaces.http.wire import Name, Shown, Wire, fields_of

router = Router(prefix="/v1", tags=["account"])


class AccountOut(fields_of(Account, "id name plan credits timezone created_at")):
    credits: int | None = Field(description="null: not counted.")
    timezone: str = Field(description="Its days and weeks are summed up.")


class UserOut(
    fields_of(
        User,
        "id email name role is_admin timezone language cold_tier weekly_digest has_password has_totp created_at "
        "last_login_at timezone_chosen welcome",
    )
):
    timezone_chosen: bool = Field(description="False: it is UTC because nobody has said another.")
    welcome: int = Field(description="How many of the three steps of the dashboard's welcome are behind them.")
    has_totp: bool = Field(description="Signing in asks for a code of an app too.")


class Me(Shown):
    account: AccountOut
    user: UserOut | None = Field(description="null for a service key that names nobody.")
    via: Via


class AccountIn(Wire):
    name: Name | None = None
    timezone: Annotated[str, Field(min_length=1, max_length=64)] | None = None


class UserIn(Wire):
    email: Annotated[str, Field(min_length=3, max_length=254)]
    name: Annotated[str, Field(max_length=255)] = ""
    role: Role = "member"
    password: Annotated[str | None, Field(min_length=SHORTEST, max_length=LONGEST)] = None


class MeChange(Wire):
    name: Annotated[str, Field(max_length=255)] | None = None
    timezone: Annotated[str, Field(max_length=64, description="Such as Europe/Berlin.")] | None = None
    language: Annotated[str, Field(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$", max_length=35)] | None = None
    cold_tier: bool | None = Field(
        default=None, description="When the plan is full, move the capsules not read for longest out of the way."
    )
    weekly_digest: bool | None = Field(default=None, description="The week in capsules, by e-mail.")
    welcome: Annotated[
        int | None,
        Field(ge=0, le=3, description="How many steps of the dashboard's welcome are behind; 3: it is over."),
    ] = None


class UserChange(MeChange):
    role: Role | None = None


@router.get("/me", summary="Who am I?")
async def me(services: Used, principal: Caller) -> Me:
    account = await users.get_account(services, principal)
    user = await users.get_user(services, principal, principal.user_id) if principal.user_id else None
    return Me.of(principal, account=account, user=user)


@router.patch("/me", summary="Change my name, time zone, language or preferences")
async def change_me(services: Used, principal: Caller, body: MeChange) -> UserOut:
    user_id = require_user(principal)
    return UserOut.model_validate(await users.update_user(services, principal, user_id, _given(body)))


def _given(body: MeChange) -> dict[Any, Any]:
    """The fields that were sent. A null would say nothing: none of them can be empty."""
    return body.model_dump(exclude_unset=True, exclude_none=True)


_accounts = Routes(router, AccountOut)
_users = Routes(router, UserOut)
_USER = "/users/{user_id:usr}"

_accounts.one(
    "PATCH", "/account", users.update_account, "change_account", "Rename the account (owners)", body=AccountIn
)
_users.page("/users", users.list_users, "list_users", "The people of the account; to a member, only they themselves")
_users.one(
    "POST", "/users", users.add_user, "add_user", "Add somebody to the account (owners)", body=UserIn, status=201
)
_users.one("GET", _USER, users.get_user, "get_user", "One of them")


@router.patch("/users/{user_id:usr}", summary="Change somebody; only owners change roles")
async def change_user(services: Used, principal: Caller, user_id: str, body: UserChange) -> UserOut:
    return UserOut.model_validate(await users.update_user(services, principal, user_id, _given(body)))


_users.remove(_USER, users.erase_user, "erase_user", "Erase somebody and all that is theirs, for good")
