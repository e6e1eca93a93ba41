"""What is new in a room for one of those who are in it: each has a mark of their own, which nobody else sees."""

from keepstone.access.readscope import inside
from keepstone.access.require import require_user
from keepstone.errors import NotFound
from keepstone.memory.rooms import find_room
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import room_reads as store


async def mark(services: Services, principal: Principal, room_id: str, message_id: str) -> None:
    """The caller has read up to this message. Said again, or of an earlier one, it changes nothing."""
    user_id = require_user(principal)
    async with inside(services, principal, find_room, room_id) as (conn, room):
        if not await store.mark(conn, room.space, user_id, message_id):
            raise NotFound("There is no such message in this room.")
