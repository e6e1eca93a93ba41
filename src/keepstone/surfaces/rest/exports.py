"""Everything that somebody has, as one file that is written while it is read."""

from collections.abc import AsyncGenerator
from typing import Annotated

from fastapi import Query
from fastapi.responses import StreamingResponse

from keepstone.memory import archive_zip
from keepstone.memory.archive_zip import Form
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.router import Router

router = Router(prefix="/v1", tags=["transfer"])

_FORM = "`json`: lines of JSON and the files, to be read back; `markdown`: pages to be read."


@router.get(
    "/export",
    summary="Everything you have and may see, as a zip",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}}},
)
async def export_everything(
    services: Used, principal: Caller, form: Annotated[Form, Query(alias="format", description=_FORM)] = "json"
) -> StreamingResponse:
    archive = archive_zip.export(services, principal, form)
    first = await anext(archive)  # so that a refusal is an answer and not a broken stream

    async def whole() -> AsyncGenerator[bytes]:
        yield first
        async for piece in archive:
            yield piece

    headers = {"Content-Disposition": f'attachment; filename="keepstone-{form}.zip"'}
    return StreamingResponse(whole(), media_type="application/zip", headers=headers)
