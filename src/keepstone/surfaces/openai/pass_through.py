"""What OpenAI has besides chats, passed on as it comes. What the provider does not keep has a route each, since the
model that it names is looked at; what it keeps goes by its family.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from functools import partial
from typing import Annotated, Any, get_args
from urllib.parse import quote

from fastapi import Path, Request, Response
from starlette.requests import ClientDisconnect

from keepstone.errors import NotFound
from keepstone.relay.dialects.values import read_object
from keepstone.relay.passing import Family, PassedRequest, pass_on, pass_on_kept, pass_on_response
from keepstone.relay.requests import Relayed
from keepstone.services import Services
from keepstone.surfaces.http.bodies import read_in_pieces
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.wire import register_id
from keepstone.surfaces.openai.client import GONE, sent_headers, shown, while_there
from keepstone.surfaces.openai.described import BYTES, EVENTS, FORM, JSON, answers, body_of_any, openai_router

router = openai_router()
register_id("kept_family", "|".join(get_args(Family)))

ResponseId = Annotated[str, Path(description="As `POST /v1/responses` gave it.")]
InFamily = Annotated[Family, Path(description="What kind of thing it is.")]
Rest = Annotated[str, Path(description="The rest of the address, as OpenAI has it.")]


def _add(path: str, name: str, summary: str, takes: Sequence[str] = (JSON,), gives: Sequence[str] = ()) -> None:
    """A route for what the provider does and does not keep."""

    async def passed_on(request: Request, services: Used, principal: Caller) -> Response:
        raw = await request.body()
        headers = sent_headers(request)
        if FORM in takes and headers.get("content-type", "").startswith(FORM):
            async with request.form() as form:
                fields, models = dict[str, Any](), form.getlist("model")
        else:  # and the upstream is to read it as what was looked at here
            fields, headers["content-type"] = read_object(raw), JSON
            models = [fields.get("model")]
        passed = PassedRequest(method="POST", path=path, headers=headers, body=raw)
        return await while_there(request, pass_on(services, principal, passed, fields, models))

    router.add_api_route(
        path, passed_on, methods=["POST"], name=name, summary=summary, responses=answers(*gives),
        openapi_extra=body_of_any(f"As OpenAI's `/v1{path}` takes it.", *takes),
    )  # fmt: skip


_add("/completions", "completions", "Completion of a text by the upstream, without memory", gives=[EVENTS])
_add("/moderations", "moderations", "Moderation by the upstream")
_add("/images/generations", "generate_images", "Images by the upstream", gives=[EVENTS])
_add("/images/edits", "edit_images", "Images changed by the upstream", [FORM, JSON], [EVENTS])
_add("/images/variations", "vary_images", "Images like one, by the upstream", [FORM])
_add("/audio/speech", "speak", "Speech by the upstream", gives=[BYTES, EVENTS])
_add("/audio/transcriptions", "transcribe", "What is said in a recording, by the upstream", [FORM], [EVENTS])
_add("/audio/translations", "translate", "The same in English", [FORM])
_add("/rerank", "rerank", "Texts in the order of a question, by an upstream that has it")
_add("/responses/input_tokens", "count_input_tokens", "How many tokens a response would read")
_add("/responses/compact", "compact_response", "A conversation in fewer tokens, by the upstream")


async def _of_response(
    request: Request, services: Used, principal: Caller, response_id: ResponseId, path: Rest
) -> Response:
    def work(passed: PassedRequest) -> Awaitable[Relayed]:
        return pass_on_response(services, principal, passed, response_id)

    return await _pass(request, services, work, "responses", response_id, *path.split("/"))


async def _response(request: Request, services: Used, principal: Caller, response_id: ResponseId) -> Response:
    def work(passed: PassedRequest) -> Awaitable[Relayed]:
        return pass_on_response(services, principal, passed, response_id)

    return await _pass(request, services, work, "responses", response_id)


async def _of_family(request: Request, services: Used, principal: Caller, family: InFamily, path: Rest) -> Response:
    return await _pass(request, services, partial(pass_on_kept, services, principal), family, *path.split("/"))


async def _family(request: Request, services: Used, principal: Caller, family: InFamily) -> Response:
    return await _pass(request, services, partial(pass_on_kept, services, principal), family)


async def _pass(
    request: Request, services: Services, work: Callable[[PassedRequest], Awaitable[Relayed]], *parts: str
) -> Response:
    passed = PassedRequest(
        method=request.method, path=_path(request, parts), headers=sent_headers(request, in_pieces=True),
        body=_pieces(request, services.settings.max_import_bytes),
    )  # fmt: skip
    try:
        return shown(await work(passed))
    except ClientDisconnect:
        return Response(status_code=GONE)


def _path(request: Request, parts: Sequence[str]) -> str:
    """As it came. One that climbs would reach what else the operator's key opens."""
    if {"", ".", ".."} & set(parts):
        raise NotFound("There is no such address.")
    query = request.scope["query_string"].decode("latin-1")
    return "".join(f"/{quote(part, safe=':@')}" for part in parts) + (f"?{query}" if query else "")


def _pieces(request: Request, largest: int) -> AsyncGenerator[bytes] | None:
    """The body on its way, so that no more than a piece of it is held here."""
    if not {"content-length", "transfer-encoding"}.intersection(request.headers.keys()):
        return None
    read_in_pieces(request, largest)
    return request.stream()


def _declare(path: str, handler: Callable[..., Any], **summaries: str) -> None:
    """By the methods, each named after what it does."""
    for name, summary in summaries.items():
        method = {"get": "GET", "list": "GET", "delete": "DELETE"}.get(name.partition("_")[0], "POST")
        kinds = (FORM, JSON) if method == "POST" else ()
        body = body_of_any("As OpenAI takes it; of any size up to KEEPSTONE_MAX_IMPORT_BYTES.", *kinds, required=False)
        router.add_api_route(
            path, handler, methods=[method], name=name, summary=summary, responses=answers(EVENTS, BYTES),
            openapi_extra=body if kinds else None,
        )  # fmt: skip


_declare(
    "/responses/{response_id}", _response,
    get_response="A response of yours that the upstream keeps", delete_response="Let the upstream forget it",
)  # fmt: skip
_declare(
    "/responses/{response_id}/{path:rest}", _of_response,
    get_of_response="What belongs to it, such as `input_items`", change_response="Such as `cancel`",
)  # fmt: skip
_declare(
    "/{family:kept_family}", _family,
    list_kept="What the upstream keeps of a family", create_kept="Something for the upstream to keep",
)  # fmt: skip
_declare(
    "/{family:kept_family}/{path:rest}", _of_family,
    get_kept="What the upstream keeps, and what belongs to it", change_kept="Change it, or do something with it",
    delete_kept="Let the upstream forget it",
)  # fmt: skip
