"""What has to be known before talk is searched, asked at once."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import date

from keepstone.model.principal import ReadScope
from keepstone.store.candidates import Survey, surveyed
from keepstone.store.db import Database, fetch_rows
from keepstone.store.ledger import AccountStanding

_SURVEYED = 7  # columns
_STANDING = tuple(field.name for field in fields(AccountStanding))


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkSurvey:
    """A space of talk, of whom something is known in it, and where its account stands."""

    space: int
    size: Survey
    subjects: list[str]
    standing: AccountStanding


async def survey_talk(
    db: Database, scope: ReadScope, *, kind: str, name: str, owner: str | None, month: date, call_ids: Sequence[str]
) -> TalkSurvey | None:
    """The space of that name, if it is there. `scope` says what of it the caller may see."""
    async with db.entering(scope) as (conn, settings):
        rows = await fetch_rows(
            conn,
            """
            SELECT * FROM survey_talk(%(account)s, %(within)s, %(visibilities)s, %(kind)s, %(name)s, %(owner)s,
                                      %(month)s, %(calls)s)
            """,
            {**settings, "kind": kind, "name": name, "owner": owner, "month": month, "calls": list(call_ids)},
        )
    if not rows:
        return None
    [row] = rows
    return TalkSurvey(
        space=row[0],
        size=surveyed([row[:_SURVEYED]]),
        subjects=row[_SURVEYED],
        standing=AccountStanding(**dict(zip(_STANDING, row[_SURVEYED + 1 :], strict=True))),
    )
