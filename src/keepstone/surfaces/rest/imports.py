"""Imports over REST: upload, watch, cancel."""

from collections.abc import AsyncGenerator
from typing import Annotated, Any, Literal

from fastapi import Request
from pydantic import Field, ValidationError
from starlette.datastructures import UploadFile

from keepstone.errors import Malformed
from keepstone.memory import imports
from keepstone.memory.imports import NewImport
from keepstone.model.importing import DateOrder, Import, ImportOptions, ImportState
from keepstone.surfaces.http.bodies import read_in_pieces
from keepstone.surfaces.http.caller import CALLER_DESCRIBED, Caller, Used
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import Routes
from keepstone.surfaces.http.wire import Shown, Time, Wire, fields_of

router = Router(prefix="/v1/imports", tags=["transfer"])

_PIECE = 1024 * 1024


class ImportIn(Wire):
    source: Annotated[
        Literal[
            "chatgpt",
            "claude",
            "openwebui",
            "slack",
            "whatsapp",
            "mem0",
            "openmemory",
            "letta",
            "markdown",
            "jsonl",
            "keepstone",
        ]
        | None,
        Field(description="Left out, it is found out from what is in the file."),
    ] = None
    dry_run: Annotated[bool, Field(description="Read and count, write nothing.")] = False
    into: Annotated[
        str | None,
        Field(
            max_length=300,
            description="`scope`, `scope:NAME`, `capsules`, `workspace` or `workspace:NAME`, which is made if need be.",
        ),
    ] = None
    project_id: Annotated[str | None, Field(max_length=255, description="Put capsules into this project.")] = None
    me: Annotated[str | None, Field(max_length=255, description="How the person who talked is called.")] = None
    tools: Annotated[bool, Field(description="Also what was said to tools and by them.")] = False
    of: Annotated[str | None, Field(max_length=255, description="Only this user of mem0 or OpenMemory.")] = None
    dates: Annotated[
        DateOrder | None, Field(description="Whether the day or the month stands first, where it can't be seen.")
    ] = None
    name: Annotated[str | None, Field(max_length=255, description="Of the file, where it is the body itself.")] = None


class ImportErrorOut(Shown):
    code: str
    message: str


class LeftOutOut(Shown):
    reason: str
    count: int
    examples: list[str] = Field(description="Some of them, by id, title or place in the file.")


class ImportSampleOut(Shown):
    kind: str = Field(description="`conversation`, `note`, or what an archive calls it.")
    title: str
    text: str = Field(description="How it begins.")


class ImportOut(
    fields_of(
        Import,
        "id source name size_bytes dry_run state read_bytes total_bytes created_at started_at finished_at",
    )
):
    state: ImportState
    into: str | None
    project_id: str | None
    read_bytes: int = Field(description="Of `total_bytes`: how far it is. A zip's are those of what is in it.")
    read: dict[str, int] = Field(description="What was found in the file, by kind.")
    written: dict[str, int] = Field(description="What is new here.")
    already_there: dict[str, int]
    left_out: list[LeftOutOut] = Field(description="What was not brought over, and why.")
    samples: list[ImportSampleOut] = Field(description="Of a dry run: some of what was found.")
    remarks: list[str] = Field(description="How it was read where that could be done in two ways.")
    error: ImportErrorOut | None = Field(description="Why it failed. What was brought in until then stays.")
    started_at: Time | None
    finished_at: Time | None


def shown(one: Import) -> ImportOut:
    told: dict[str, Any] = {"read": dict[str, int](), "written": dict[str, int](), "already_there": dict[str, int]()}
    told |= {"left_out": list[Any](), "samples": list[Any](), "remarks": list[str]()} | one.report
    error = None if one.error_code is None else ImportErrorOut(code=one.error_code, message=one.error or "")
    options = ImportOptions(**one.options)
    return ImportOut.of(one, into=options.into, project_id=options.project_id, error=error, **told)


_PARAMETERS = [
    *CALLER_DESCRIBED["parameters"],
    *(
        {"name": name, "in": "query", "required": False, "schema": schema, "description": schema.get("description", "")}
        for name, schema in ImportIn.model_json_schema()["properties"].items()
    ),
]
_BODY: dict[str, Any] = {
    "parameters": _PARAMETERS,
    "requestBody": {
        "required": True,
        "description": "The file, as the body itself or as `file` of a form, whose other fields are as in the query.",
        "content": {
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {"file": {"type": "string", "format": "binary"}},
                    "required": ["file"],
                }
            },
        },
    },
}


@router.post("", status_code=202, summary="Upload an export, to be brought in by a job", openapi_extra=_BODY)
async def create_import(request: Request, services: Used, principal: Caller) -> ImportOut:
    read_in_pieces(request, services.settings.max_import_bytes)
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        wanted = _wanted(dict(request.query_params))
        return shown(await imports.create(services, principal, _new(wanted, request.stream(), wanted.name)))
    async with request.form(max_files=1, max_fields=20) as form:
        files = {name: value for name, value in form.items() if isinstance(value, UploadFile)}
        fields = {name: value for name, value in form.items() if name not in files}
        file = files.get("file")
        if file is None:
            raise _fault("file", "send the export as the part `file` of the form")
        wanted = _wanted(dict(request.query_params) | fields)
        return shown(await imports.create(services, principal, _new(wanted, _pieces(file), file.filename)))


def _new(wanted: ImportIn, pieces: Any, name: str | None) -> NewImport:
    given = wanted.model_dump(include={"into", "project_id", "me", "tools", "of", "dates"})
    return NewImport(
        pieces=pieces, name=(name or "upload")[:255], source=wanted.source, dry_run=wanted.dry_run,
        options=ImportOptions(**given),
    )  # fmt: skip


def _wanted(given: dict[str, Any]) -> ImportIn:
    try:
        return ImportIn.model_validate(given)
    except ValidationError as fault:
        faults = [(".".join(map(str, one["loc"])), one["msg"]) for one in fault.errors(include_input=False)]
        raise Malformed(
            "; ".join(f"{name}: {message}" for name, message in faults) + ".",
            details=[{"path": f"query.{name}", "message": message} for name, message in faults],
        ) from None


def _fault(name: str, message: str) -> Malformed:
    return Malformed(f"body.{name}: {message}.", details=[{"path": f"body.{name}", "message": message}])


async def _pieces(file: UploadFile) -> AsyncGenerator[bytes]:
    while piece := await file.read(_PIECE):
        yield piece


_imports = Routes(router, ImportOut, shown)
_imports.page("", imports.list_imports, "list_imports", "Imports, the newest first")
_imports.one("GET", "/{import_id:imp}", imports.get, "get_import", "One import: how far it is, and what became of it")
_imports.one(
    "DELETE", "/{import_id:imp}", imports.cancel, "cancel_import",
    "Cancel an import; what was brought in until then stays",
)  # fmt: skip
