"""How far who is in a room has read it, and what was said last there."""

from collections.abc import Sequence

from keepstone.model.room import RoomActivity
from keepstone.store.db import Connection, fetch_all

MOST = 100  # unread messages are counted so far


async def mark(conn: Connection, space: int, user_id: str, message_id: str) -> bool:
    """Read up to this message; never back. False: there is no such message in this room."""
    done = await conn.execute(
        """
        INSERT INTO room_reads (account, space, user_id, seq)
        SELECT %(account)s, m.space, %(user)s, m.seq FROM messages m
         WHERE m.account = %(account)s AND m.space = %(space)s AND m.id = %(message)s
        ON CONFLICT (account, space, user_id) DO UPDATE SET seq = greatest(room_reads.seq, excluded.seq)
        """,
        {"space": space, "user": user_id, "message": message_id},
    )
    return done.rowcount > 0


async def activity(conn: Connection, spaces: Sequence[int], user_id: str) -> dict[int, RoomActivity]:
    """Of rooms in which something was said. What one said oneself, or let an agent say, is no news."""
    found = await fetch_all(
        conn,
        RoomActivity,
        """
        SELECT s.space, l.id AS message_id, l.user_id AS "user", l.agent, l.speaker AS name, left(l.text, 200) AS text,
               l.at AS ts, n.unread, n.first_unread
          FROM unnest(%(spaces)s::bigint[]) AS s (space)
         CROSS JOIN LATERAL (
               SELECT m.id, m.user_id, m.agent, m.speaker, m.text, m.at FROM messages m
                WHERE m.account = %(account)s AND m.space = s.space ORDER BY m.at DESC, m.seq DESC LIMIT 1) l
         CROSS JOIN LATERAL (
               SELECT count(*)::int AS unread, (array_agg(u.id ORDER BY u.at, u.seq))[1] AS first_unread
                 FROM (SELECT m.id, m.at, m.seq FROM messages m
                        WHERE m.account = %(account)s AND m.space = s.space
                          AND m.seq > coalesce((SELECT r.seq FROM room_reads r
                                                 WHERE r.account = %(account)s AND r.space = s.space
                                                   AND r.user_id = %(user)s), 0)
                          AND coalesce(m.user_id, m.sent_by) IS DISTINCT FROM %(user)s
                        ORDER BY m.at DESC, m.seq DESC LIMIT %(most)s) u) n
        """,
        {"spaces": list(spaces), "user": user_id, "most": MOST},
    )
    return {one.space: one for one in found}
