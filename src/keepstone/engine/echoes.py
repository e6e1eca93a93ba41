"""Lines of a text that say again what was said in the same space, as we quote it: taken out before a text is read.

A line such as "[2026-03-02] Ann: The ferry leaves at nine." may be anybody's log. It is ours where that was said there
around that day: then it is known, and whoever pastes it says nothing new.
"""

from datetime import UTC, datetime, time, timedelta

from keepstone.engine.quotation import own_words, retold, without_lines
from keepstone.store import messages
from keepstone.store.db import Connection

_LOOKED_AT = 100  # lines of one text
_AROUND = timedelta(days=1)  # a day is another one elsewhere


def may_echo(text: str) -> bool:
    """Whether there are lines in it to be looked up."""
    return bool(retold(text))


async def new_words(conn: Connection, space: int, text: str, *, before: int | None = None) -> str:
    """Somebody's own words without such lines. `before` is the number of the message that it is: itself is no evidence
    that it was said.
    """
    own = own_words(text)
    lines = retold(own)[:_LOOKED_AT]
    if not lines:
        return own
    asked = [(said, datetime.combine(line.day, time(), UTC)) for line in lines for said in line.said]
    known = await messages.said_around(
        conn, space, [said for said, _ in asked], [day - _AROUND for _, day in asked],
        [day + 2 * _AROUND for _, day in asked], before=before,
    )  # fmt: skip
    return without_lines(own, {line.line for line in lines if known.intersection(line.said)})
