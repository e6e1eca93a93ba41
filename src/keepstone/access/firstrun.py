"""The first start on an empty database: an owner, their first key in a file, and a link to sign in with."""

import logging
from dataclasses import dataclass
from pathlib import Path

from keepstone.access.keys import create_key
from keepstone.access.principals import operator_in
from keepstone.access.readscope import account_scope
from keepstone.access.sessions import make_link
from keepstone.access.users import create_user
from keepstone.errors import Unavailable
from keepstone.home import keep_secret
from keepstone.services import Services
from keepstone.store import accounts, users

log = logging.getLogger(__name__)

OWNER_EMAIL = "owner@localhost"
KEY_FILE = "owner-key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Welcome:
    """What to print: the key's file when it was written just now, and the link while nobody has signed in yet."""

    key_file: Path | None
    link: str | None


async def welcome(services: Services) -> Welcome:
    """Make the owner if there is nobody at all; of several processes that start at once, one does. Where a machine of
    a cluster is away there is somebody, and who lies on the others is to be served.
    """
    try:
        return await _welcome(services)
    except Unavailable:
        if services.settings.database_url is None:
            raise
        log.warning("not asked whether the first owner has signed in: a part of the database does not answer")
        return Welcome(key_file=None, link=None)


async def _welcome(services: Services) -> Welcome:
    key_file = None
    async with services.db.unscoped() as conn, conn.transaction():
        await accounts.lock_first_run(conn)
        if not await accounts.has_users(conn):
            key_file = await _create_owner(services)
        account = await accounts.account_of(conn, "email", OWNER_EMAIL)
    owner = link = None
    if account is not None:
        async with services.db.transaction(account_scope(account)) as conn:
            owner = await users.by_email(conn, OWNER_EMAIL)
    if owner is not None and owner.last_login_at is None:
        link = f"{services.settings.base_url}/auth/once/{await make_link(services, owner)}"
    return Welcome(key_file=key_file, link=link)


async def _create_owner(services: Services) -> Path:
    owner = await create_user(services, email=OWNER_EMAIL, name="Owner", is_admin=True)
    principal = operator_in(owner.account, user_id=owner.id)
    _, secret = await create_key(services, principal, name="first key")
    return keep_secret(services.settings.home, KEY_FILE, secret)
