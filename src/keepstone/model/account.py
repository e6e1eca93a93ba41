"""Accounts and the people in them."""

from dataclasses import dataclass
from datetime import datetime

from keepstone.model.principal import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    account: int
    id: str
    name: str
    plan: str
    credits: int | None
    timezone: str  # whose days and weeks are summed up
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    account: int
    id: str
    email: str
    name: str
    role: Role
    is_admin: bool
    quota_bytes: int | None
    timezone: str
    language: str
    cold_tier: bool
    weekly_digest: bool
    subject: str | None
    has_password: bool
    created_at: datetime
    last_login_at: datetime | None
    has_totp: bool = False
    timezone_chosen: bool = False  # by them, or taken from their first browser
    welcome: int = 0  # steps of the dashboard's welcome that are behind them; 3: all


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """A user as the operator sees them: who they are and what they may use, nothing of what they keep."""

    account_id: str
    plan: str
    credits: int | None
    user_id: str
    email: str
    role: Role
    is_admin: bool
    quota_bytes: int | None  # set for this user; None: as the plan says
    capacity_bytes: int | None  # what holds; None: no limit
    used_bytes: int
    created_at: datetime
    last_login_at: datetime | None
