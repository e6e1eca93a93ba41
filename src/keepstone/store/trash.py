"""One trash: all that somebody can bring back, of every kind, and the places that went there whole.

What is in a place is asked of spaces with whose of it the caller may bring back (`made_by`; none: everybody's).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, LiteralString

from keepstone.model.everything import Discarded, ReadablePlace, TrashKind
from keepstone.model.page import Page, PageRequest
from keepstone.store.arrays import bigints, texts
from keepstone.store.db import Connection, fetch_dict, fetch_page

_SHORT = 400  # characters of a text in a list

# What agents remember alike and was deleted at once stands here once; and not at all while the message that it was
# taken from is in the trash itself. So it is with what was said of somebody more than once.
_TRASH: LiteralString = """
    SELECT * FROM (
        (SELECT DISTINCT ON (m.kind, m.deleted_at, m.content_hash, coalesce(m.source_message_id, m.id))
                p.shown AS kind, m.id, m.space, m.title, left(m.content, %(short)s) AS text, m.path, m.key,
                true AS restorable, m.created_at, m.deleted_at, NULL::text AS deleted_by
           FROM unnest(%(spaces)s::bigint[], %(kinds)s::text[], %(shown)s::text[], %(makers)s::text[])
                    AS p (space, kind, shown, made_by)
           JOIN memories m ON m.account = %(account)s AND m.space = p.space AND m.kind = p.kind
          WHERE m.deleted_at >= %(since)s AND (p.made_by IS NULL OR m.user_id = p.made_by)
            AND (m.kind <> 'item' OR m.valid_to IS NULL OR m.valid_to > %(now)s)
            AND (m.kind NOT IN ('semantic', 'landmark') OR m.source_message_id IS NULL
                 OR EXISTS (SELECT 1 FROM messages s WHERE s.account = %(account)s AND s.id = m.source_message_id))
          ORDER BY m.kind, m.deleted_at, m.content_hash, coalesce(m.source_message_id, m.id), m.id)
        UNION ALL
        SELECT 'message', t.id, t.space, t.speaker, left(t.text, %(short)s), NULL, NULL, true, t.at, t.deleted_at,
               t.deleted_by
          FROM trashed_messages t
         WHERE t.account = %(account)s AND t.space = ANY(%(rooms)s) AND t.deleted_at >= %(since)s
           AND (t.deleted_by = %(user)s
                OR t.space = ANY(%(moderated)s) AND coalesce(t.deleted_by <> t.user_id, true))
        UNION ALL
        (SELECT DISTINCT ON (t.space, t.subject, t.text, t.deleted_at)
                'statement', t.id, t.space, t.subject, left(t.text, %(short)s), NULL, NULL, true, t.at, t.deleted_at,
                NULL
           FROM statements t
          WHERE t.account = %(account)s AND t.space = ANY(%(scopes)s) AND t.deleted_at >= %(since)s AND NOT t.purged
          ORDER BY t.space, t.subject, t.text, t.deleted_at, t.id)
        UNION ALL
        SELECT 'chat', c.id, c.space, c.title, '', NULL, NULL, true, c.created_at, c.deleted_at, NULL
          FROM unnest(%(shared)s::bigint[], %(shared_makers)s::text[]) AS p (space, made_by)
          JOIN chats c ON c.account = %(account)s AND c.space = p.space
         WHERE c.deleted_at >= %(since)s AND (p.made_by IS NULL OR c.created_by = p.made_by)
        UNION ALL
        SELECT d.kind, d.id, d.space, d.name, left(d.content, %(short)s), NULL, NULL, true, d.created_at, d.deleted_at,
               NULL
          FROM unnest(%(shared)s::bigint[], %(shared_makers)s::text[]) AS p (space, made_by)
          JOIN documents d ON d.account = %(account)s AND d.space = p.space
         WHERE d.deleted_at >= %(since)s AND (p.made_by IS NULL OR d.created_by = p.made_by)
        UNION ALL
        SELECT s.kind, s.name, s.space, s.title, '', NULL, NULL, s.kind = 'graph' OR m.role = 'owner', s.created_at,
               s.deleted_at, NULL
          FROM spaces s
          LEFT JOIN members m ON m.account = %(account)s AND m.space = s.space AND m.user_id = %(user)s
         WHERE s.account = %(account)s AND s.part_of IS NULL AND s.kind = ANY(%(place_kinds)s)
           AND s.deleted_at >= %(since)s
           AND CASE WHEN s.kind = 'graph' THEN %(maker)s::text IS NULL OR s.named_by = %(maker)s
                    ELSE m.user_id IS NOT NULL END) t
     WHERE (%(kind)s::text IS NULL OR t.kind = %(kind)s) AND (%(ids)s::text[] IS NULL OR t.id = ANY(%(ids)s))
       AND NOT EXISTS (SELECT 1 FROM unnest(%(words)s::text[]) AS w (word)
                        WHERE strpos(lower(concat_ws(' ', t.title, t.text, t.key)), lower(w.word)) = 0)"""


def reach(
    places: Sequence[ReadablePlace], made_by: Mapping[int, str | None], user_id: str | None, maker: str | None,
    place_kinds: Sequence[str],
) -> dict[str, Any]:  # fmt: skip
    """The parameters that say what the caller may bring back: of these places what somebody made, or all; as an owner
    of a room what others said; and graphs that the `maker` made, or all.
    """
    mine = [place for place in places if made_by.get(place.space, "") != ""]
    pairs = [(place, kind, shown) for place in mine for kind, shown in place.holds]
    shared = [place for place in mine if place.kind == "workspace"]
    rooms = [place for place in places if place.kind in {"room", "dm"} and not place.part]
    return {
        "spaces": bigints([place.space for place, _, _ in pairs]),
        "kinds": texts(kind for _, kind, _ in pairs),
        "shown": texts(shown for _, _, shown in pairs),
        "makers": texts(made_by[place.space] for place, _, _ in pairs),
        "rooms": bigints([place.space for place in rooms]),
        "moderated": bigints([place.space for place in rooms if place.allows("owner")]),
        "scopes": bigints([place.space for place in mine if place.kind == "scope"]),
        "shared": bigints([place.space for place in shared]),
        "shared_makers": texts(made_by[place.space] for place in shared),
        "place_kinds": list(place_kinds),
        # Nobody is '': of NULL a cluster would not see that it is about one account.
        "user": user_id or "",
        "maker": maker,
    }


async def page(
    conn: Connection, reached: Mapping[str, Any], page: PageRequest, *, since: datetime, now: datetime,
    kind: str | None = None, words: Sequence[str] = (), ids: Sequence[str] | None = None,
) -> Page[Discarded]:  # fmt: skip
    """What went there last first."""
    asked = _asked(reached, since, now, kind=kind, words=words, ids=ids)
    return await fetch_page(conn, Discarded, _TRASH, asked, page, when="t.deleted_at", key="t.id")


async def counts(
    conn: Connection, reached: Mapping[str, Any], *, since: datetime, now: datetime, words: Sequence[str] = ()
) -> dict[TrashKind, int]:  # fmt: skip
    """How many there are of each kind, the most first."""
    query: LiteralString = f"SELECT kind, count(*) FROM ({_TRASH}) t GROUP BY kind ORDER BY count(*) DESC, kind"
    return await fetch_dict(conn, query, _asked(reached, since, now, kind=None, words=words, ids=None))


def _asked(
    reached: Mapping[str, Any], since: datetime, now: datetime, *, kind: str | None, words: Sequence[str],
    ids: Sequence[str] | None,
) -> dict[str, Any]:  # fmt: skip
    asked = {"since": since, "now": now, "kind": kind, "words": list(words), "short": _SHORT}
    return {**reached, **asked, "ids": None if ids is None else list(ids)}


async def deleters(conn: Connection, ids: Sequence[str]) -> dict[str, str]:
    """Who deleted these, where their last version tells."""
    found: dict[str, str | None] = await fetch_dict(
        conn,
        """
        SELECT DISTINCT ON (id) id, changed_by FROM (
            SELECT memory_id AS id, version, changed_by FROM memory_versions
             WHERE account = %(account)s AND memory_id = ANY(%(ids)s)
            UNION ALL
            SELECT document_id, version, changed_by FROM document_versions
             WHERE account = %(account)s AND document_id = ANY(%(ids)s)
            UNION ALL
            SELECT statement_id, version, changed_by FROM statement_versions
             WHERE account = %(account)s AND statement_id = ANY(%(ids)s)) v
         ORDER BY id, version DESC
        """,
        {"ids": list(ids)},
    )
    return {name: by for name, by in found.items() if by is not None}
