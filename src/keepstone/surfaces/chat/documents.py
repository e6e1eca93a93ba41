"""Files and artifacts of a workspace."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Response, UploadFile
from pydantic import Field

from keepstone.errors import Malformed
from keepstone.memory import documents
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.wire import PageOut, Paging, Shown, Time, Wire, refuse_unstorable, show_page

router = APIRouter(prefix="/workspaces/{workspace_id:ws}", tags=["documents"])

Deleted = Annotated[bool, Query(description="What is in the trash instead.")]
FileName = Annotated[str, Field(min_length=1, max_length=255)]
MediaType = Annotated[str, Field(pattern=r"^[a-z0-9.+-]{1,80}/[a-z0-9.+-]{1,80}$")]


class DocumentOut(Shown):
    id: str
    name: str
    media_type: str
    version: int
    size_bytes: int
    chunks: int = Field(description="How many parts of it can be found.")
    workspace_id: str
    created_by: str | None
    created_at: Time
    updated_at: Time
    deleted_at: Time | None = None


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


class ChunkOut(Shown):
    part: int
    text: str
    place: dict[str, int | str] | None


class ChunkList(Shown):
    items: list[ChunkOut]
    next_part: int | None = Field(description="Pass it as `beyond` to read on.")


class DocumentVersionOut(Shown):
    version: int
    change: str
    name: str
    media_type: str
    size_bytes: int
    changed_by: str | None
    changed_at: Time


class DocumentHistory(Shown):
    items: list[DocumentVersionOut]


@router.post("/files", status_code=201, summary="Upload a file: txt, md, html, pdf or docx")
async def upload_file(services: Used, principal: Caller, workspace_id: str, file: UploadFile) -> DocumentOut:
    name = (file.filename or "").replace("\\", "/").rsplit("/", 1)[-1].strip()
    try:
        refuse_unstorable(name, ("filename",))
    except ValueError as fault:
        raise Malformed(f"{fault}.", details=[{"path": "body.file", "message": str(fault)}]) from None
    if not name or len(name) > 255:
        message = "the file needs a name of at most 255 characters"
        raise Malformed(f"body.file: {message}.", details=[{"path": "body.file", "message": message}])
    made = await documents.upload(
        services, principal, workspace_id, name=name, data=await file.read(), media_type=file.content_type
    )
    return DocumentOut.model_validate(made)


@router.get("/files", summary="The files of a workspace, the newest first")
async def list_files(
    services: Used, principal: Caller, workspace_id: str, page: Paging, deleted: Deleted = False
) -> PageOut[DocumentOut]:
    found = await documents.list_documents(services, principal, workspace_id, "file", page, deleted=deleted)
    return show_page(found, DocumentOut.model_validate)


@router.get("/files/{document_id:doc}", summary="One file")
async def get_file(services: Used, principal: Caller, workspace_id: str, document_id: str) -> DocumentOut:
    return DocumentOut.model_validate(await documents.get(services, principal, workspace_id, "file", document_id))


@router.get("/files/{document_id:doc}/content", summary="A file as it was uploaded", response_class=Response)
async def get_file_content(services: Used, principal: Caller, workspace_id: str, document_id: str) -> Response:
    found = await documents.contents(services, principal, workspace_id, "file", document_id)
    # As a download and as nothing a browser would run: it is somebody's file, not a page of ours.
    headers = {
        "content-disposition": f"attachment; filename*=UTF-8''{quote(found.name, safe='')}",
        "content-security-policy": "sandbox; default-src 'none'",
    }
    return Response(found.original or found.content.encode(), media_type=found.media_type, headers=headers)


@router.get("/files/{document_id:doc}/chunks", summary="The parts of a file, each with its place")
async def list_chunks(
    services: Used,
    principal: Caller,
    workspace_id: str,
    document_id: str,
    beyond: Annotated[int, Query(ge=-1, le=10_000_000)] = -1,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> ChunkList:
    found = await documents.list_chunks(services, principal, workspace_id, document_id, beyond=beyond, limit=limit + 1)
    shown = [ChunkOut.model_validate(one) for one in found[:limit]]
    return ChunkList(items=shown, next_part=shown[-1].part if len(found) > limit else None)


@router.delete("/files/{document_id:doc}", status_code=204, summary="Into the trash, for 30 days")
async def delete_file(services: Used, principal: Caller, workspace_id: str, document_id: str) -> None:
    await documents.delete(services, principal, workspace_id, "file", document_id)


@router.post("/files/{document_id:doc}/restore", summary="A file out of the trash")
async def restore_file(services: Used, principal: Caller, workspace_id: str, document_id: str) -> DocumentOut:
    return DocumentOut.model_validate(await documents.restore(services, principal, workspace_id, "file", document_id))


@router.get("/files/{document_id:doc}/history", summary="What happened to a file, the latest first")
async def get_file_history(services: Used, principal: Caller, workspace_id: str, document_id: str) -> DocumentHistory:
    found = await documents.versions(services, principal, workspace_id, "file", document_id)
    return DocumentHistory(items=[DocumentVersionOut.model_validate(one) for one in found])


@router.post("/artifacts", status_code=201, summary="Keep an artifact: a text that is worked on")
async def create_artifact(services: Used, principal: Caller, workspace_id: str, body: ArtifactIn) -> ArtifactOut:
    made = await documents.create_artifact(
        services, principal, workspace_id, name=body.name, content=body.content, media_type=body.media_type
    )
    return _artifact(made, body.content)


@router.get("/artifacts", summary="The artifacts of a workspace, the newest first")
async def list_artifacts(
    services: Used, principal: Caller, workspace_id: str, page: Paging, deleted: Deleted = False
) -> PageOut[DocumentOut]:
    found = await documents.list_documents(services, principal, workspace_id, "artifact", page, deleted=deleted)
    return show_page(found, DocumentOut.model_validate)


@router.get("/artifacts/{artifact_id:art}", summary="One artifact, or an earlier version of it")
async def get_artifact(
    services: Used,
    principal: Caller,
    workspace_id: str,
    artifact_id: str,
    version: Annotated[int | None, Query(ge=1, le=1_000_000_000)] = None,
) -> ArtifactOut:
    found = await documents.contents(services, principal, workspace_id, "artifact", artifact_id, version=version)
    made = await documents.get(services, principal, workspace_id, "artifact", artifact_id)
    told = {"version": found.version, "name": found.name, "media_type": found.media_type}
    return _artifact(made, found.content).model_copy(update=told | {"size_bytes": len(found.content.encode())})


@router.patch("/artifacts/{artifact_id:art}", summary="Another version of an artifact")
async def change_artifact(
    services: Used, principal: Caller, workspace_id: str, artifact_id: str, body: ArtifactChange
) -> ArtifactOut:
    made = await documents.update_artifact(
        services, principal, workspace_id, artifact_id, name=body.name, content=body.content,
        media_type=body.media_type,
    )  # fmt: skip
    found = await documents.contents(services, principal, workspace_id, "artifact", artifact_id)
    return _artifact(made, found.content)


@router.post("/artifacts/{artifact_id:art}/revert", summary="An earlier version as the newest")
async def revert_artifact(
    services: Used,
    principal: Caller,
    workspace_id: str,
    artifact_id: str,
    version: Annotated[int, Query(ge=1, le=1_000_000_000)],
) -> ArtifactOut:
    made = await documents.revert_artifact(services, principal, workspace_id, artifact_id, version=version)
    found = await documents.contents(services, principal, workspace_id, "artifact", artifact_id)
    return _artifact(made, found.content)


@router.get("/artifacts/{artifact_id:art}/history", summary="Every version of an artifact, the latest first")
async def get_artifact_history(
    services: Used, principal: Caller, workspace_id: str, artifact_id: str
) -> DocumentHistory:
    found = await documents.versions(services, principal, workspace_id, "artifact", artifact_id)
    return DocumentHistory(items=[DocumentVersionOut.model_validate(one) for one in found])


@router.delete("/artifacts/{artifact_id:art}", status_code=204, summary="Into the trash, for 30 days")
async def delete_artifact(services: Used, principal: Caller, workspace_id: str, artifact_id: str) -> None:
    await documents.delete(services, principal, workspace_id, "artifact", artifact_id)


@router.post("/artifacts/{artifact_id:art}/restore", summary="An artifact out of the trash")
async def restore_artifact(services: Used, principal: Caller, workspace_id: str, artifact_id: str) -> DocumentOut:
    made = await documents.restore(services, principal, workspace_id, "artifact", artifact_id)
    return DocumentOut.model_validate(made)


def _artifact(made: object, content: str) -> ArtifactOut:
    return ArtifactOut(**DocumentOut.model_validate(made).model_dump(), content=content)
