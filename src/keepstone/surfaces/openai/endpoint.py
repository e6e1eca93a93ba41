"""The routes: each takes a body as it comes, hands it on, and gives back what comes of it."""

import base64
from functools import partial
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Header, Request, Response
from fastapi.responses import JSONResponse

from keepstone.errors import Invalid, NotFound
from keepstone.memory import embeddings
from keepstone.model.ids import pattern
from keepstone.relay.dialects.values import as_list, dumped, read_object
from keepstone.relay.passing import PassedRequest, pass_to, who_embeds
from keepstone.relay.requests import (
    ClientRequest,
    UseOfMemory,
    described,
    forward,
    list_models,
    may_name,
    named_here,
    relay,
    require_model,
    speaker,
)
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.openai.client import sent_headers, while_there
from keepstone.surfaces.openai.described import EVENTS, JSON, answers, body_of_any, openai_router

router = openai_router()

MemoryHeader = Annotated[
    UseOfMemory,
    Header(
        alias="X-Keepstone-Memory",
        description="`inject`: what is remembered is put before the model. `tools`: it can save and look up. `on`: "
        "both. `off`: the request goes as it is.",
    ),
]
WorkspaceHeader = Annotated[
    str | None,
    Header(
        alias="X-Keepstone-Workspace",
        pattern=f"^{pattern('ws')}$",
        description="Whose memory. Default: the chat's, or your default workspace.",
    ),
]
ChatHeader = Annotated[
    str | None,
    Header(alias="X-Keepstone-Chat", pattern=f"^{pattern('chat')}$", description="A chat to keep what is said in."),
]


def _asked(
    memory: MemoryHeader = "on", workspace: WorkspaceHeader = None, chat: ChatHeader = None
) -> "partial[ClientRequest]":
    return partial(ClientRequest, memory=memory, workspace_id=workspace, chat_id=chat)


Asked = Annotated[partial[ClientRequest], Depends(_asked)]


def _relaying(protocol: str) -> dict[str, Any]:
    body = body_of_any(f"As OpenAI's {protocol} take it. Without `model`: KEEPSTONE_LLM_MODEL.")
    return {"responses": answers(EVENTS), "openapi_extra": body}


@router.post(
    "/chat/completions", summary="Chat completion by the upstream, with memory", **_relaying("chat completions")
)
async def chat_completions(request: Request, asked: Asked, services: Used, principal: Caller) -> Response:
    return await while_there(request, relay(services, principal, asked(dialect="chat", raw=await request.body())))


@router.post("/responses", summary="Response by the upstream, with memory", **_relaying("responses"))
async def responses(request: Request, asked: Asked, services: Used, principal: Caller) -> Response:
    return await while_there(request, relay(services, principal, asked(dialect="responses", raw=await request.body())))


@router.get("/models", summary="The models that can be asked for, of chat and of embeddings", responses=answers())
async def models(request: Request, services: Used, principal: Caller) -> Response:  # noqa: ARG001
    if services.upstream is not None:
        return await while_there(request, list_models(services, services.upstream))
    return JSONResponse({"object": "list", "data": [described(*one) for one in named_here(services).items()]})


@router.get("/models/{model:rest}", summary="One of them", responses=answers())
async def model(request: Request, services: Used, principal: Caller, model: str) -> Response:  # noqa: ARG001
    # A path that climbs would reach what else the operator's key opens.
    upstream = services.upstream
    if owner := named_here(services).get(model):
        return JSONResponse(described(model, owner))
    climbs = {"", ".", ".."} & set(model.split("/"))
    if upstream is not None and not climbs and may_name(services, model, upstream.model):
        path = f"/models/{quote(model, safe='/:@')}"
        return await while_there(request, forward(upstream, "GET", path))
    raise NotFound("There is no such model.", code="model_not_found")


@router.post(
    "/embeddings",
    name="embeddings",
    summary="Embeddings made here, or by the endpoint or the provider that has the model",
    responses=answers(),
    openapi_extra=body_of_any("As OpenAI's embeddings take it; made here: `input` is a text or a list of texts."),
)
async def make_embeddings(request: Request, services: Used, principal: Caller) -> Response:
    raw = await request.body()
    body = read_object(raw)
    principal = await speaker(services, principal, body.get("user"))
    named = body.get("model")
    upstream = who_embeds(services, named if isinstance(named, str) else None)
    if upstream is not None:
        own = upstream is services.embeddings_upstream and (named is None or isinstance(named, str))
        meant = embeddings.stands_for(named, upstream.model) if own else named
        require_model(services, meant, upstream.model)
        sent = raw if meant == named else dumped({**body, "model": meant})
        headers = sent_headers(request) | {"content-type": JSON}
        passed = PassedRequest(method="POST", path="/embeddings", headers=headers, body=sent)
        return await while_there(request, pass_to(services, principal, upstream, passed))
    made = await embeddings.embed(
        services, _texts(body.get("input")), model=_text(body, "model"), dimensions=_number(body, "dimensions")
    )
    encoding = _text(body, "encoding_format") or "float"
    if encoding not in {"float", "base64"}:
        raise _wrong("encoding_format", "must be float or base64")
    data = [
        {"object": "embedding", "index": index, "embedding": _vector(vector, encoding)}
        for index, vector in enumerate(made.vectors)
    ]
    usage = {"prompt_tokens": made.tokens, "total_tokens": made.tokens}
    return JSONResponse({"object": "list", "data": data, "model": made.model, "usage": usage})


def _texts(given: Any) -> list[str]:
    texts = [given] if isinstance(given, str) else as_list(given)
    if not texts or not all(isinstance(text, str) for text in texts):
        raise _wrong("input", "must be a text or a list of texts; tokens can't be read here")
    return texts


def _text(body: dict[str, Any], name: str) -> str | None:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise _wrong(name, "must be a text")
    return value


def _number(body: dict[str, Any], name: str) -> int | None:
    value = body.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise _wrong(name, "must be a whole number")
    return value


def _vector(vector: Any, encoding: str) -> Any:
    if encoding == "float":
        return vector.tolist()
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()


def _wrong(name: str, message: str) -> Invalid:
    return Invalid(f"`{name}` {message}.", details=[{"path": name, "message": message}])
