"""What a model sent, made sense of: a gap or a slip is answered with what would have been right."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError

from keepstone.errors import Malformed
from keepstone.model.ids import pattern
from keepstone.surfaces.http.wire import Wire
from keepstone.surfaces.mcp.answer import explained, given
from keepstone.surfaces.mcp.tool import CHANGEABLE, DEFAULT_LIMIT, INPUT, MOST, NEEDS, NO_PROJECT, example

Mode = Literal["save_memory", "search_memory", "get_memory", "update_memory", "forget_memory", "restore_memory"]
_MESSAGES = {
    "extra_forbidden": "is not known here; the parameters are " + ", ".join(INPUT["properties"]),
    "id": "must be cap_ and 24 letters and digits, as search_memory shows it",
    "project_id": "must be proj_ and 24 letters and digits, or none for no project; leave it out if you have none",
}


def _apart(value: Any) -> Any:
    """Tags as people say them: `auth, decision`."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


class ConductorArguments(Wire):
    mode: Mode
    id: Annotated[str | None, Field(pattern=f"^{pattern('cap')}$")] = None
    title: Annotated[str | None, Field(max_length=500)] = None
    content_md: str | None = None
    kind: Annotated[str | None, Field(max_length=50)] = None
    tags: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=100)]] | None, Field(max_length=50), BeforeValidator(_apart)
    ] = None
    query: Annotated[str | None, Field(max_length=2_000)] = None
    limit: Annotated[int, Field(ge=1, le=MOST)] = DEFAULT_LIMIT
    min_relevance: Annotated[float | None, Field(ge=0, le=1)] = None
    project_id: Annotated[str | None, Field(pattern=f"^({pattern('proj')}|{NO_PROJECT})$")] = None

    @property
    def changes(self) -> dict[str, Any]:
        given = {name: getattr(self, name) for name in CHANGEABLE}
        known = {name: value for name, value in given.items() if value is not None}
        return known | ({"project_id": None} if self.project_id == NO_PROJECT else {})


def read_arguments(raw: Mapping[str, Any]) -> ConductorArguments:
    said = given(raw)
    mode = said.get("mode")
    if not isinstance(mode, str) or mode not in NEEDS:
        fault = "mode is missing" if mode is None else "There is no such mode"
        raise Malformed(f"{fault}: it must be one of {', '.join(NEEDS)}. For example: {example('search_memory')}")
    for name in NEEDS[mode]:
        if name not in said:
            raise Malformed(f"{mode} needs {name}. For example: {example(mode)}")
    if mode == "save_memory" and "id" in said:
        raise Malformed("save_memory makes a new memory and takes no id: use update_memory to change that one.")
    try:
        arguments = ConductorArguments.model_validate(said)
    except ValidationError as fault:
        raise explained(fault, _MESSAGES) from None
    if mode == "save_memory" and arguments.project_id == NO_PROJECT:
        arguments = arguments.model_copy(update={"project_id": None})
    if mode == "update_memory" and not arguments.changes:
        raise Malformed(f"update_memory needs at least one of {', '.join(CHANGEABLE)}. For example: {example(mode)}")
    return arguments
