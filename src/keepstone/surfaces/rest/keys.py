"""API keys, browser sessions, and the audit trail."""

from collections.abc import AsyncGenerator
from typing import Annotated

from fastapi import Depends, Query
from fastapi.responses import StreamingResponse
from pydantic import Field

from keepstone.access import audit, keys, sessions
from keepstone.memory.audit_names import names_of
from keepstone.model.credential import ApiKey, AuditFilter, AuditLine, LoginSession
from keepstone.model.ids import pattern
from keepstone.model.principal import KeySurface, Permission
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import Routes
from keepstone.surfaces.http.wire import Name, PageOut, Paging, Time, Wire, fields_of, refuse, show_page

router = Router(prefix="/v1", tags=["keys"])


class KeyIn(Wire):
    name: Name
    service: Annotated[bool, Field(description="Speaks for the account and names a user with each call (owners).")] = (
        False
    )
    expires_at: Annotated[Time | None, Field(description="Never, if left out.")] = None
    permission: Annotated[Permission, Field(description="`read`: it changes nothing.")] = "write"
    surfaces: Annotated[
        list[KeySurface] | None, Field(max_length=20, description="What it opens. All, if left out.")
    ] = None
    spaces: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=300)]] | None,
        Field(
            max_length=100,
            description="Where it reaches: ids of workspaces, rooms, graphs and projects, `scope:NAME`, `store:NAME`, "
            "`capsules`. Everywhere, if left out.",
        ),
    ] = None


class KeyOut(
    fields_of(ApiKey, "id name user_id prefix created_at expires_at last_used_at revoked_at permission surfaces spaces")
):
    surfaces: list[KeySurface] | None = Field(description="What it opens; null: all.")
    spaces: list[str] | None = Field(description="Where it reaches; null: everywhere.")
    user_id: str | None = Field(description="null for a service key.")
    prefix: str = Field(description="How the key begins after `ck_`, to tell it from others.")


class NewKeyOut(KeyOut):
    key: str = Field(description="The key itself. It is shown this once.")


class SessionOut(fields_of(LoginSession, "id created_at expires_at last_used_at address user_agent")):
    current: bool = Field(default=False, description="This call came with it.")


class AuditOut(fields_of(AuditLine, "id at user_id via credential_id action object_id details")):
    pass


class NamedAuditOut(AuditOut):
    who: str | None = Field(description="The name of who did it.")
    credential: str | None = Field(description="The name of the key that it was done with, if the reader may see it.")
    title: str | None = Field(description="The name of what it was done to, if the reader may read that.")


async def _wanted(
    user_id: Annotated[str | None, Query(pattern=f"^{pattern('usr')}$", description="Who did it.")] = None,
    action: Annotated[
        str | None, Query(pattern=r"^[a-z_]+(\.[a-z_]+)?$", max_length=64, description="`key.create`, or all of `key`.")
    ] = None,
    object_id: Annotated[str | None, Query(max_length=255, description="To what.")] = None,
    since: Annotated[Time | None, Query(alias="from", description="From this time on.")] = None,
    until: Annotated[Time | None, Query(alias="to", description="Before this time.")] = None,
) -> AuditFilter:
    refuse("object_id", object_id)
    return AuditFilter(user_id=user_id, action=action, object_id=object_id, since=since, until=until)


AuditWanted = Annotated[AuditFilter, Depends(_wanted)]
AuditFormat = Annotated[audit.AuditForm, Query(alias="format", description="`csv`, or a line of JSON for each.")]


async def audit_file(lines: AsyncGenerator[AuditLine], form: audit.AuditForm) -> StreamingResponse:
    first = await anext(lines, None)  # so that a refusal is an answer and not a broken stream

    async def every() -> AsyncGenerator[AuditLine]:
        if first is not None:
            yield first
        async for line in lines:
            yield line

    kind = {"csv": "text/csv", "jsonl": "application/jsonl"}[form]
    headers = {"content-disposition": f'attachment; filename="keepstone-audit.{form}"'}
    return StreamingResponse(audit.written(every(), form), media_type=kind, headers=headers)


@router.post("/keys", status_code=201, summary="Make an API key")
async def create_key(services: Used, principal: Caller, body: KeyIn) -> NewKeyOut:
    made, secret = await keys.create_key(services, principal, **dict(body))
    return NewKeyOut.of(made, key=secret)


_keys = Routes(router, KeyOut)
_keys.page("/keys", keys.list_keys, "list_keys", "My keys; for an owner the service keys too")
_keys.one("GET", "/keys/{key_id:key}", keys.get_key, "get_key", "One key, without its secret")
_keys.remove("/keys/{key_id:key}", keys.revoke_key, "revoke_key", "Revoke a key")


@router.get("/sessions", summary="Browsers in which I am signed in")
async def list_sessions(services: Used, principal: Caller, page: Paging) -> PageOut[SessionOut]:
    def show(session: LoginSession) -> SessionOut:
        return SessionOut.of(session, current=session.id == principal.credential_id)

    return show_page(await sessions.list_sessions(services, principal, page), show)


_keys.remove("/sessions", sessions.end_other_sessions, "end_other_sessions", "Sign all of them out but this one")
_keys.remove("/sessions/{session_id:ses}", sessions.end_session, "end_session", "Sign one of them out")


@router.get("/audit", summary="Who did what, the newest first; for an owner the whole account")
async def list_audit(services: Used, principal: Caller, page: Paging, wanted: AuditWanted) -> PageOut[NamedAuditOut]:
    lines = await audit.list_lines(services, principal, page, wanted=wanted)
    names = await names_of(services, principal, lines.items)

    def show(line: AuditLine) -> NamedAuditOut:
        who, credential, title = (names.get(one or "") for one in (line.user_id, line.credential_id, line.object_id))
        return NamedAuditOut.of(line, who=who, credential=credential, title=title)

    return show_page(lines, show)


@router.get("/audit/export", summary="The same as a file, all of it", response_class=StreamingResponse)
async def export_audit(
    services: Used, principal: Caller, wanted: AuditWanted, form: AuditFormat = "csv"
) -> StreamingResponse:
    return await audit_file(audit.export_lines(services, principal, wanted=wanted), form)
