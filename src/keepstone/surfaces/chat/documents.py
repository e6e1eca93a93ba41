"""Files and artifacts of a workspace."""

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Query, Response, UploadFile
from pydantic import Field

from keepstone.errors import Malformed
from keepstone.memory import documents
from keepstone.model.document import Chunk, Document, DocumentVersion, Kind, Upload
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import InTrash, Operation, Routes
from keepstone.surfaces.http.wire import Origin, Shown, Time, Wire, fields_of, refuse_future, refuse_unstorable

router = Router(prefix="/workspaces/{workspace_id:ws}", tags=["documents"])

WantedVersion = Annotated[int, Query(ge=1, le=1_000_000_000)]
EarlierVersion = Annotated[int | None, Query(ge=1, le=1_000_000_000)]
FileName = Annotated[str, Field(min_length=1, max_length=255)]
MediaType = Annotated[str, Field(pattern=r"^[a-z0-9.+-]{1,80}/[a-z0-9.+-]{1,80}$")]


class DocumentOut(
    fields_of(
        Document,
        "id name media_type version size_bytes chunks workspace_id created_by created_at updated_at deleted_at",
    )
):
    chunks: int = Field(description="How many parts of it can be found.")
    deleted_at: Time | None = None


class UploadedOut(DocumentOut):
    change: Upload = Field(
        description="`created`: a new file. `updated`: another version of the file of this name, and what the earlier "
        "one said is no longer found. `unchanged`: these very bytes are there already."
    )


class ArtifactOut(DocumentOut):
    content: str


class ArtifactIn(Wire):
    name: FileName
    content: str = Field(description="At most 1 MB.")
    media_type: MediaType = "text/markdown"


class ArtifactChange(Wire):
    name: FileName | None = None
    content: str | None = None
    media_type: MediaType | None = None


class ChunkOut(fields_of(Chunk, "part text place")):
    place: dict[str, int | str] | None


class ChunkList(Shown):
    items: list[ChunkOut]
    next_part: int | None = Field(description="Pass it as `beyond` to read on.")


class DocumentVersionOut(fields_of(DocumentVersion, "version change name media_type size_bytes changed_by changed_at")):
    pass


def _of(kind: Kind, operation: Operation) -> Operation:
    async def call(services: Services, principal: Principal, workspace_id: str, *rest: Any, **more: Any) -> Any:
        return await operation(services, principal, workspace_id, kind, *rest, **more)

    return call


_documents = Routes(router, DocumentOut)
_versions = Routes(router, DocumentVersionOut, listed="DocumentHistory")

_FILE = "/files/{document_id:doc}"
_ARTIFACT = "/artifacts/{artifact_id:art}"


_KNOWN: dict[int | str, dict[str, Any]] = {200: {"model": UploadedOut, "description": "It was there already."}}


@router.post(
    "/files", status_code=201, responses=_KNOWN,
    summary="Upload a file, or another version of it: txt, md, html, pdf, docx, xlsx, csv, pptx, epub or eml",
)  # fmt: skip
async def upload_file(
    services: Used, principal: Caller, workspace_id: str, file: UploadFile, response: Response,
    created_at: Origin = None,
) -> UploadedOut:  # fmt: skip
    refuse_future("query.created_at", created_at, services.clock())
    name = (file.filename or "").replace("\\", "/").rsplit("/", 1)[-1].strip()
    try:
        refuse_unstorable(name, ("filename",))
    except ValueError as fault:
        raise Malformed(f"{fault}.", details=[{"path": "body.file", "message": str(fault)}]) from None
    if not name or len(name) > 255:
        message = "the file needs a name of at most 255 characters"
        raise Malformed(f"body.file: {message}.", details=[{"path": "body.file", "message": message}])
    made, change = await documents.upload(
        services, principal, workspace_id, name=name, data=await file.read(), media_type=file.content_type,
        at=created_at,
    )  # fmt: skip
    response.status_code = 200 if change == "unchanged" else 201
    return UploadedOut.of(made, change=change)


_documents.page(
    "/files", _of("file", documents.list_documents), "list_files", "The files of a workspace, the newest first",
    deleted=(InTrash, False),
)  # fmt: skip
_documents.one("GET", _FILE, _of("file", documents.get), "get_file", "One file")


@router.get(
    "/files/{document_id:doc}/content", summary="A file as it was uploaded, or an earlier version of it",
    response_class=Response,
)  # fmt: skip
async def get_file_content(
    services: Used, principal: Caller, workspace_id: str, document_id: str, version: EarlierVersion = None
) -> Response:
    file = await documents.contents(services, principal, workspace_id, "file", document_id, version=version)
    # As a download and as nothing a browser would run: it is somebody's file, not a page of ours.
    headers = {
        "content-disposition": f"attachment; filename*=UTF-8''{quote(file.name, safe='')}",
        "content-security-policy": "sandbox; default-src 'none'",
    }
    return Response(file.original or file.content.encode(), media_type=file.media_type, headers=headers)


@router.get("/files/{document_id:doc}/chunks", summary="The parts of a file, each with its place")
async def list_chunks(
    services: Used,
    principal: Caller,
    workspace_id: str,
    document_id: str,
    beyond: Annotated[int, Query(ge=-1, le=10_000_000)] = -1,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> ChunkList:
    chunks = await documents.list_chunks(services, principal, workspace_id, document_id, beyond=beyond, limit=limit + 1)
    shown = [ChunkOut.model_validate(chunk) for chunk in chunks[:limit]]
    return ChunkList(items=shown, next_part=chunks[limit - 1].part if len(chunks) > limit else None)


_documents.remove(_FILE, _of("file", documents.delete), "delete_file", "Into the trash, for 30 days")
_documents.one("POST", f"{_FILE}/restore", _of("file", documents.restore), "restore_file", "A file out of the trash")
_versions.all(
    f"{_FILE}/history", _of("file", documents.versions), "get_file_history",
    "Every version of a file, the latest first",
)  # fmt: skip


@router.post("/files/{document_id:doc}/revert", summary="An earlier version of a file as the newest")
async def revert_file(
    services: Used, principal: Caller, workspace_id: str, document_id: str, version: WantedVersion
) -> DocumentOut:
    made = await documents.revert_file(services, principal, workspace_id, document_id, version=version)
    return DocumentOut.model_validate(made)


@router.post("/artifacts", status_code=201, summary="Keep an artifact: a text that is worked on")
async def create_artifact(services: Used, principal: Caller, workspace_id: str, body: ArtifactIn) -> ArtifactOut:
    made = await documents.create_artifact(services, principal, workspace_id, **dict(body))
    return ArtifactOut.of(made, content=body.content)


_documents.page(
    "/artifacts", _of("artifact", documents.list_documents), "list_artifacts",
    "The artifacts of a workspace, the newest first", deleted=(InTrash, False),
)  # fmt: skip


@router.get("/artifacts/{artifact_id:art}", summary="One artifact, or an earlier version of it")
async def get_artifact(
    services: Used,
    principal: Caller,
    workspace_id: str,
    artifact_id: str,
    version: EarlierVersion = None,
) -> ArtifactOut:
    text = await documents.contents(services, principal, workspace_id, "artifact", artifact_id, version=version)
    made = await documents.get(services, principal, workspace_id, "artifact", artifact_id)
    return ArtifactOut.of(
        made, version=text.version, name=text.name, media_type=text.media_type, content=text.content,
        size_bytes=len(text.content.encode()),
    )  # fmt: skip


@router.patch("/artifacts/{artifact_id:art}", summary="Another version of an artifact")
async def change_artifact(
    services: Used, principal: Caller, workspace_id: str, artifact_id: str, body: ArtifactChange
) -> ArtifactOut:
    made = await documents.update_artifact(services, principal, workspace_id, artifact_id, **dict(body))
    return await _with_text(services, principal, made)


@router.post("/artifacts/{artifact_id:art}/revert", summary="An earlier version as the newest")
async def revert_artifact(
    services: Used,
    principal: Caller,
    workspace_id: str,
    artifact_id: str,
    version: WantedVersion,
) -> ArtifactOut:
    made = await documents.revert_artifact(services, principal, workspace_id, artifact_id, version=version)
    return await _with_text(services, principal, made)


async def _with_text(services: Services, principal: Principal, artifact: Document) -> ArtifactOut:
    text = await documents.contents(services, principal, artifact.workspace_id, "artifact", artifact.id)
    return ArtifactOut.of(artifact, content=text.content)


_versions.all(
    f"{_ARTIFACT}/history", _of("artifact", documents.versions), "get_artifact_history",
    "Every version of an artifact, the latest first",
)  # fmt: skip
_documents.remove(_ARTIFACT, _of("artifact", documents.delete), "delete_artifact", "Into the trash, for 30 days")
_documents.one(
    "POST", f"{_ARTIFACT}/restore", _of("artifact", documents.restore), "restore_artifact",
    "An artifact out of the trash",
)  # fmt: skip
