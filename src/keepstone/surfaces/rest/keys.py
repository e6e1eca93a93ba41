"""API keys, browser sessions, and the audit trail."""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from keepstone.access import audit, keys, sessions
from keepstone.model.credential import Session
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.wire import Name, PageOut, Paging, Shown, Time, Wire, show_page

router = APIRouter(prefix="/v1", tags=["keys"])


class KeyIn(Wire):
    name: Name
    service: Annotated[bool, Field(description="Speaks for the account and names a user with each call (owners).")] = (
        False
    )
    expires_at: Annotated[Time | None, Field(description="Never, if left out.")] = None


class KeyOut(Shown):
    id: str
    name: str
    user_id: str | None = Field(description="null for a service key.")
    prefix: str = Field(description="How the key begins after `ck_`, to tell it from others.")
    created_at: Time
    expires_at: Time | None
    last_used_at: Time | None
    revoked_at: Time | None


class NewKeyOut(KeyOut):
    key: str = Field(description="The key itself. It is shown this once.")


class SessionOut(Shown):
    id: str
    created_at: Time
    expires_at: Time
    last_used_at: Time
    address: str | None
    user_agent: str | None
    current: bool = Field(default=False, description="This call came with it.")


class AuditOut(Shown):
    id: str
    at: Time
    user_id: str | None
    via: str
    credential_id: str | None
    action: str
    object_id: str | None
    details: dict[str, Any]


@router.post("/keys", status_code=201, summary="Make an API key")
async def create_key(services: Used, principal: Caller, body: KeyIn) -> NewKeyOut:
    made, secret = await keys.create_key(
        services, principal, name=body.name, service=body.service, expires_at=body.expires_at
    )
    return NewKeyOut(**KeyOut.model_validate(made).model_dump(), key=secret)


@router.get("/keys", summary="My keys; for an owner the service keys too")
async def list_keys(services: Used, principal: Caller, page: Paging) -> PageOut[KeyOut]:
    return show_page(await keys.list_keys(services, principal, page), KeyOut.model_validate)


@router.get("/keys/{key_id:key}", summary="One key, without its secret")
async def get_key(services: Used, principal: Caller, key_id: str) -> KeyOut:
    return KeyOut.model_validate(await keys.get_key(services, principal, key_id))


@router.delete("/keys/{key_id:key}", status_code=204, summary="Revoke a key")
async def revoke_key(services: Used, principal: Caller, key_id: str) -> None:
    await keys.revoke_key(services, principal, key_id)


@router.get("/sessions", summary="Browsers in which I am signed in")
async def list_sessions(services: Used, principal: Caller, page: Paging) -> PageOut[SessionOut]:
    def show(session: Session) -> SessionOut:
        shown = SessionOut.model_validate(session)
        return shown.model_copy(update={"current": session.id == principal.credential_id})

    return show_page(await sessions.list_sessions(services, principal, page), show)


@router.delete("/sessions/{session_id:ses}", status_code=204, summary="Sign one of them out")
async def end_session(services: Used, principal: Caller, session_id: str) -> None:
    await sessions.end_session(services, principal, session_id)


@router.get("/audit", summary="Who did what, the newest first; for an owner the whole account")
async def list_audit(services: Used, principal: Caller, page: Paging) -> PageOut[AuditOut]:
    return show_page(await audit.list_lines(services, principal, page), AuditOut.model_validate)
