"""What a caller shows to be let in. Secrets themselves are never in here once they are stored."""

from dataclasses import dataclass
from datetime import datetime

from keepstone.model.principal import KeySurface, Permission, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """`user_id` is None for a service key: it belongs to the account and names a user with each call. `surfaces` and
    `spaces` are what it is limited to; None is no limit. A space is a kind, a colon and a name.
    """

    account: int
    id: str
    user_id: str | None
    created_by: str | None
    name: str
    prefix: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    permission: Permission = "write"
    surfaces: list[KeySurface] | None = None
    spaces: list[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginSession:
    account: int
    id: str
    user_id: str
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime
    address: str | None
    user_agent: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    account: int
    id: str
    at: datetime
    user_id: str | None
    via: str
    credential_id: str | None
    action: str
    object_id: str | None
    details: dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAuditLine(AuditLine):
    """As the operator sees it, among those of all accounts."""

    account_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which lines: all conditions hold together. `action` is one (`key.create`), or all of a noun (`key`)."""

    user_id: str | None = None
    action: str | None = None
    object_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InviteLink:
    """With it somebody new comes into the account, as `role`. `email` is whom it is for; None: whoever has it."""

    account: int
    id: str
    email: str | None
    role: Role
    created_by: str
    created_at: datetime
    expires_at: datetime
