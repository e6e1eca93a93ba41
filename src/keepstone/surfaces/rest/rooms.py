"""Rooms and direct messages: who is in them, what is said, what stands for it, and the prompt for an agent."""

from functools import partial
from typing import Annotated, Any

from fastapi import Query
from pydantic import Field, model_validator

from keepstone.memory import composer, participants, room_memories, room_summaries, rooms
from keepstone.memory.prompt import PromptSection
from keepstone.memory.room_memories import KeptInRoom
from keepstone.memory.rooms import LARGEST, Described, NewMessage
from keepstone.memory.superseding import SupersedeWish
from keepstone.model.ids import pattern
from keepstone.model.invitation import Participant
from keepstone.model.principal import Principal
from keepstone.model.room import Landmark, RoomActivity, RoomMemory, Summary, Thread, Tier, Utterance
from keepstone.services import Services
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import InTrash, Operation, Routes, Superseded
from keepstone.surfaces.http.wire import Added, Existing, MaySupersede, Name, Shown, Supersede, Time, Wire, fields_of
from keepstone.surfaces.rest.agents import SLUG, Slug, plain

router = Router(prefix="/v1", tags=["rooms"])

ROOM = "/rooms/{room_id:room}"
DIRECT = "/dms/{slug}"
SHARED: tuple[tuple[room_memories.Shared, str, str], ...] = (
    ("profile", "/profiles/{user_id:usr}", "you"),
    ("project", "/projects/{project_id:proj}", "a project"),
)

UserName = Annotated[str, Field(min_length=1, max_length=255, description="An id or e-mail address of the account.")]
Text = Annotated[str, Field(min_length=1, max_length=LARGEST)]
ThreadId = Annotated[str, Field(pattern=r"^thr_[a-z0-9]{24}$")]
ProjectId = Annotated[str, Field(pattern=r"^proj_[a-z0-9]{24}$")]


class RoomIn(Wire):
    name: Name
    project_id: ProjectId | None = None
    participants: Annotated[list[UserName], Field(max_length=500)] = Field(default=[])
    agents: Annotated[list[Slug], Field(max_length=50)] = Field(default=[])


class RoomChange(Wire):
    name: Name | None = None
    project_id: ProjectId | None = Field(default=None, description="Into this project; null: out of its project.")


class ParticipantIn(Wire):
    user: UserName


class AgentNamed(Wire):
    agent: Slug


class ParticipantOut(fields_of(Participant, "user_id name email role status joined_at invited_by")):
    role: str
    status: str = Field(description="`joined`, or `invited`: not in it yet, and nothing of theirs is read.")
    joined_at: Time | None = Field(description="null: invited.")
    invited_by: str | None = Field(description="Of whoever is invited: by whom.")


class LastMessageOut(fields_of(RoomActivity, "message_id user agent name text ts")):
    text: str = Field(description="Its first 200 characters.")


class RoomOut(Shown):
    id: str
    name: str
    project_id: str | None
    participants: list[ParticipantOut]
    agents: list[str]
    created_at: Time
    last_at: Time | None
    invitation_id: str | None = Field(default=None, description="Yours, as long as you have not accepted it.")
    last_message: LastMessageOut | None = Field(default=None, description="In a list: what was said last.")
    unread: int | None = Field(default=None, description="In a list: how many others' you have not read, at most 100.")
    first_unread: str | None = Field(default=None, description="In a list: the oldest of these.")


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
    trace_id: Annotated[str, Field(pattern=f"^{pattern('trc')}$")] | None = Field(
        default=None, description="The trace of the prompt that this answers: composed here, and yours to read."
    )

    @model_validator(mode="after")
    def _one_speaker(self) -> "UtteranceIn":
        if self.user is not None and self.agent is not None:
            raise ValueError("give user or agent, not both")
        return self


class UtteranceOut(fields_of(Utterance, "id user agent name text ts thread_id attachments edited_at trace_id")):
    edited_at: Time | None = Field(default=None, description="When it got this wording; null: as it was said.")
    trace_id: str | None = Field(default=None, description="The trace of the prompt that it answers.")


class ThreadIn(Wire):
    title: Annotated[str, Field(max_length=255)] = ""


class ThreadOut(fields_of(Thread, "id title message_count opened_at closed_at")):
    pass


class SummaryOut(fields_of(Summary, "id tier thread_id content starts_at ends_at message_count source_ids created_at")):
    tier: str


class LandmarkIn(Wire):
    text: Text
    supersedes: Annotated[list[Annotated[str, Field(max_length=255)]], Field(max_length=100)] = Field(
        default=[], description="Landmarks that it takes the place of."
    )
    supersede: Supersede = "auto"


class LandmarkOut(
    fields_of(
        Landmark,
        "id text source_type source_message_id user_id superseded_by superseded_at version created_at updated_at",
    )
):
    source_type: str = Field(description="`message`: found in one. `user`: pinned by hand.")


class PinnedOut(LandmarkOut):
    superseded: list[str] = Field(description="Older landmarks that no longer hold.")
    may_supersede: MaySupersede


class RoomMemoryIn(Wire):
    text: Text
    type: Annotated[str, Field(min_length=1, max_length=64)] = room_memories.USUAL_TYPE
    agent: Slug | None = Field(default=None, description="For this agent alone; without one, for all.")
    supersede: Supersede = "auto"


class RoomMemoryOut(
    fields_of(
        RoomMemory,
        "id type text user_id agent_id run_id visibility metadata source_message_id superseded_by version created_at "
        "updated_at",
    )
):
    user_id: str = Field(description="Who said it; `*` for nobody in particular.")
    agent_id: str = Field(description="Which agent remembers it; `*` for all.")
    superseded_by: str | None = Field(description="What took its place.")


class RememberedOut(RoomMemoryOut):
    existing: Existing = False
    added: Added = None
    superseded: list[str] = Field(description="Older memories that no longer hold.")
    may_supersede: MaySupersede


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


class SectionOut(fields_of(PromptSection, "layer name tokens ids")):
    pass


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
    trace_id: str | None = Field(default=None, description="Why it says what it says: `GET /v1/traces/{trace_id}`.")


def shown_room(described: Described) -> RoomOut:
    return RoomOut.of(
        described.room, agents=described.agents, participants=described.participants,
        invitation_id=described.invitation_id, last_message=described.activity,
        unread=described.activity and described.activity.unread,
        first_unread=described.activity and described.activity.first_unread,
    )  # fmt: skip


def show_memory(memory: RoomMemory) -> RoomMemoryOut:
    return RoomMemoryOut.of(memory, user_id=memory.user_id or "*", agent_id=memory.agent_id or "*")


def _remembered(kept: KeptInRoom[RoomMemory]) -> RememberedOut:
    shown = show_memory(kept.memory).model_dump()
    return RememberedOut(
        **shown,
        existing=kept.existing,
        added=kept.added if kept.existing else None,
        superseded=list(kept.superseded),
        may_supersede=list(kept.may_supersede),
    )


def _pinned(kept: KeptInRoom[Landmark]) -> PinnedOut:
    return PinnedOut.of(kept.memory, superseded=list(kept.superseded), may_supersede=list(kept.may_supersede))


async def _pin(
    services: Services, principal: Principal, place: str, *, text: str, supersedes: list[str], supersede: Any
) -> KeptInRoom[Landmark]:
    wish = SupersedeWish.of(supersede, supersedes)
    return await room_memories.pin(services, principal, place, text=text, wish=wish)


def _composed(made: composer.Composed) -> ComposedOut:
    ratio = round(made.prompt_tokens / made.window, 4)
    tokens = TokensOut(prompt=made.prompt_tokens, window=made.window, ratio=ratio)
    return ComposedOut.of(made, tokens=tokens, filter=FilterOut.of(made))


def _saying(say: Operation) -> Operation:
    async def call(services: Services, principal: Principal, place: str, **said: Any) -> Utterance:
        attachments, client_id = tuple(said.pop("attachments")), said.pop("id")
        return await say(services, principal, place, NewMessage(attachments=attachments, client_id=client_id, **said))

    return call


def _remembering(place: room_memories.Shared) -> Operation:
    async def call(services: Services, principal: Principal, name: str, **new: Any) -> KeptInRoom[RoomMemory]:
        return await room_memories.remember(
            services, principal, name, place=place, text=new["text"], agent=new["agent"], kind=new["type"],
            wish=SupersedeWish.of(new["supersede"]),
        )  # fmt: skip

    return call


async def _compose(
    services: Services, principal: Principal, place: str, *, message: LatestIn, context_window: int | None, **more: Any
) -> composer.Composed:
    return await composer.compose(
        services, principal, place, user=message.user, text=message.text, window=context_window, **more
    )


_rooms = Routes(router, RoomOut, shown_room, read_id=plain)
_messages = Routes(router, UtteranceOut, read_id=plain, listed="WorkingOut")
_threads = Routes(router, ThreadOut)
_episodes = Routes(router, SummaryOut, read_id=plain)
_landmarks = Routes(router, LandmarkOut, read_id=plain, listed="LandmarkList")
_new_landmarks = Routes(router, PinnedOut, _pinned, read_id=plain)
_memories = Routes(router, RoomMemoryOut, show_memory, read_id=plain)
_new_memories = Routes(router, RememberedOut, _remembered, read_id=plain)
_prompts = Routes(router, ComposedOut, _composed, read_id=plain)

_THREAD = (Annotated[str | None, Query(pattern=r"^thr_[a-z0-9]{24}$")], None)
_LATEST_FIRST = (Annotated[bool, Query(description="Backwards: the latest first.")], False)
_SUPERSEDED = (Superseded, False)
_TIER = (Tier | None, None)
_AGENT = (Annotated[str | None, Query(pattern=SLUG)], None)

_rooms.one("POST", "/rooms", rooms.create, "create_room", "Make a room; you are in it", body=RoomIn, status=201)
_rooms.page(
    "/rooms", rooms.list_rooms, "list_rooms", "The rooms you are in, the newest first", deleted=(InTrash, False)
)
_rooms.one("GET", ROOM, rooms.get, "get_room", "One room, and who is in it")
_rooms.one("PATCH", ROOM, rooms.change, "change_room", "Rename a room, or put it into a project", changes=RoomChange)
_rooms.remove(ROOM, rooms.delete, "delete_room", "Into the trash, for 30 days")
_rooms.one("POST", f"{ROOM}/restore", rooms.restore, "restore_room", "A room out of the trash")
_rooms.one("POST", f"{ROOM}/participants", participants.join, "join_room", "Invite somebody", body=ParticipantIn)
_rooms.remove(
    f"{ROOM}/participants/{{user_id:usr}}",
    participants.leave,
    "leave_room",
    "Leave, or send away; or decline",
)
_rooms.one("POST", f"{ROOM}/agents", participants.add_agent, "add_room_agent", "Let an agent in", body=AgentNamed)
_rooms.remove(f"{ROOM}/agents/{{slug}}", participants.remove_agent, "remove_room_agent", "Send an agent away")
_messages.one(
    "POST", f"{ROOM}/messages", _saying(rooms.say), "say_in_room", "Say something in a room", body=UtteranceIn,
    status=201,
)  # fmt: skip
_messages.page(
    f"{ROOM}/messages", rooms.list_messages, "list_room_messages", "What was said in a room, in order",
    thread_id=_THREAD, latest_first=_LATEST_FIRST,
)  # fmt: skip
_messages.all(f"{ROOM}/working", rooms.working, "get_working", "Working memory: the last 50 messages")
_threads.one("POST", f"{ROOM}/threads", rooms.open_thread, "open_thread", "Open a thread", body=ThreadIn, status=201)
_threads.page(f"{ROOM}/threads", rooms.list_threads, "list_threads", "The threads of a room, the newest first")
_threads.one(
    "POST", f"{ROOM}/threads/{{thread_id:thr}}/close", rooms.close_thread, "close_thread",
    "Close a thread; it is summed up",
)  # fmt: skip
_episodes.page(
    f"{ROOM}/summaries",
    room_summaries.list_summaries,
    "list_summaries",
    "Episodic memory: what stands for what was said",
    tier=_TIER,
)
_memories.page(
    f"{ROOM}/memories", room_memories.list_room, "list_room_memories",
    "Semantic memory: what agents remember of a room", agent=_AGENT, superseded=_SUPERSEDED,
)  # fmt: skip
_new_landmarks.one(
    "POST", f"{ROOM}/landmarks", _pin, "pin_landmark", "Pin a decision", body=LandmarkIn, status=201
)  # fmt: skip
_landmarks.all(
    f"{ROOM}/landmarks", room_memories.list_landmarks, "list_landmarks", "What was decided, the oldest first",
    superseded=_SUPERSEDED,
)  # fmt: skip
_prompts.one(
    "POST", f"{ROOM}/compose", _compose, "compose", "The prompt for an agent of the room",
    body=ComposeIn,
)  # fmt: skip

_messages.one(
    "POST", f"{DIRECT}/messages", _saying(partial(rooms.say, alone=True)), "say_to_agent",
    "Say something to an agent alone", body=UtteranceIn, status=201,
)  # fmt: skip
_messages.page(
    f"{DIRECT}/messages", rooms.list_messages, "list_direct_messages",
    "What was said to an agent and by it, in order", latest_first=_LATEST_FIRST,
)  # fmt: skip
_messages.all(f"{DIRECT}/working", rooms.working, "get_direct_working", "The last 50 direct messages with an agent")
_episodes.page(
    f"{DIRECT}/summaries", room_summaries.list_summaries, "list_direct_summaries",
    "What stands for direct messages with an agent",
    tier=_TIER,
)  # fmt: skip
_memories.page(
    f"{DIRECT}/memories",
    room_memories.list_room,
    "list_direct_memories",
    "What an agent remembers of your direct messages",
    superseded=_SUPERSEDED,
)
_new_landmarks.one(
    "POST", f"{DIRECT}/landmarks", _pin, "pin_direct_landmark",
    "Pin something in direct messages with an agent", body=LandmarkIn, status=201,
)  # fmt: skip
_landmarks.all(
    f"{DIRECT}/landmarks", room_memories.list_landmarks, "list_direct_landmarks",
    "Landmarks of your direct messages with an agent", superseded=_SUPERSEDED,
)  # fmt: skip
_prompts.one(
    "POST", f"{DIRECT}/compose", _compose, "compose_direct",
    "The prompt for an agent that answers you alone", body=ComposeDirectIn,
)  # fmt: skip

for _place, _path, _whom in SHARED:
    _new_memories.one(
        "POST", f"{_path}/memories", _remembering(_place), f"remember_{_place}",
        f"Let agents know something of {_whom}", body=RoomMemoryIn, status=201,
    )  # fmt: skip
    _memories.page(
        f"{_path}/memories", partial(room_memories.list_shared, place=_place), f"list_{_place}_memories",
        f"What agents know of {_whom}", superseded=_SUPERSEDED,
    )  # fmt: skip
