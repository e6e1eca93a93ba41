"""What this client sends and gets."""

from datetime import UTC, date, datetime
from typing import Annotated, Any, cast

from pydantic import BaseModel, BeforeValidator, Field

from keepstone.memory.entity_memories import KeptEntityMemory
from keepstone.model.entity import EntityMemory
from keepstone.model.memory import Version
from keepstone.surfaces.http.wire import MaySupersede, Shown, Supersede, Time, Wire, read_time

# What happened to a memory, in this client's words.
EVENTS = {
    "created": "ADD", "updated": "UPDATE", "revised": "UPDATE", "revived": "UPDATE", "known": "NOOP",
    "deleted": "DELETE", "restored": "ADD",
}  # fmt: skip
Id = Annotated[str | None, Field(description="Whose memory it is. Any text but `*`, up to 255 characters.")]
Filters = Annotated[
    dict[str, Any] | None,
    Field(description="AND, OR, NOT and comparisons; has to name a user_id, agent_id, app_id or run_id."),
]
Category = Annotated[str, Field(min_length=1, max_length=255)]
Categories = Annotated[list[Category], Field(max_length=50)]
MOST_A_PAGE = 1_000
FARTHEST = 1_000_000  # pages
Size = Annotated[int | None, Field(ge=1, le=MOST_A_PAGE)]


def _day(value: Any) -> Any:
    """Of a time the day on which it is, in UTC: as mem0 has it, days are never those of a place."""
    at = read_time(value)
    if isinstance(at, datetime):
        try:
            return at.astimezone(UTC).date()
        except OverflowError:
            pass
    elif value is None or isinstance(value, date):
        return value
    raise ValueError("has to be a day such as 2030-01-31, the last one on which the memory is found, or null for none")


LastDay = Annotated[date | None, BeforeValidator(_day)]
# Which organisation and project: what `/v1/ping/` said, or nothing.
Place = Annotated[str | None, Field(max_length=255)]


class Mem0MessageIn(Wire):
    role: Annotated[str, Field(pattern="^(user|assistant|system|tool)$")] = "user"
    content: str | list[dict[str, Any]] | dict[str, Any] = Field(description="A text, or parts of which all are texts.")
    name: Annotated[str | None, Field(min_length=1, max_length=255)] = None


def _messages(value: Any) -> Any:
    """The client for Python makes a list of one message itself, that for npm sends it as it came."""
    return cast("Any", [{"role": "user", "content": value}] if isinstance(value, str) else
                [value] if isinstance(value, dict) else value)  # fmt: skip


class Mem0Request(Wire):
    """What any call may say besides, and what makes no difference here."""

    org_id: Place = None
    project_id: Place = None
    version: Annotated[str | None, Field(max_length=16)] = None
    output_format: Annotated[str | None, Field(max_length=16)] = None
    source: Annotated[str | None, Field(max_length=255)] = None


class Mem0AddIn(Mem0Request):
    messages: Annotated[
        list[Mem0MessageIn],
        Field(min_length=1, max_length=1_000, description="One alone may be a text or an object."),
        BeforeValidator(_messages),
    ]
    user_id: Id = None
    agent_id: Id = None
    app_id: Id = None
    run_id: Id = None
    filters: Annotated[
        dict[str, Any] | None, Field(description="The ids may stand in here instead, and nothing else.")
    ] = None
    metadata: dict[str, Any] | None = None
    infer: Annotated[
        bool | None, Field(description="Read what is worth keeping out of the messages; false: keep them as they are.")
    ] = None
    categories: Categories = Field(default_factory=list[str])
    immutable: bool = False
    expiration_date: Annotated[LastDay, Field(description="The last day on which it is found, in UTC.")] = None
    timestamp: Annotated[int | float | None, Field(description="When it was said, in seconds since 1970.")] = None
    supersede: Supersede = "auto"
    async_mode: Annotated[bool | None, Field(description="Makes no difference: what is answered is stored.")] = None
    # Not here. Each is refused with a word on what to do instead.
    custom_categories: Any = None
    custom_instructions: Any = None
    agent_custom_instructions: Any = None
    structured_data_schema: Any = None
    includes: Any = None
    excludes: Any = None
    enable_graph: Any = None


class Mem0PartIn(Wire):
    """Which part of a list: a page, or so many from an offset on."""

    page: Annotated[int | None, Field(ge=1, le=FARTHEST, description="From 1.")] = None
    page_size: Size = None
    top_k: Annotated[Size, Field(description="The same as `page_size`.")] = None
    limit: Annotated[Size, Field(description="The same as `page_size`.")] = None
    offset: Annotated[
        int | None, Field(ge=0, le=FARTHEST * MOST_A_PAGE, description="How many of the newest are passed over.")
    ] = None


class Mem0ListIn(Mem0Request, Mem0PartIn):
    filters: Filters = None
    categories: Categories | None = None
    show_expired: bool | None = None
    latest_only: Annotated[bool | None, Field(description="Makes no difference: an updated memory is there once.")] = (
        None
    )
    fields: Annotated[list[str] | None, Field(max_length=50)] = None
    start_date: str | None = None
    end_date: str | None = None
    enable_graph: Any = None


class Mem0TrashIn(Mem0Request, Mem0PartIn):
    filters: Filters = None


class Mem0RestoreIn(Wire):
    version: Annotated[
        int | None,
        Field(ge=1, le=2**31 - 1, description="What it said then, by its history. Without it: out of the trash."),
    ] = None


class Mem0SearchIn(Mem0Request):
    query: Annotated[str, Field(min_length=1, max_length=100_000)]
    filters: Filters = None
    metadata: dict[str, Any] | None = None
    categories: Categories | None = None
    top_k: Annotated[int | None, Field(ge=1, le=1_000)] = None
    limit: Annotated[int | None, Field(ge=1, le=1_000, description="The same as `top_k`.")] = None
    threshold: Annotated[float | None, Field(ge=0, le=1, description="Leave out what is less relevant.")] = None
    fields: Annotated[list[str] | None, Field(max_length=50)] = None
    show_expired: bool | None = None
    reference_date: Annotated[str | int | None, Field(description="What `yesterday` is counted from.")] = None
    rerank: Annotated[bool | None, Field(description="Makes no difference: results are always ranked.")] = None
    keyword_search: Annotated[bool | None, Field(description="Makes no difference: words always count.")] = None
    latest_only: bool | None = None
    enable_graph: Any = None


class Mem0UpdateIn(Wire):
    text: Annotated[str | None, Field(min_length=1)] = None
    metadata: dict[str, Any] | None = None
    timestamp: int | float | str | None = None
    expiration_date: Annotated[LastDay, Field(description="null takes it away.")] = None


class Mem0ChangeIn(Mem0UpdateIn):
    memory_id: Annotated[str, Field(max_length=64)]


class Mem0BatchUpdateIn(Wire):
    memories: Annotated[list[Mem0ChangeIn], Field(min_length=1, max_length=1_000)]


class Mem0MemoryId(Wire):
    memory_id: Annotated[str, Field(max_length=64)]


class Mem0BatchDeleteIn(Wire):
    memories: Annotated[list[Mem0MemoryId], Field(min_length=1, max_length=1_000)]


# ---------------------------------------------------------------------------------------------------- what goes out


class Mem0PingOut(BaseModel):
    status: str
    org_id: str
    project_id: str
    user_email: str | None


class Mem0MemoryOut(Shown):
    id: str
    memory: str = Field(validation_alias="content")
    user_id: str | None = Field(validation_alias="for_user")
    agent_id: str | None = Field(validation_alias="for_agent")
    app_id: str | None = Field(validation_alias="for_app")
    run_id: str | None = Field(validation_alias="for_run")
    actor_id: str | None = Field(
        validation_alias="actor", description="The `name` of the message that it was taken from."
    )
    role: str | None
    metadata: dict[str, Any]
    categories: list[str] = Field(validation_alias="tags")
    immutable: bool
    expiration_date: date | None = Field(validation_alias="expires_on")
    created_at: Time
    updated_at: Time


class Mem0FoundOut(Mem0MemoryOut):
    score: float = Field(description="Relevance: a probability.")


class Mem0EventOut(Mem0MemoryOut):
    event: str = Field(description="`ADD`, `UPDATE`, or `NOOP` for what is known already.")
    previous_memory: str | None = Field(description="What an updated memory said before.")
    may_supersede: MaySupersede


class Mem0AddOut(BaseModel):
    results: list[Mem0EventOut]
    message: str | None = Field(default=None, description="Why nothing was kept.", exclude_if=lambda said: said is None)


class Mem0PageOut(BaseModel):
    count: int = Field(description="How many there are on all pages.")
    next: str | None = Field(description="Where the same body is sent for the next page.")
    previous: str | None
    results: list[dict[str, Any]] = Field(description="Memories, the newest first.")


class Mem0SearchOut(BaseModel):
    results: list[dict[str, Any]] = Field(description="Memories with their `score`, the most relevant first.")


class Mem0TrashOut(BaseModel):
    results: list[Mem0MemoryOut]


class Mem0VersionOut(Shown):
    id: str
    memory_id: str
    version: int
    old_memory: str | None
    new_memory: str | None
    event: str
    metadata: dict[str, Any]
    categories: list[str]
    user_id: str | None = Field(validation_alias="for_user")
    agent_id: str | None = Field(validation_alias="for_agent")
    app_id: str | None = Field(validation_alias="for_app")
    run_id: str | None = Field(validation_alias="for_run")
    created_at: Time = Field(description="When the memory was made.")
    updated_at: Time = Field(description="When it changed so.")
    is_deleted: bool


class Mem0EntityOut(Shown):
    id: str = Field(validation_alias="name")
    name: str
    type: str
    total_memories: int = Field(validation_alias="memories")
    created_at: Time
    updated_at: Time = Field(validation_alias="changed_at")


class Mem0EntitiesOut(BaseModel):
    count: int
    next: str | None
    previous: str | None
    total_count: int
    results: list[Mem0EntityOut]


class Mem0MessageOut(BaseModel):
    message: str


def show_kept(kept: KeptEntityMemory) -> Mem0EventOut:
    return Mem0EventOut.of(
        kept.memory, event=EVENTS[kept.event], previous_memory=kept.previous, may_supersede=list(kept.may_supersede)
    )


def show_version(memory: EntityMemory, before: Version | None, version: Version) -> Mem0VersionOut:
    gone = version.change == "deleted"
    was_gone = before is not None and before.change == "deleted"
    return Mem0VersionOut.of(
        memory, id=f"{memory.id}:{version.version}", memory_id=memory.id, version=version.version,
        old_memory=None if before is None or was_gone else before.content, new_memory=None if gone else version.content,
        event=EVENTS[version.change], metadata=version.metadata, categories=version.tags,
        updated_at=version.changed_at, is_deleted=gone,
    )  # fmt: skip
