"""Who calls, with what, and who else is in the account."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from keepstone_client.binding import D, Resource, operation, paged
from keepstone_client.core import Page, Request, at, filled, into, nothing, page_of, text


@dataclass(frozen=True, kw_only=True)
class Account:
    id: str
    name: str
    plan: str
    credits: int | None  # None: not counted
    timezone: str
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class User:
    id: str
    email: str
    name: str
    role: str
    is_admin: bool
    timezone: str
    language: str
    cold_tier: bool
    weekly_digest: bool
    has_password: bool
    created_at: datetime
    last_login_at: datetime | None
    has_totp: bool = False
    timezone_chosen: bool = False
    welcome: int = 0


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Who a credential is. `user` is None for a service key that names nobody."""

    account: Account
    user: User | None
    via: str


@dataclass(frozen=True, kw_only=True)
class Key:
    id: str
    name: str
    user_id: str | None  # None for a service key
    prefix: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    permission: str = "write"
    surfaces: tuple[str, ...] | None = None  # what it opens; None: all
    spaces: tuple[str, ...] | None = None  # where it reaches; None: everywhere


@dataclass(frozen=True, kw_only=True)
class NewKey(Key):
    key: str  # the secret, shown this once


@dataclass(frozen=True, kw_only=True)
class Session:
    id: str
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime
    address: str | None
    user_agent: str | None
    current: bool = False  # the one that asks


@dataclass(frozen=True, kw_only=True)
class AuditLine:
    id: str
    at: datetime
    user_id: str | None
    via: str
    credential_id: str | None
    action: str
    object_id: str | None
    details: dict[str, Any]
    who: str | None = None  # the name of who did it
    credential: str | None = None  # that of the key
    title: str | None = None  # that of what it was done to, if the reader may read it


@dataclass(frozen=True, kw_only=True)
class Token:
    token: str
    token_type: str
    expires_in: int
    expires_at: datetime


class Me(Resource[D]):
    @operation
    def get(self) -> Request[Identity]:
        """Who this client is."""
        return Request(method="GET", path="/v1/me", parse=into(Identity))

    @operation
    def update(
        self,
        *,
        name: str | None = None,
        timezone: str | None = None,
        language: str | None = None,
        cold_tier: bool | None = None,
        weekly_digest: bool | None = None,
        welcome: int | None = None,
    ) -> Request[User]:
        body = filled(
            name=name,
            timezone=timezone,
            language=language,
            cold_tier=cold_tier,
            weekly_digest=weekly_digest,
            welcome=welcome,
        )
        return Request(method="PATCH", path="/v1/me", parse=into(User), json=body)

    @operation
    def update_account(self, *, name: str | None = None, timezone: str | None = None) -> Request[Account]:
        """For owners."""
        body = filled(name=name, timezone=timezone)
        return Request(method="PATCH", path="/v1/account", parse=into(Account), json=body)

    @operation
    def token(self) -> Request[Token]:
        """A JWT that stands for this credential, for an hour or as the server is set."""
        return Request(method="POST", path="/auth/token", parse=into(Token))

    @operation
    def set_password(self, new: str, *, current: str | None = None) -> Request[None]:
        """Ends all other sessions of the user."""
        body = filled(current=current, new=new)
        return Request(method="POST", path="/auth/password", parse=nothing, json=body)


class Users(Resource[D]):
    """The people of the account."""

    @paged
    def list(self, *, page_size: int | None = None) -> Request[Page[User]]:
        return Request(method="GET", path="/v1/users", parse=page_of(User), params=filled(limit=page_size))

    @operation
    def create(self, email: str, *, name: str = "", role: str = "member", password: str | None = None) -> Request[User]:
        body = filled(email=email, name=name, role=role, password=password)
        return Request(method="POST", path="/v1/users", parse=into(User), json=body)

    @operation
    def get(self, user_id: str) -> Request[User]:
        return Request(method="GET", path=f"/v1/users/{at(user_id)}", parse=into(User))

    @operation
    def update(
        self,
        user_id: str,
        *,
        name: str | None = None,
        timezone: str | None = None,
        language: str | None = None,
        cold_tier: bool | None = None,
        weekly_digest: bool | None = None,
        welcome: int | None = None,
        role: str | None = None,
    ) -> Request[User]:
        body = filled(
            name=name,
            timezone=timezone,
            language=language,
            cold_tier=cold_tier,
            weekly_digest=weekly_digest,
            welcome=welcome,
            role=role,
        )
        return Request(method="PATCH", path=f"/v1/users/{at(user_id)}", parse=into(User), json=body)

    @operation
    def erase(self, user_id: str) -> Request[None]:
        """Them and all that is theirs, for good."""
        return Request(method="DELETE", path=f"/v1/users/{at(user_id)}", parse=nothing)


@dataclass(frozen=True, kw_only=True)
class InviteLink:
    """With it somebody new comes into the account, once. `email` is whom it is for; None: whoever has it."""

    id: str
    email: str | None
    role: str
    created_by: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, kw_only=True)
class NewInviteLink(InviteLink):
    """`url` is the link itself, shown this once."""

    url: str


@dataclass(frozen=True, kw_only=True)
class InviteLinkList:
    items: tuple[InviteLink, ...]


class InviteLinks(Resource[D]):
    """For owners of the account."""

    @operation
    def create(self, *, email: str | None = None, role: str = "member") -> Request[NewInviteLink]:
        """A link that is good for seven days, and once."""
        body = filled(email=email, role=role)
        return Request(method="POST", path="/v1/invite-links", parse=into(NewInviteLink), json=body)

    @operation
    def list(self) -> Request[InviteLinkList]:
        """Those that were not used yet."""
        return Request(method="GET", path="/v1/invite-links", parse=into(InviteLinkList))

    @operation
    def revoke(self, link_id: str) -> Request[None]:
        return Request(method="DELETE", path=f"/v1/invite-links/{at(link_id)}", parse=nothing)


class Keys(Resource[D]):
    @paged
    def list(self, *, page_size: int | None = None) -> Request[Page[Key]]:
        return Request(method="GET", path="/v1/keys", parse=page_of(Key), params=filled(limit=page_size))

    @operation
    def create(
        self,
        name: str,
        *,
        service: bool = False,
        expires_at: datetime | None = None,
        permission: str | None = None,
        surfaces: Sequence[str] | None = None,
        spaces: Sequence[str] | None = None,
    ) -> Request[NewKey]:
        """`permission` is `read` or `write`; `surfaces` and `spaces` limit what it opens and where it reaches."""
        body = filled(
            name=name, service=service, expires_at=expires_at, permission=permission, surfaces=surfaces, spaces=spaces
        )
        return Request(method="POST", path="/v1/keys", parse=into(NewKey), json=body)

    @operation
    def get(self, key_id: str) -> Request[Key]:
        return Request(method="GET", path=f"/v1/keys/{at(key_id)}", parse=into(Key))

    @operation
    def revoke(self, key_id: str) -> Request[None]:
        return Request(method="DELETE", path=f"/v1/keys/{at(key_id)}", parse=nothing)


class Sessions(Resource[D]):
    """Browsers that are signed in."""

    @paged
    def list(self, *, page_size: int | None = None) -> Request[Page[Session]]:
        return Request(method="GET", path="/v1/sessions", parse=page_of(Session), params=filled(limit=page_size))

    @operation
    def end(self, session_id: str) -> Request[None]:
        return Request(method="DELETE", path=f"/v1/sessions/{at(session_id)}", parse=nothing)

    @operation
    def end_others(self) -> Request[None]:
        return Request(method="DELETE", path="/v1/sessions", parse=nothing)


class Audit(Resource[D]):
    @paged
    def list(
        self,
        *,
        user_id: str | None = None,
        action: str | None = None,
        object_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        page_size: int | None = None,
    ) -> Request[Page[AuditLine]]:
        """Who did what, the newest first. `action` is one, such as `key.create`, or all of a noun: `key`."""
        wanted = {"from": since, "to": until}
        params = filled(user_id=user_id, action=action, object_id=object_id, limit=page_size, **wanted)
        return Request(method="GET", path="/v1/audit", parse=page_of(AuditLine), params=params)

    @operation
    def export(
        self,
        *,
        format: Literal["csv", "jsonl"] = "csv",
        user_id: str | None = None,
        action: str | None = None,
        object_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Request[str]:
        """All of them, as a file."""
        wanted = {"from": since, "to": until}
        params = filled(format=format, user_id=user_id, action=action, object_id=object_id, **wanted)
        return Request(method="GET", path="/v1/audit/export", parse=text, params=params, timeout=600)
