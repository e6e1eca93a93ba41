"""Correcting what rooms, direct messages, profiles and projects have: messages, what agents remember, landmarks; and
the trash of each.
"""

from typing import Annotated, Any

from pydantic import Field

from keepstone.memory import room_messages, room_reads
from keepstone.memory.room_corrections import MEMORIES, OF_PROFILE, OF_PROJECT, PINNED, Remembered
from keepstone.model.room import MessageVersion, Trashed
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import Routes
from keepstone.surfaces.http.wire import Shown, Time, Wire, fields_of
from keepstone.surfaces.rest.agents import plain
from keepstone.surfaces.rest.rooms import (
    DIRECT,
    ROOM,
    SHARED,
    LandmarkOut,
    RoomMemoryOut,
    Text,
    UtteranceOut,
    show_memory,
)

router = Router(prefix="/v1", tags=["rooms"])


class UtteranceChange(Wire):
    text: Text | None = None
    attachments: Annotated[list[dict[str, Any]], Field(max_length=20)] | None = None


class RoomMemoryChange(Wire):
    text: Text | None = None
    type: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    metadata: dict[str, Any] | None = Field(
        default=None, description="Instead of what stands beside the text; left out, that follows the text."
    )


class ReadIn(Wire):
    message_id: Annotated[str, Field(min_length=1, max_length=255)]


class LandmarkChange(Wire):
    text: Text | None = None


class UtteranceVersionOut(fields_of(MessageVersion, "version change text attachments changed_by changed_at")):
    pass


class RememberedVersionOut(Shown):
    version: int
    change: str
    text: str = Field(validation_alias="content")
    metadata: dict[str, Any]
    changed_by: str | None
    changed_at: Time


class TrashedOut(fields_of(Trashed, "kind id text user_id agent created_at deleted_at deleted_by")):
    kind: str = Field(description="`message`, `memory` or `landmark`.")
    user_id: str | None = Field(description="Who said it.")


@router.put(f"{ROOM}/read", status_code=204, summary="You have read a room up to a message; nobody else sees it")
async def mark_room_read(services: Used, principal: Caller, room_id: str, body: ReadIn) -> None:
    await room_reads.mark(services, principal, room_id, body.message_id)


_messages = Routes(router, UtteranceOut, read_id=plain)
_wordings = Routes(router, UtteranceVersionOut, read_id=plain, listed="UtteranceHistory")
_memories = Routes(router, RoomMemoryOut, show_memory, read_id=plain)
_landmarks = Routes(router, LandmarkOut, read_id=plain)
_versions = Routes(router, RememberedVersionOut, read_id=plain, listed="RememberedHistory")
_trash = Routes(router, TrashedOut, read_id=plain)


def _correct_messages(path: str, noun: str) -> None:
    one = f"{path}/messages/{{message_id:msg}}"
    _messages.one("GET", one, room_messages.get, f"get_{noun}", "One message")
    _messages.one(
        "PATCH", one, room_messages.reword, f"change_{noun}", "Another wording, by who said it", changes=UtteranceChange
    )
    _messages.remove(one, room_messages.delete, f"delete_{noun}", "Into the trash, for 30 days, with all taken from it")
    _messages.one(
        "POST", f"{one}/restore", room_messages.restore, f"restore_{noun}",
        "A message out of the trash, with all that was taken from it",
    )  # fmt: skip
    _wordings.all(
        f"{one}/history", room_messages.history, f"get_{noun}_history", "Every wording of a message, the latest first"
    )


def _correct(
    routes: Routes[Any], one: str, remembered: Remembered[Any], noun: str, changes: type[Wire], deleted: str
) -> None:
    routes.one("GET", one, remembered.get, f"get_{noun}", "One of them")
    routes.one("PATCH", one, remembered.change, f"change_{noun}", "Another text, for every agent", changes=changes)
    routes.remove(one, remembered.delete, f"delete_{noun}", deleted)
    routes.one(
        "POST", f"{one}/restore", remembered.restore, f"restore_{noun}", "Out of the trash, for every agent that had it"
    )
    routes.one(
        "POST", f"{one}/revive", remembered.revive, f"revive_{noun}",
        "Superseded, it holds again, beside what had taken its place",
    )  # fmt: skip
    _versions.all(f"{one}/history", remembered.history, f"get_{noun}_history", "Every version, the latest first")


_INTO_TRASH = "Into the trash, for 30 days, for every agent that remembers it"
for _path, _noun in ((ROOM, "room"), (DIRECT, "direct")):
    _correct_messages(_path, f"{_noun}_message")
    _correct(
        _memories, f"{_path}/memories/{{memory_id:mem}}", MEMORIES, f"{_noun}_memory", RoomMemoryChange, _INTO_TRASH
    )
    _correct(
        _landmarks, f"{_path}/landmarks/{{landmark_id:lmk}}", PINNED,
        "landmark" if _noun == "room" else "direct_landmark", LandmarkChange,
        "Unpin a landmark, into the trash, for 30 days",
    )  # fmt: skip
    _trash.page(
        f"{_path}/trash",
        MEMORIES.trash,
        f"list_{_noun}_trash",
        "What was deleted and you can restore, the latest first",
    )
for _place, _path, _whom in SHARED:
    _known = OF_PROFILE if _place == "profile" else OF_PROJECT
    _correct(
        _memories, f"{_path}/memories/{{memory_id:mem}}", _known, f"{_place}_memory", RoomMemoryChange,
        "Into the trash, for 30 days",
    )  # fmt: skip
    _trash.page(
        f"{_path}/trash", _known.trash, f"list_{_place}_trash", f"What was deleted of what agents know of {_whom}"
    )
