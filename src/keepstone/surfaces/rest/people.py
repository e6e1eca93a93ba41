"""People over REST: what is known of whom in a scope, and its correction."""

from typing import Annotated

from fastapi import Query
from pydantic import Field

from keepstone.memory import people
from keepstone.model.statement import LONGEST_STATEMENT, KnownStatement, StatementVersion
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import InTrash, Routes, Superseded
from keepstone.surfaces.http.scope_ids import ScopeInPath
from keepstone.surfaces.http.wire import Name, PageOut, Paging, Shown, Time, Wire, fields_of, refuse, show_page

router = Router(prefix="/v1/scopes/{scope_id:scope}/people", tags=["scopes"])


class StatementChange(Wire):
    """What is left out stays."""

    text: Annotated[str | None, Field(min_length=1, max_length=LONGEST_STATEMENT, description="What is so.")] = None
    speaker: Annotated[Name | None, Field(description="Whom it is about instead.")] = None


class SourceMessageOut(Shown):
    message_id: str
    id: str | None = Field(description="Yours, if the message came with one.")
    speaker: str
    text: str = Field(description=f"Of a long one the first {LONGEST_STATEMENT:,} characters.")
    ts: Time


class StatementOut(fields_of(KnownStatement, "id kind text holds version deleted_at")):
    speaker: str = Field(description="Whom it is about.")
    holds: bool = Field(description="Nothing newer took its place: recall may show it.")
    deleted_at: Time | None = Field(description="In the trash since.")
    message: SourceMessageOut = Field(description="What it was read out of.")


class StatementVersionOut(fields_of(StatementVersion, "version change text changed_by changed_at")):
    speaker: str = Field(validation_alias="subject")


def _shown(statement: KnownStatement) -> StatementOut:
    source = SourceMessageOut(
        message_id=statement.message_id, id=statement.client_id, speaker=statement.said_by, text=statement.said_text,
        ts=statement.at,
    )  # fmt: skip
    return StatementOut.of(statement, speaker=statement.subject, message=source)


@router.get("", summary="What is known of whom in a scope, said last first")
async def list_people(
    services: Used,
    principal: Caller,
    scope_id: ScopeInPath,
    page: Paging,
    speaker: Annotated[str | None, Query(max_length=255, description="Only what is known of them.")] = None,
    superseded: Superseded = False,
    deleted: InTrash = False,
) -> PageOut[StatementOut]:
    refuse("speaker", speaker)
    found = await people.list_statements(
        services, principal, scope_id, page, speaker=speaker, superseded=superseded, deleted=deleted
    )
    return show_page(found, _shown)


_STATEMENT = "/{statement_id:stmt}"
_ids = {"scope_id": ScopeInPath}
_statements = Routes(router, StatementOut, _shown, ids=_ids)
_versions = Routes(router, StatementVersionOut, ids=_ids, listed="StatementHistory")
_statements.one("GET", _STATEMENT, people.get, "get_statement", "One thing that is known of somebody")
_statements.one(
    "PATCH", _STATEMENT, people.change, "change_statement", "Correct it; what it was stays in its history",
    changes=StatementChange,
)  # fmt: skip
_statements.remove(_STATEMENT, people.delete, "delete_statement", "Into the trash, for 30 days")
_statements.one("POST", f"{_STATEMENT}/restore", people.restore, "restore_statement", "Out of the trash")
_versions.all(f"{_STATEMENT}/history", people.history, "get_statement_history", "Every version, the latest first")
