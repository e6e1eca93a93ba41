"""Rooms, direct messages, the agents in them, and what is remembered of people and projects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeVar

from keepstone_client.binding import D, Resource, operation, paged
from keepstone_client.chats import Member, Role
from keepstone_client.core import Page, Request, Supersede, at, filled, into, items_of, nothing, page_of

Tier = Literal["thread", "session", "day", "week", "compaction"]
FactScope = Literal["user", "project", "room", "global"]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Agent:
    slug: str
    name: str
    context_window: int
    instructions: str
    created_by: str | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True)
class Participant:
    user_id: str
    name: str
    email: str
    role: str
    status: str  # `joined`, or `invited`: not in it yet
    joined_at: datetime | None
    invited_by: str | None


@dataclass(frozen=True, kw_only=True)
class LastMessage:
    message_id: str
    user: str | None
    agent: str | None
    name: str
    text: str  # its beginning
    ts: datetime


@dataclass(frozen=True, kw_only=True)
class Room:
    id: str
    name: str
    project_id: str | None
    participants: tuple[Participant, ...]
    agents: tuple[str, ...]
    created_at: datetime
    last_at: datetime | None
    invitation_id: str | None = None  # yours, as long as you have not accepted it
    last_message: LastMessage | None = None  # in a list, as are these two
    unread: int | None = None  # how many others' you have not read, at most 100
    first_unread: str | None = None


@dataclass(frozen=True, kw_only=True)
class Invitation:
    id: str
    room_id: str
    room_name: str
    user_id: str
    user_name: str
    invited_by: str
    inviter_name: str
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class Utterance:
    id: str
    user: str | None
    agent: str | None
    name: str
    text: str
    ts: datetime
    thread_id: str | None
    attachments: tuple[dict[str, Any], ...]
    edited_at: datetime | None = None  # when it got this wording
    trace_id: str | None = None  # of the prompt that it answers


@dataclass(frozen=True, kw_only=True)
class UtteranceVersion:
    version: int
    change: str  # `created`, `updated`, `deleted`, `restored`
    text: str
    attachments: tuple[dict[str, Any], ...]
    changed_by: str | None
    changed_at: datetime


@dataclass(frozen=True, kw_only=True)
class RememberedVersion:
    """Of a memory or a landmark."""

    version: int
    change: str
    text: str
    metadata: dict[str, Any]
    changed_by: str | None
    changed_at: datetime


@dataclass(frozen=True, kw_only=True)
class Trashed:
    """What was deleted and you can restore."""

    kind: str  # `message`, `memory` or `landmark`
    id: str
    text: str
    user_id: str | None  # who said it
    agent: str | None
    created_at: datetime
    deleted_at: datetime
    deleted_by: str | None


@dataclass(frozen=True, kw_only=True)
class Thread:
    id: str
    title: str
    message_count: int
    opened_at: datetime
    closed_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Summary:
    id: str
    tier: str
    thread_id: str | None
    content: str
    starts_at: datetime
    ends_at: datetime
    message_count: int
    source_ids: tuple[str, ...]
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class RoomMemory:
    id: str
    type: str
    text: str
    user_id: str  # who said it; `*` for nobody in particular
    agent_id: str  # which agent remembers it; `*` for all
    run_id: str
    visibility: str
    metadata: dict[str, Any]
    source_message_id: str | None
    version: int
    created_at: datetime
    updated_at: datetime
    superseded_by: str | None = None


@dataclass(frozen=True, kw_only=True)
class RememberedInRoom(RoomMemory):
    existing: bool = False  # it was there already
    added: dict[str, Any] | None = None  # with it: what came new and was added
    superseded: tuple[str, ...] = ()  # older ones that no longer hold
    may_supersede: tuple[str, ...] = ()  # older ones that it may take the place of, and that still hold


@dataclass(frozen=True, kw_only=True)
class Landmark:
    id: str
    text: str
    source_type: str
    source_message_id: str | None
    user_id: str | None
    superseded_by: str | None
    superseded_at: datetime | None
    version: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True)
class PinnedLandmark(Landmark):
    superseded: tuple[str, ...] = ()  # older ones that no longer hold
    may_supersede: tuple[str, ...] = ()  # older ones that it may take the place of, and that still hold


@dataclass(frozen=True, kw_only=True)
class PromptMessage:
    role: str
    content: str


@dataclass(frozen=True, kw_only=True)
class Section:
    layer: str
    name: str
    tokens: int
    ids: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Tokens:
    prompt: int
    window: int
    ratio: float


@dataclass(frozen=True, kw_only=True)
class Filter:
    run_ids: tuple[str, ...]
    visibility: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Composed:
    """A prompt, and what it is made of."""

    messages: tuple[PromptMessage, ...]
    sections: tuple[Section, ...]
    tokens: Tokens
    compacted: bool
    filter: Filter
    trace_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Fact:
    id: str
    scope_kind: str
    scope_id: str
    key: str
    value: Any
    visibility: str
    valid_from: datetime
    valid_to: datetime | None
    recorded_at: datetime
    recorded_by: str | None


@dataclass(frozen=True, kw_only=True)
class Project:
    id: str
    name: str
    role: str  # what you may: `viewer`, `member`, `editor` or `owner`
    created_at: datetime
    deleted_at: datetime | None = None


class Agents(Resource[D]):
    @operation
    def create(
        self, slug: str, name: str, *, context_window: int | None = None, instructions: str = ""
    ) -> Request[Agent]:
        body = filled(slug=slug, name=name, context_window=context_window, instructions=instructions)
        return Request(method="POST", path="/v1/agents", parse=into(Agent), json=body)

    @paged
    def list(self, *, page_size: int | None = None) -> Request[Page[Agent]]:
        return Request(method="GET", path="/v1/agents", parse=page_of(Agent), params=filled(limit=page_size))

    @operation
    def get(self, slug: str) -> Request[Agent]:
        return Request(method="GET", path=f"/v1/agents/{at(slug)}", parse=into(Agent))

    @operation
    def update(
        self,
        slug: str,
        *,
        name: str | None = None,
        context_window: int | None = None,
        instructions: str | None = None,
    ) -> Request[Agent]:
        body = filled(name=name, context_window=context_window, instructions=instructions)
        return Request(method="PATCH", path=f"/v1/agents/{at(slug)}", parse=into(Agent), json=body)

    @operation
    def delete(self, slug: str) -> Request[None]:
        return Request(method="DELETE", path=f"/v1/agents/{at(slug)}", parse=nothing)


class Rooms(Resource[D]):
    @operation
    def create(
        self,
        name: str,
        *,
        project_id: str | None = None,
        participants: Sequence[str] = (),
        agents: Sequence[str] = (),
    ) -> Request[Room]:
        """`participants` by id or e-mail address are invited; whoever makes it is in it."""
        body = filled(name=name, project_id=project_id, participants=participants, agents=agents)
        return Request(method="POST", path="/v1/rooms", parse=into(Room), json=body)

    @paged
    def list(self, *, deleted: bool = False, page_size: int | None = None) -> Request[Page[Room]]:
        params = filled(deleted=deleted or None, limit=page_size)
        return Request(method="GET", path="/v1/rooms", parse=page_of(Room), params=params)

    @operation
    def get(self, room_id: str) -> Request[Room]:
        return Request(method="GET", path=_room(room_id), parse=into(Room))

    @operation
    def rename(self, room_id: str, name: str) -> Request[Room]:
        return Request(method="PATCH", path=_room(room_id), parse=into(Room), json={"name": name})

    @operation
    def move(self, room_id: str, project_id: str | None) -> Request[Room]:
        """Into a project that you are in; with None out of its project."""
        return Request(method="PATCH", path=_room(room_id), parse=into(Room), json={"project_id": project_id})

    @operation
    def delete(self, room_id: str) -> Request[None]:
        """Into the trash, for 30 days."""
        return Request(method="DELETE", path=_room(room_id), parse=nothing)

    @operation
    def restore(self, room_id: str) -> Request[Room]:
        return Request(method="POST", path=f"{_room(room_id)}/restore", parse=into(Room))

    @operation
    def mark_read(self, room_id: str, message_id: str) -> Request[None]:
        """You have read it up to this message."""
        return Request(method="PUT", path=f"{_room(room_id)}/read", parse=nothing, json={"message_id": message_id})

    @operation
    def add_participant(self, room_id: str, user: str) -> Request[Room]:
        """Invite somebody, by id or e-mail address."""
        return Request(method="POST", path=f"{_room(room_id)}/participants", parse=into(Room), json={"user": user})

    @operation
    def remove_participant(self, room_id: str, user_id: str) -> Request[None]:
        return Request(method="DELETE", path=f"{_room(room_id)}/participants/{at(user_id)}", parse=nothing)

    @operation
    def add_agent(self, room_id: str, agent: str) -> Request[Room]:
        return Request(method="POST", path=f"{_room(room_id)}/agents", parse=into(Room), json={"agent": agent})

    @operation
    def remove_agent(self, room_id: str, agent: str) -> Request[None]:
        return Request(method="DELETE", path=f"{_room(room_id)}/agents/{at(agent)}", parse=nothing)

    @operation
    def say(
        self,
        room_id: str,
        text: str,
        *,
        user: str | None = None,
        agent: str | None = None,
        ts: datetime | None = None,
        thread_id: str | None = None,
        attachments: Sequence[Mapping[str, Any]] = (),
        id: str | None = None,
        trace_id: str | None = None,
    ) -> Request[Utterance]:
        """`user` or `agent` says it; without either, you. With an `id` of yours, the same again changes nothing.
        `trace_id` is that of the prompt which it answers."""
        return _said(_room(room_id), text, user, agent, ts, thread_id, attachments, id, trace_id)

    @paged
    def messages(
        self,
        room_id: str,
        *,
        thread_id: str | None = None,
        latest_first: bool = False,
        page_size: int | None = None,
    ) -> Request[Page[Utterance]]:
        params = filled(thread_id=thread_id, latest_first=latest_first or None, limit=page_size)
        return Request(method="GET", path=f"{_room(room_id)}/messages", parse=page_of(Utterance), params=params)

    @operation
    def message(self, room_id: str, message_id: str) -> Request[Utterance]:
        return _one(_message(_room(room_id), message_id), Utterance)

    @operation
    def change_message(
        self,
        room_id: str,
        message_id: str,
        *,
        text: str | None = None,
        attachments: Sequence[Mapping[str, Any]] | None = None,
    ) -> Request[Utterance]:
        """Another wording, by who said it. What was taken from the message is taken anew."""
        return _changed(_message(_room(room_id), message_id), Utterance, text=text, attachments=attachments)

    @operation
    def delete_message(self, room_id: str, message_id: str) -> Request[None]:
        """Into the trash, for 30 days, with all that was taken from it."""
        return _deleted(_message(_room(room_id), message_id))

    @operation
    def restore_message(self, room_id: str, message_id: str) -> Request[Utterance]:
        """Out of the trash, with all that went there with it."""
        return _restored(_message(_room(room_id), message_id), Utterance)

    @operation
    def message_history(self, room_id: str, message_id: str) -> Request[tuple[UtteranceVersion, ...]]:
        return _history(_message(_room(room_id), message_id), UtteranceVersion)

    @operation
    def working(self, room_id: str) -> Request[tuple[Utterance, ...]]:
        """The last messages, as the next prompt has them."""
        return Request(method="GET", path=f"{_room(room_id)}/working", parse=items_of(Utterance))

    @operation
    def open_thread(self, room_id: str, *, title: str = "") -> Request[Thread]:
        return Request(method="POST", path=f"{_room(room_id)}/threads", parse=into(Thread), json={"title": title})

    @paged
    def threads(self, room_id: str, *, page_size: int | None = None) -> Request[Page[Thread]]:
        params = filled(limit=page_size)
        return Request(method="GET", path=f"{_room(room_id)}/threads", parse=page_of(Thread), params=params)

    @operation
    def close_thread(self, room_id: str, thread_id: str) -> Request[Thread]:
        """It is summed up afterwards."""
        return Request(method="POST", path=f"{_room(room_id)}/threads/{at(thread_id)}/close", parse=into(Thread))

    @paged
    def summaries(
        self, room_id: str, *, tier: Tier | None = None, page_size: int | None = None
    ) -> Request[Page[Summary]]:
        params = filled(tier=tier, limit=page_size)
        return Request(method="GET", path=f"{_room(room_id)}/summaries", parse=page_of(Summary), params=params)

    @paged
    def memories(
        self, room_id: str, *, agent: str | None = None, superseded: bool = False, page_size: int | None = None
    ) -> Request[Page[RoomMemory]]:
        params = filled(agent=agent, superseded=superseded or None, limit=page_size)
        return Request(method="GET", path=f"{_room(room_id)}/memories", parse=page_of(RoomMemory), params=params)

    @operation
    def memory(self, room_id: str, memory_id: str) -> Request[RoomMemory]:
        return _one(_memory(_room(room_id), memory_id), RoomMemory)

    @operation
    def change_memory(
        self,
        room_id: str,
        memory_id: str,
        *,
        text: str | None = None,
        type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Request[RoomMemory]:
        """For every agent that remembers it. Without `metadata`, what stands beside the text follows it."""
        return _changed(_memory(_room(room_id), memory_id), RoomMemory, text=text, type=type, metadata=metadata)

    @operation
    def delete_memory(self, room_id: str, memory_id: str) -> Request[None]:
        """Into the trash, for 30 days. It is not taken from the same message again."""
        return _deleted(_memory(_room(room_id), memory_id))

    @operation
    def restore_memory(self, room_id: str, memory_id: str) -> Request[RoomMemory]:
        return _restored(_memory(_room(room_id), memory_id), RoomMemory)

    @operation
    def memory_history(self, room_id: str, memory_id: str) -> Request[tuple[RememberedVersion, ...]]:
        return _history(_memory(_room(room_id), memory_id), RememberedVersion)

    @operation
    def revive_memory(self, room_id: str, memory_id: str) -> Request[RoomMemory]:
        """Superseded, it holds again, beside what had taken its place."""
        return _revived(_memory(_room(room_id), memory_id), RoomMemory)

    @operation
    def add_landmark(
        self, room_id: str, text: str, *, supersedes: Sequence[str] = (), supersede: Supersede | None = None
    ) -> Request[PinnedLandmark]:
        """Pinned in every prompt. `supersedes` are landmarks that it takes the place of."""
        return _pinned(_room(room_id), text, supersedes, supersede)

    @operation
    def landmark(self, room_id: str, landmark_id: str) -> Request[Landmark]:
        return _one(_landmark(_room(room_id), landmark_id), Landmark)

    @operation
    def change_landmark(self, room_id: str, landmark_id: str, *, text: str) -> Request[Landmark]:
        return _changed(_landmark(_room(room_id), landmark_id), Landmark, text=text)

    @operation
    def delete_landmark(self, room_id: str, landmark_id: str) -> Request[None]:
        """Unpinned, and not found in the same message again. It can be restored for 30 days."""
        return _deleted(_landmark(_room(room_id), landmark_id))

    @operation
    def restore_landmark(self, room_id: str, landmark_id: str) -> Request[Landmark]:
        return _restored(_landmark(_room(room_id), landmark_id), Landmark)

    @operation
    def landmark_history(self, room_id: str, landmark_id: str) -> Request[tuple[RememberedVersion, ...]]:
        return _history(_landmark(_room(room_id), landmark_id), RememberedVersion)

    @operation
    def revive_landmark(self, room_id: str, landmark_id: str) -> Request[Landmark]:
        """Superseded, it holds again, beside what had taken its place."""
        return _revived(_landmark(_room(room_id), landmark_id), Landmark)

    @operation
    def landmarks(self, room_id: str, *, superseded: bool = False) -> Request[tuple[Landmark, ...]]:
        params = filled(superseded=superseded or None)
        return Request(method="GET", path=f"{_room(room_id)}/landmarks", parse=items_of(Landmark), params=params)

    @paged
    def trash(self, room_id: str, *, page_size: int | None = None) -> Request[Page[Trashed]]:
        """What was deleted and you can restore, the latest first."""
        params = filled(limit=page_size)
        return Request(method="GET", path=f"{_room(room_id)}/trash", parse=page_of(Trashed), params=params)

    @operation
    def compose(
        self, room_id: str, text: str, *, agent: str, user: str | None = None, context_window: int | None = None
    ) -> Request[Composed]:
        """The prompt with which this agent answers this message. What is said is not kept by this."""
        body = filled(agent=agent, message=filled(user=user, text=text), context_window=context_window)
        return Request(method="POST", path=f"{_room(room_id)}/compose", parse=into(Composed), json=body, timeout=180)


class Invitations(Resource[D]):
    """To rooms: those that wait for your answer, and those that you sent."""

    @paged
    def list(self, *, sent: bool = False, page_size: int | None = None) -> Request[Page[Invitation]]:
        params = filled(sent=sent or None, limit=page_size)
        return Request(method="GET", path="/v1/invitations", parse=page_of(Invitation), params=params)

    @operation
    def accept(self, invitation_id: str) -> Request[Room]:
        return Request(method="POST", path=f"{_invitation(invitation_id)}/accept", parse=into(Room))

    @operation
    def decline(self, invitation_id: str) -> Request[None]:
        return Request(method="POST", path=f"{_invitation(invitation_id)}/decline", parse=nothing)

    @operation
    def withdraw(self, invitation_id: str) -> Request[None]:
        """One that you sent."""
        return Request(method="DELETE", path=_invitation(invitation_id), parse=nothing)


class Directs(Resource[D]):
    """What one user and one agent say to each other. `agent` is its slug."""

    @operation
    def say(
        self,
        agent: str,
        text: str,
        *,
        by_agent: bool = False,
        ts: datetime | None = None,
        attachments: Sequence[Mapping[str, Any]] = (),
        id: str | None = None,
        trace_id: str | None = None,
    ) -> Request[Utterance]:
        """You say it, or the agent does. With an `id` of yours, the same again changes nothing."""
        return _said(_direct(agent), text, None, agent if by_agent else None, ts, None, attachments, id, trace_id)

    @paged
    def messages(
        self, agent: str, *, latest_first: bool = False, page_size: int | None = None
    ) -> Request[Page[Utterance]]:
        params = filled(latest_first=latest_first or None, limit=page_size)
        return Request(method="GET", path=f"{_direct(agent)}/messages", parse=page_of(Utterance), params=params)

    @operation
    def message(self, agent: str, message_id: str) -> Request[Utterance]:
        return _one(_message(_direct(agent), message_id), Utterance)

    @operation
    def change_message(
        self,
        agent: str,
        message_id: str,
        *,
        text: str | None = None,
        attachments: Sequence[Mapping[str, Any]] | None = None,
    ) -> Request[Utterance]:
        return _changed(_message(_direct(agent), message_id), Utterance, text=text, attachments=attachments)

    @operation
    def delete_message(self, agent: str, message_id: str) -> Request[None]:
        return _deleted(_message(_direct(agent), message_id))

    @operation
    def restore_message(self, agent: str, message_id: str) -> Request[Utterance]:
        return _restored(_message(_direct(agent), message_id), Utterance)

    @operation
    def message_history(self, agent: str, message_id: str) -> Request[tuple[UtteranceVersion, ...]]:
        return _history(_message(_direct(agent), message_id), UtteranceVersion)

    @operation
    def working(self, agent: str) -> Request[tuple[Utterance, ...]]:
        return Request(method="GET", path=f"{_direct(agent)}/working", parse=items_of(Utterance))

    @paged
    def summaries(
        self, agent: str, *, tier: Tier | None = None, page_size: int | None = None
    ) -> Request[Page[Summary]]:
        params = filled(tier=tier, limit=page_size)
        return Request(method="GET", path=f"{_direct(agent)}/summaries", parse=page_of(Summary), params=params)

    @paged
    def memories(
        self, agent: str, *, superseded: bool = False, page_size: int | None = None
    ) -> Request[Page[RoomMemory]]:
        params = filled(superseded=superseded or None, limit=page_size)
        return Request(method="GET", path=f"{_direct(agent)}/memories", parse=page_of(RoomMemory), params=params)

    @operation
    def memory(self, agent: str, memory_id: str) -> Request[RoomMemory]:
        return _one(_memory(_direct(agent), memory_id), RoomMemory)

    @operation
    def change_memory(
        self,
        agent: str,
        memory_id: str,
        *,
        text: str | None = None,
        type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Request[RoomMemory]:
        return _changed(_memory(_direct(agent), memory_id), RoomMemory, text=text, type=type, metadata=metadata)

    @operation
    def delete_memory(self, agent: str, memory_id: str) -> Request[None]:
        return _deleted(_memory(_direct(agent), memory_id))

    @operation
    def restore_memory(self, agent: str, memory_id: str) -> Request[RoomMemory]:
        return _restored(_memory(_direct(agent), memory_id), RoomMemory)

    @operation
    def memory_history(self, agent: str, memory_id: str) -> Request[tuple[RememberedVersion, ...]]:
        return _history(_memory(_direct(agent), memory_id), RememberedVersion)

    @operation
    def revive_memory(self, agent: str, memory_id: str) -> Request[RoomMemory]:
        return _revived(_memory(_direct(agent), memory_id), RoomMemory)

    @operation
    def add_landmark(
        self, agent: str, text: str, *, supersedes: Sequence[str] = (), supersede: Supersede | None = None
    ) -> Request[PinnedLandmark]:
        return _pinned(_direct(agent), text, supersedes, supersede)

    @operation
    def landmark(self, agent: str, landmark_id: str) -> Request[Landmark]:
        return _one(_landmark(_direct(agent), landmark_id), Landmark)

    @operation
    def change_landmark(self, agent: str, landmark_id: str, *, text: str) -> Request[Landmark]:
        return _changed(_landmark(_direct(agent), landmark_id), Landmark, text=text)

    @operation
    def delete_landmark(self, agent: str, landmark_id: str) -> Request[None]:
        return _deleted(_landmark(_direct(agent), landmark_id))

    @operation
    def restore_landmark(self, agent: str, landmark_id: str) -> Request[Landmark]:
        return _restored(_landmark(_direct(agent), landmark_id), Landmark)

    @operation
    def landmark_history(self, agent: str, landmark_id: str) -> Request[tuple[RememberedVersion, ...]]:
        return _history(_landmark(_direct(agent), landmark_id), RememberedVersion)

    @operation
    def revive_landmark(self, agent: str, landmark_id: str) -> Request[Landmark]:
        return _revived(_landmark(_direct(agent), landmark_id), Landmark)

    @operation
    def landmarks(self, agent: str, *, superseded: bool = False) -> Request[tuple[Landmark, ...]]:
        params = filled(superseded=superseded or None)
        return Request(method="GET", path=f"{_direct(agent)}/landmarks", parse=items_of(Landmark), params=params)

    @paged
    def trash(self, agent: str, *, page_size: int | None = None) -> Request[Page[Trashed]]:
        """What was deleted and you can restore, the latest first."""
        params = filled(limit=page_size)
        return Request(method="GET", path=f"{_direct(agent)}/trash", parse=page_of(Trashed), params=params)

    @operation
    def compose(
        self, agent: str, text: str, *, project_id: str | None = None, context_window: int | None = None
    ) -> Request[Composed]:
        body = filled(message={"text": text}, project_id=project_id, context_window=context_window)
        return Request(method="POST", path=f"{_direct(agent)}/compose", parse=into(Composed), json=body, timeout=180)


class Profiles(Resource[D]):
    """What agents remember of a person, wherever they meet."""

    @operation
    def remember(
        self,
        user_id: str,
        text: str,
        *,
        type: str = "fact",
        agent: str | None = None,
        supersede: Supersede | None = None,
    ) -> Request[RememberedInRoom]:
        """For all agents, unless one is named."""
        body = filled(text=text, type=type, agent=agent, supersede=supersede)
        return Request(method="POST", path=_memories("profiles", user_id), parse=into(RememberedInRoom), json=body)

    @paged
    def memories(
        self, user_id: str, *, superseded: bool = False, page_size: int | None = None
    ) -> Request[Page[RoomMemory]]:
        params = filled(superseded=superseded or None, limit=page_size)
        return Request(method="GET", path=_memories("profiles", user_id), parse=page_of(RoomMemory), params=params)

    @operation
    def memory(self, user_id: str, memory_id: str) -> Request[RoomMemory]:
        return _one(_memory(_of("profiles", user_id), memory_id), RoomMemory)

    @operation
    def change_memory(
        self,
        user_id: str,
        memory_id: str,
        *,
        text: str | None = None,
        type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Request[RoomMemory]:
        return _changed(
            _memory(_of("profiles", user_id), memory_id), RoomMemory, text=text, type=type, metadata=metadata
        )

    @operation
    def delete_memory(self, user_id: str, memory_id: str) -> Request[None]:
        return _deleted(_memory(_of("profiles", user_id), memory_id))

    @operation
    def restore_memory(self, user_id: str, memory_id: str) -> Request[RoomMemory]:
        return _restored(_memory(_of("profiles", user_id), memory_id), RoomMemory)

    @operation
    def memory_history(self, user_id: str, memory_id: str) -> Request[tuple[RememberedVersion, ...]]:
        return _history(_memory(_of("profiles", user_id), memory_id), RememberedVersion)

    @paged
    def trash(self, user_id: str, *, page_size: int | None = None) -> Request[Page[Trashed]]:
        """What was deleted and you can restore, the latest first."""
        params = filled(limit=page_size)
        return Request(method="GET", path=f"{_of('profiles', user_id)}/trash", parse=page_of(Trashed), params=params)

    @operation
    def revive_memory(self, user_id: str, memory_id: str) -> Request[RoomMemory]:
        """Superseded, it holds again, beside what had taken its place."""
        return _revived(_memory(_of("profiles", user_id), memory_id), RoomMemory)


class Projects(Resource[D]):
    @operation
    def create(self, name: str) -> Request[Project]:
        return Request(method="POST", path="/v1/projects", parse=into(Project), json={"name": name})

    @paged
    def list(self, *, deleted: bool = False, page_size: int | None = None) -> Request[Page[Project]]:
        params = filled(deleted=deleted or None, limit=page_size)
        return Request(method="GET", path="/v1/projects", parse=page_of(Project), params=params)

    @operation
    def get(self, project_id: str) -> Request[Project]:
        return Request(method="GET", path=_project(project_id), parse=into(Project))

    @operation
    def rename(self, project_id: str, name: str) -> Request[Project]:
        return Request(method="PATCH", path=_project(project_id), parse=into(Project), json={"name": name})

    @operation
    def delete(self, project_id: str) -> Request[None]:
        """Into the trash, for 30 days. Rooms and capsules that were in it stay, in no project."""
        return Request(method="DELETE", path=_project(project_id), parse=nothing)

    @operation
    def restore(self, project_id: str) -> Request[Project]:
        return Request(method="POST", path=f"{_project(project_id)}/restore", parse=into(Project))

    @operation
    def members(self, project_id: str) -> Request[tuple[Member, ...]]:
        return Request(method="GET", path=f"{_project(project_id)}/members", parse=items_of(Member))

    @operation
    def set_member(self, project_id: str, user: str, *, role: Role = "member") -> Request[tuple[Member, ...]]:
        """Let somebody in, by id or e-mail address, or change what they may."""
        body = {"user": user, "role": role}
        return Request(method="PUT", path=f"{_project(project_id)}/members", parse=items_of(Member), json=body)

    @operation
    def remove_member(self, project_id: str, user_id: str) -> Request[None]:
        """Send somebody away, or leave."""
        return Request(method="DELETE", path=f"{_project(project_id)}/members/{at(user_id)}", parse=nothing)

    @operation
    def remember(
        self,
        project_id: str,
        text: str,
        *,
        type: str = "fact",
        agent: str | None = None,
        supersede: Supersede | None = None,
    ) -> Request[RememberedInRoom]:
        body = filled(text=text, type=type, agent=agent, supersede=supersede)
        return Request(method="POST", path=_memories("projects", project_id), parse=into(RememberedInRoom), json=body)

    @paged
    def memories(
        self, project_id: str, *, superseded: bool = False, page_size: int | None = None
    ) -> Request[Page[RoomMemory]]:
        params = filled(superseded=superseded or None, limit=page_size)
        return Request(method="GET", path=_memories("projects", project_id), parse=page_of(RoomMemory), params=params)

    @operation
    def memory(self, project_id: str, memory_id: str) -> Request[RoomMemory]:
        return _one(_memory(_of("projects", project_id), memory_id), RoomMemory)

    @operation
    def change_memory(
        self,
        project_id: str,
        memory_id: str,
        *,
        text: str | None = None,
        type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Request[RoomMemory]:
        return _changed(
            _memory(_of("projects", project_id), memory_id), RoomMemory, text=text, type=type, metadata=metadata
        )

    @operation
    def delete_memory(self, project_id: str, memory_id: str) -> Request[None]:
        return _deleted(_memory(_of("projects", project_id), memory_id))

    @operation
    def restore_memory(self, project_id: str, memory_id: str) -> Request[RoomMemory]:
        return _restored(_memory(_of("projects", project_id), memory_id), RoomMemory)

    @operation
    def memory_history(self, project_id: str, memory_id: str) -> Request[tuple[RememberedVersion, ...]]:
        return _history(_memory(_of("projects", project_id), memory_id), RememberedVersion)

    @paged
    def trash(self, project_id: str, *, page_size: int | None = None) -> Request[Page[Trashed]]:
        """What was deleted and you can restore, the latest first."""
        params = filled(limit=page_size)
        return Request(method="GET", path=f"{_of('projects', project_id)}/trash", parse=page_of(Trashed), params=params)

    @operation
    def revive_memory(self, project_id: str, memory_id: str) -> Request[RoomMemory]:
        """Superseded, it holds again, beside what had taken its place."""
        return _revived(_memory(_of("projects", project_id), memory_id), RoomMemory)


class Facts(Resource[D]):
    """Exact values with their history. The scope `global` has the id `global`."""

    @operation
    def list(
        self, scope_kind: FactScope, scope_id: str = "global", *, as_of: datetime | None = None
    ) -> Request[tuple[Fact, ...]]:
        params = filled(scope_kind=scope_kind, scope_id=scope_id, as_of=as_of)
        return Request(method="GET", path="/v1/facts", parse=items_of(Fact), params=params)

    @operation
    def put(
        self,
        scope_kind: FactScope,
        scope_id: str,
        key: str,
        value: Any,
        *,
        visibility: Literal["shared", "private"] = "shared",
    ) -> Request[Fact]:
        """Any JSON value; the one before stays in its history."""
        body = {"value": value, "visibility": visibility}
        return Request(method="PUT", path=_fact(scope_kind, scope_id, key), parse=into(Fact), json=body)

    @operation
    def get(self, scope_kind: FactScope, scope_id: str, key: str, *, as_of: datetime | None = None) -> Request[Fact]:
        params = filled(as_of=as_of)
        return Request(method="GET", path=_fact(scope_kind, scope_id, key), parse=into(Fact), params=params)

    @operation
    def delete(self, scope_kind: FactScope, scope_id: str, key: str) -> Request[None]:
        """It holds no longer; its history stays."""
        return Request(method="DELETE", path=_fact(scope_kind, scope_id, key), parse=nothing)

    @operation
    def history(self, scope_kind: FactScope, scope_id: str, key: str) -> Request[tuple[Fact, ...]]:
        return Request(method="GET", path=f"{_fact(scope_kind, scope_id, key)}/history", parse=items_of(Fact))


def _room(room_id: str) -> str:
    return f"/v1/rooms/{at(room_id)}"


def _project(project_id: str) -> str:
    return f"/v1/projects/{at(project_id)}"


def _invitation(invitation_id: str) -> str:
    return f"/v1/invitations/{at(invitation_id)}"


def _direct(agent: str) -> str:
    return f"/v1/dms/{at(agent)}"


def _of(kind: str, name: str) -> str:
    return f"/v1/{kind}/{at(name)}"


def _memories(kind: str, name: str) -> str:
    return f"{_of(kind, name)}/memories"


def _message(place: str, message_id: str) -> str:
    return f"{place}/messages/{at(message_id)}"


def _memory(place: str, memory_id: str) -> str:
    return f"{place}/memories/{at(memory_id)}"


def _landmark(place: str, landmark_id: str) -> str:
    return f"{place}/landmarks/{at(landmark_id)}"


def _fact(scope_kind: str, scope_id: str, key: str) -> str:
    return f"/v1/facts/{at(scope_kind)}/{at(scope_id)}/{at(key)}"


def _said(
    place: str,
    text: str,
    user: str | None,
    agent: str | None,
    ts: datetime | None,
    thread_id: str | None,
    attachments: Sequence[Mapping[str, Any]],
    own_id: str | None,
    trace_id: str | None,
) -> Request[Utterance]:
    body = filled(
        text=text, user=user, agent=agent, ts=ts, thread_id=thread_id, attachments=attachments or None, id=own_id,
        trace_id=trace_id,
    )  # fmt: skip
    return Request(
        method="POST", path=f"{place}/messages", parse=into(Utterance), json=body, repeatable=own_id is not None
    )


def _pinned(
    place: str, text: str, supersedes: Sequence[str], supersede: Supersede | None
) -> Request[PinnedLandmark]:  # fmt: skip
    body = filled(text=text, supersedes=supersedes, supersede=supersede)
    return Request(method="POST", path=f"{place}/landmarks", parse=into(PinnedLandmark), json=body)


def _revived(path: str, kind: type[T]) -> Request[T]:
    return Request(method="POST", path=f"{path}/revive", parse=into(kind), repeatable=True)


def _one(path: str, kind: type[T]) -> Request[T]:
    return Request(method="GET", path=path, parse=into(kind))


def _changed(path: str, kind: type[T], **changes: Any) -> Request[T]:
    return Request(method="PATCH", path=path, parse=into(kind), json=filled(**changes))


def _deleted(path: str) -> Request[None]:
    return Request(method="DELETE", path=path, parse=nothing)


def _restored(path: str, kind: type[T]) -> Request[T]:
    return Request(method="POST", path=f"{path}/restore", parse=into(kind))


def _history(path: str, kind: type[T]) -> Request[tuple[T, ...]]:
    return Request(method="GET", path=f"{path}/history", parse=items_of(kind))
