"""Rooms and direct messages: who is in them, what is said, what stands for it, and the prompt for an agent."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field, model_validator

from keepstone.memory import composer, room_memories, room_summaries, rooms
from keepstone.memory.rooms import LARGEST, Described, NewMessage
from keepstone.model.room import Tier, Utterance
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.wire import Name, PageOut, Paging, Shown, Time, Wire, show_page
from keepstone.surfaces.rest.agents import SLUG, Slug

router = APIRouter(prefix="/v1", tags=["rooms"])

UserName = Annotated[str, Field(min_length=1, max_length=255, description="An id or e-mail address of the account.")]
Text = Annotated[str, Field(min_length=1, max_length=LARGEST)]
LatestFirst = Annotated[bool, Query(description="Backwards: the latest first.")]
ThreadId = Annotated[str, Field(pattern=r"^thr_[a-z0-9]{24}$")]
ProjectId = Annotated[str, Field(pattern=r"^proj_[a-z0-9]{24}$")]


class RoomIn(Wire):
    name: Name
    project_id: ProjectId | None = None
    participants: Annotated[list[UserName], Field(max_length=500)] = Field(default=[])
    agents: Annotated[list[Slug], Field(max_length=50)] = Field(default=[])


class RoomChange(Wire):
    name: Name


class ParticipantIn(Wire):
    user: UserName


class AgentNamed(Wire):
    agent: Slug


class ParticipantOut(Shown):
    user_id: str
    name: str
    email: str
    role: str
    joined_at: Time


class RoomOut(Shown):
    id: str
    name: str
    project_id: str | None
    participants: list[ParticipantOut]
    agents: list[str]
    created_at: Time
    last_at: Time | None


class UtteranceIn(Wire):
    """`user` or `agent` says it; without either, you."""

    text: Text
    user: UserName | None = None
    agent: Slug | None = None
    ts: Time | None = None
    thread_id: ThreadId | None = None
    attachments: Annotated[list[dict[str, Any]], Field(max_length=20)] = Field(default=[])
    id: Annotated[str, Field(min_length=1, max_length=255)] | None = Field(
        default=None, description="Your own: the same again changes nothing."
    )

    @model_validator(mode="after")
    def _one_speaker(self) -> "UtteranceIn":
        if self.user is not None and self.agent is not None:
            raise ValueError("give user or agent, not both")
        return self


class UtteranceOut(Shown):
    id: str
    user: str | None
    agent: str | None
    name: str
    text: str
    ts: Time
    thread_id: str | None
    attachments: list[dict[str, Any]]


class WorkingOut(Shown):
    items: list[UtteranceOut]


class ThreadIn(Wire):
    title: Annotated[str, Field(max_length=255)] = ""


class ThreadOut(Shown):
    id: str
    title: str
    message_count: int
    opened_at: Time
    closed_at: Time | None


class SummaryOut(Shown):
    id: str
    tier: str
    thread_id: str | None
    content: str
    starts_at: Time
    ends_at: Time
    message_count: int
    source_ids: list[str]
    created_at: Time


class LandmarkIn(Wire):
    text: Text
    supersedes: Annotated[list[Annotated[str, Field(max_length=255)]], Field(max_length=100)] = Field(
        default=[], description="Landmarks that it takes the place of."
    )


class LandmarkOut(Shown):
    id: str
    text: str
    source_type: str = Field(description="`message`: found in one. `user`: pinned by hand.")
    source_message_id: str | None
    user_id: str | None
    superseded_by: str | None
    superseded_at: Time | None
    created_at: Time


class LandmarkList(Shown):
    items: list[LandmarkOut]


class RoomMemoryIn(Wire):
    text: Text
    type: Annotated[str, Field(min_length=1, max_length=64)] = "fact"
    agent: Slug | None = Field(default=None, description="For this agent alone; without one, for all.")


class RoomMemoryOut(Shown):
    id: str
    type: str
    text: str
    user_id: str = Field(description="Who said it; `*` for nobody in particular.")
    agent_id: str = Field(description="Which agent remembers it; `*` for all.")
    run_id: str
    visibility: str
    metadata: dict[str, Any]
    source_message_id: str | None
    created_at: Time


class LatestIn(Wire):
    text: Text
    user: UserName | None = None


class ComposeIn(Wire):
    agent: Slug
    message: LatestIn
    context_window: Annotated[int, Field(ge=256, le=10_000_000)] | None = Field(
        default=None, description="Instead of the agent's own."
    )


class ComposeDirectIn(Wire):
    message: LatestIn
    project_id: ProjectId | None = None
    context_window: Annotated[int, Field(ge=256, le=10_000_000)] | None = None


class PromptMessage(Shown):
    role: str
    content: str


class SectionOut(Shown):
    layer: str
    name: str
    tokens: int
    ids: list[str]


class TokensOut(Shown):
    prompt: int
    window: int
    ratio: float


class FilterOut(Shown):
    run_ids: list[str]
    visibility: list[str]


class ComposedOut(Shown):
    messages: list[PromptMessage]
    sections: list[SectionOut]
    tokens: TokensOut
    compacted: bool
    filter: FilterOut


@router.post("/rooms", status_code=201, summary="Make a room; you are in it")
async def create_room(services: Used, principal: Caller, body: RoomIn) -> RoomOut:
    made = await rooms.create(
        services, principal, name=body.name, project_id=body.project_id, participants=body.participants,
        agents=body.agents,
    )  # fmt: skip
    return _room(made)


@router.get("/rooms", summary="The rooms you are in, the newest first")
async def list_rooms(
    services: Used,
    principal: Caller,
    page: Paging,
    deleted: Annotated[bool, Query(description="What is in the trash instead.")] = False,
) -> PageOut[RoomOut]:
    return show_page(await rooms.list_rooms(services, principal, page, deleted=deleted), _room)


@router.get("/rooms/{room_id:room}", summary="One room, and who is in it")
async def get_room(services: Used, principal: Caller, room_id: str) -> RoomOut:
    return _room(await rooms.get(services, principal, room_id))


@router.patch("/rooms/{room_id:room}", summary="Rename a room")
async def rename_room(services: Used, principal: Caller, room_id: str, body: RoomChange) -> RoomOut:
    return _room(await rooms.rename(services, principal, room_id, name=body.name))


@router.delete("/rooms/{room_id:room}", status_code=204, summary="Into the trash, for 30 days")
async def delete_room(services: Used, principal: Caller, room_id: str) -> None:
    await rooms.delete(services, principal, room_id)


@router.post("/rooms/{room_id:room}/restore", summary="A room out of the trash")
async def restore_room(services: Used, principal: Caller, room_id: str) -> RoomOut:
    return _room(await rooms.restore(services, principal, room_id))


@router.post("/rooms/{room_id:room}/participants", summary="Let somebody in")
async def join_room(services: Used, principal: Caller, room_id: str, body: ParticipantIn) -> RoomOut:
    return _room(await rooms.join(services, principal, room_id, body.user))


@router.delete("/rooms/{room_id:room}/participants/{user_id:usr}", status_code=204, summary="Leave, or send away")
async def leave_room(services: Used, principal: Caller, room_id: str, user_id: str) -> None:
    await rooms.leave(services, principal, room_id, user_id)


@router.post("/rooms/{room_id:room}/agents", summary="Let an agent in")
async def add_room_agent(services: Used, principal: Caller, room_id: str, body: AgentNamed) -> RoomOut:
    return _room(await rooms.add_agent(services, principal, room_id, body.agent))


@router.delete("/rooms/{room_id:room}/agents/{slug}", status_code=204, summary="Send an agent away")
async def remove_room_agent(services: Used, principal: Caller, room_id: str, slug: str) -> None:
    await rooms.remove_agent(services, principal, room_id, slug.replace("\0", ""))


@router.post("/rooms/{room_id:room}/messages", status_code=201, summary="Say something in a room")
async def say_in_room(services: Used, principal: Caller, room_id: str, body: UtteranceIn) -> UtteranceOut:
    return _utterance(await rooms.say(services, principal, room_id, _new(body)))


@router.get("/rooms/{room_id:room}/messages", summary="What was said in a room, in order")
async def list_room_messages(
    services: Used,
    principal: Caller,
    room_id: str,
    page: Paging,
    thread_id: Annotated[str | None, Query(pattern=r"^thr_[a-z0-9]{24}$")] = None,
    latest_first: LatestFirst = False,
) -> PageOut[UtteranceOut]:
    found = await rooms.list_messages(
        services, principal, room_id, page, thread_id=thread_id, latest_first=latest_first
    )
    return show_page(found, _utterance)


@router.get("/rooms/{room_id:room}/working", summary="Working memory: the last 50 messages")
async def get_working(services: Used, principal: Caller, room_id: str) -> WorkingOut:
    return WorkingOut(items=[_utterance(one) for one in await rooms.working(services, principal, room_id)])


@router.post("/rooms/{room_id:room}/threads", status_code=201, summary="Open a thread")
async def open_thread(services: Used, principal: Caller, room_id: str, body: ThreadIn) -> ThreadOut:
    return ThreadOut.model_validate(await rooms.open_thread(services, principal, room_id, title=body.title))


@router.get("/rooms/{room_id:room}/threads", summary="The threads of a room, the newest first")
async def list_threads(services: Used, principal: Caller, room_id: str, page: Paging) -> PageOut[ThreadOut]:
    return show_page(await rooms.list_threads(services, principal, room_id, page), ThreadOut.model_validate)


@router.post("/rooms/{room_id:room}/threads/{thread_id:thr}/close", summary="Close a thread; it is summed up")
async def close_thread(services: Used, principal: Caller, room_id: str, thread_id: str) -> ThreadOut:
    return ThreadOut.model_validate(await rooms.close_thread(services, principal, room_id, thread_id))


@router.get("/rooms/{room_id:room}/summaries", summary="Episodic memory: what stands for what was said")
async def list_summaries(
    services: Used, principal: Caller, room_id: str, page: Paging, tier: Tier | None = None
) -> PageOut[SummaryOut]:
    found = await room_summaries.list_summaries(services, principal, room_id, tier, page)
    return show_page(found, SummaryOut.model_validate)


@router.get("/rooms/{room_id:room}/memories", summary="Semantic memory: what agents remember of a room")
async def list_room_memories(
    services: Used,
    principal: Caller,
    room_id: str,
    page: Paging,
    agent: Annotated[str | None, Query(pattern=SLUG)] = None,
) -> PageOut[RoomMemoryOut]:
    found = await room_memories.list_room(services, principal, room_id, page, agent=agent)
    return show_page(found, _memory)


@router.post("/rooms/{room_id:room}/landmarks", status_code=201, summary="Pin a decision")
async def pin_landmark(services: Used, principal: Caller, room_id: str, body: LandmarkIn) -> LandmarkOut:
    made = await room_memories.pin(services, principal, room_id, text=body.text, supersedes=body.supersedes)
    return LandmarkOut.model_validate(made)


@router.get("/rooms/{room_id:room}/landmarks", summary="What was decided, the oldest first")
async def list_landmarks(
    services: Used,
    principal: Caller,
    room_id: str,
    superseded: Annotated[bool, Query(description="Also those that no longer hold.")] = False,
) -> LandmarkList:
    found = await room_memories.list_landmarks(services, principal, room_id, superseded=superseded)
    return LandmarkList(items=[LandmarkOut.model_validate(one) for one in found])


@router.post("/rooms/{room_id:room}/compose", summary="The prompt for an agent of the room")
async def compose(services: Used, principal: Caller, room_id: str, body: ComposeIn) -> ComposedOut:
    made = await composer.compose_room(
        services, principal, room_id, agent=body.agent, user=body.message.user, text=body.message.text,
        window=body.context_window,
    )  # fmt: skip
    return _composed(made)


@router.post("/dms/{slug}/messages", status_code=201, summary="Say something to an agent alone")
async def say_to_agent(services: Used, principal: Caller, slug: str, body: UtteranceIn) -> UtteranceOut:
    return _utterance(await rooms.say_to_agent(services, principal, slug.replace("\0", ""), _new(body)))


@router.get("/dms/{slug}/messages", summary="What was said to an agent and by it, in order")
async def list_direct_messages(
    services: Used, principal: Caller, slug: str, page: Paging, latest_first: LatestFirst = False
) -> PageOut[UtteranceOut]:
    found = await rooms.list_messages(services, principal, slug.replace("\0", ""), page, latest_first=latest_first)
    return show_page(found, _utterance)


@router.get("/dms/{slug}/working", summary="The last 50 direct messages with an agent")
async def get_direct_working(services: Used, principal: Caller, slug: str) -> WorkingOut:
    found = await rooms.working(services, principal, slug.replace("\0", ""))
    return WorkingOut(items=[_utterance(one) for one in found])


@router.get("/dms/{slug}/summaries", summary="What stands for direct messages with an agent")
async def list_direct_summaries(
    services: Used, principal: Caller, slug: str, page: Paging, tier: Tier | None = None
) -> PageOut[SummaryOut]:
    found = await room_summaries.list_summaries(services, principal, slug.replace("\0", ""), tier, page)
    return show_page(found, SummaryOut.model_validate)


@router.get("/dms/{slug}/memories", summary="What an agent remembers of your direct messages")
async def list_direct_memories(services: Used, principal: Caller, slug: str, page: Paging) -> PageOut[RoomMemoryOut]:
    found = await room_memories.list_room(services, principal, slug.replace("\0", ""), page, agent=None)
    return show_page(found, _memory)


@router.post("/dms/{slug}/landmarks", status_code=201, summary="Pin something in direct messages with an agent")
async def pin_direct_landmark(services: Used, principal: Caller, slug: str, body: LandmarkIn) -> LandmarkOut:
    made = await room_memories.pin(
        services, principal, slug.replace("\0", ""), text=body.text, supersedes=body.supersedes
    )
    return LandmarkOut.model_validate(made)


@router.get("/dms/{slug}/landmarks", summary="Landmarks of your direct messages with an agent")
async def list_direct_landmarks(
    services: Used,
    principal: Caller,
    slug: str,
    superseded: Annotated[bool, Query(description="Also those that no longer hold.")] = False,
) -> LandmarkList:
    found = await room_memories.list_landmarks(services, principal, slug.replace("\0", ""), superseded=superseded)
    return LandmarkList(items=[LandmarkOut.model_validate(one) for one in found])


@router.post("/dms/{slug}/compose", summary="The prompt for an agent that answers you alone")
async def compose_direct(services: Used, principal: Caller, slug: str, body: ComposeDirectIn) -> ComposedOut:
    made = await composer.compose_dm(
        services, principal, slug.replace("\0", ""), user=body.message.user, text=body.message.text,
        project_id=body.project_id, window=body.context_window,
    )  # fmt: skip
    return _composed(made)


@router.post("/profiles/{user_id:usr}/memories", status_code=201, summary="Let agents know something of you")
async def remember_profile(services: Used, principal: Caller, user_id: str, body: RoomMemoryIn) -> RoomMemoryOut:
    return await _remembered(services, principal, "profile", user_id, body)


@router.get("/profiles/{user_id:usr}/memories", summary="What agents know of you")
async def list_profile_memories(
    services: Used, principal: Caller, user_id: str, page: Paging
) -> PageOut[RoomMemoryOut]:
    return show_page(await room_memories.list_shared(services, principal, "profile", user_id, page), _memory)


@router.post("/projects/{project_id:proj}/memories", status_code=201, summary="Let agents know something of a project")
async def remember_project(services: Used, principal: Caller, project_id: str, body: RoomMemoryIn) -> RoomMemoryOut:
    return await _remembered(services, principal, "project", project_id, body)


@router.get("/projects/{project_id:proj}/memories", summary="What agents know of a project")
async def list_project_memories(
    services: Used, principal: Caller, project_id: str, page: Paging
) -> PageOut[RoomMemoryOut]:
    return show_page(await room_memories.list_shared(services, principal, "project", project_id, page), _memory)


def _new(body: UtteranceIn) -> NewMessage:
    return NewMessage(
        text=body.text, user=body.user, agent=body.agent, ts=body.ts, thread_id=body.thread_id,
        attachments=tuple(body.attachments), client_id=body.id,
    )  # fmt: skip


def _room(found: Described) -> RoomOut:
    room = found.room
    return RoomOut(
        id=room.id, name=room.name, project_id=room.project_id, agents=list(found.agents), created_at=room.created_at,
        last_at=room.last_at, participants=[ParticipantOut.model_validate(one) for one in found.participants],
    )  # fmt: skip


def _utterance(said: Utterance) -> UtteranceOut:
    return UtteranceOut.model_validate(said)


async def _remembered(
    services: Used, principal: Caller, place: room_memories.Shared, name: str, body: RoomMemoryIn
) -> RoomMemoryOut:
    made = await room_memories.remember(
        services, principal, place, name, text=body.text, agent=body.agent, kind=body.type
    )
    return _memory(made)


def _memory(memory: Any) -> RoomMemoryOut:
    return RoomMemoryOut(
        id=memory.id, type=memory.type, text=memory.text, user_id=memory.user_id or "*",
        agent_id=memory.agent_id or "*", run_id=memory.run_id, visibility=memory.visibility, metadata=memory.metadata,
        source_message_id=memory.source_message_id, created_at=memory.created_at,
    )  # fmt: skip


def _composed(made: composer.Composed) -> ComposedOut:
    return ComposedOut(
        messages=[PromptMessage(**one) for one in made.messages],
        sections=[SectionOut.model_validate(one) for one in made.sections],
        tokens=TokensOut(
            prompt=made.prompt_tokens, window=made.window, ratio=round(made.prompt_tokens / made.window, 4)
        ),
        compacted=made.compacted,
        filter=FilterOut(run_ids=made.run_ids, visibility=made.visibility),
    )
