"""Runs a filter in Open WebUI itself: with its database, its loader and what calls filters in a chat.

A program of its own, for an environment that has the package `open-webui`: a line of JSON for each call comes in, one
with what came of it goes out.
"""

import asyncio
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import open_webui.config  # noqa: F401 - makes the database
from open_webui.models.functions import FunctionForm, FunctionMeta, Functions
from open_webui.models.users import Users
from open_webui.utils.filter import get_filter_context, get_filter_functions, process_filter_functions
from open_webui.utils.plugin import load_function_module_by_id

NAME = "keepstone"


async def install(source: Path, valves: dict[str, Any]) -> None:
    """As its admin page does: load it, keep it, set its valves, turn it on for every model."""
    content = source.read_text()
    _, kind, frontmatter, module = await load_function_module_by_id(NAME, content)
    form = FunctionForm(id=NAME, name=NAME, content=content, meta=FunctionMeta(manifest=frontmatter))
    assert await Functions.insert_new_function("admin", kind, form, module=module)
    assert await Functions.update_function_valves_by_id(NAME, valves)
    assert await Functions.update_function_by_id(NAME, {"is_active": True, "is_global": True})


async def meet(user: dict[str, Any], chosen: dict[str, Any]) -> dict[str, Any]:
    known = await Users.get_user_by_id(user["id"]) or await Users.insert_new_user(
        user["id"], user["name"], user["email"]
    )
    await Functions.update_user_valves_by_id_and_user_id(NAME, user["id"], chosen)
    assert known
    return known.model_dump()


async def call(kind: str, user: dict[str, Any], chosen: dict[str, Any], body: Any, metadata: Any) -> dict[str, Any]:
    events: list[Any] = []

    async def emit(event: Any) -> None:
        events.append(event)

    request = SimpleNamespace(state=SimpleNamespace(), app=APP)
    extra = {
        "__event_emitter__": emit, "__event_call__": None, "__user__": await meet(user, chosen),
        "__metadata__": metadata, "__request__": request, "__model__": {}, "__chat_id__": metadata.get("chat_id"),
        "__message_id__": metadata.get("message_id"),
    }  # fmt: skip
    functions = await get_filter_functions(request, {}, [])
    assert [function.id for function in functions] == [NAME]
    context = get_filter_context(request) if kind == "inlet" else None
    after, _ = await process_filter_functions(request, context, functions, kind, body, extra)
    return {"body": after, "events": events}


APP = SimpleNamespace(state=SimpleNamespace())


async def main() -> None:
    await install(Path(sys.argv[1]), json.loads(sys.argv[2]))
    while line := await asyncio.to_thread(sys.stdin.readline):
        sys.stdout.write("\n@" + json.dumps(await call(**json.loads(line))) + "\n")
        sys.stdout.flush()


asyncio.run(main())
