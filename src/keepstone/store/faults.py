"""What a fault of the database means to whoever asked: one table, by SQLSTATE or its class (the first two characters).

What is not in it is a mistake of ours and stays as it is, which a surface answers with 500. "Try again" is said only
where trying again can help.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import cast

import psycopg
from procrastinate.exceptions import ConnectorException
from psycopg_pool import PoolClosed, PoolTimeout

from keepstone.disk import disk_full
from keepstone.errors import KeepstoneError, Malformed, TooLarge, Unavailable

CONNECTION_FAULTS = (PoolTimeout, PoolClosed)


def _away() -> KeepstoneError:
    return Unavailable("The database is not answering. Try again.", retry_after=1)


def _busy() -> KeepstoneError:
    return Unavailable("All connections to the database are in use. Try again.", code="database_busy", retry_after=1)


def _collided() -> KeepstoneError:
    return Unavailable("Somebody else changed the same just now. Try again.", code="collision", retry_after=1)


def _too_slow() -> KeepstoneError:
    return Unavailable("The database stopped this because it took too long. Ask for less at once.", code="timeout")


def _no_memory() -> KeepstoneError:
    return Unavailable("The database is out of memory. Try again later.", code="out_of_memory", retry_after=30)


def _broken_files() -> KeepstoneError:
    return Unavailable("The database can't use its files: tell whoever runs this server.", code="database_fault")


def _too_long() -> KeepstoneError:
    return TooLarge("A name, a key or a word in it is longer than can be looked up: make it shorter.")


def _no_text() -> KeepstoneError:
    return Malformed("A text holds a NUL character or half a surrogate pair: remove it.")


_MEANING: Mapping[str, Callable[[], KeepstoneError]] = {
    "08": _away,  # the connection
    "57P": _away,  # shut down, crashed, starting
    "53300": _busy,
    "53": _no_memory,
    "53100": disk_full,
    "40": _collided,  # deadlock, serialization
    "55P03": _collided,  # lock_timeout
    "57014": _too_slow,  # statement_timeout, or cancelled
    "22021": _no_text,
    "22P05": _no_text,  # in JSON
    "25P03": _too_slow,  # idle_in_transaction_session_timeout
    "54": _too_long,  # a limit of Postgres, such as the size of an index entry
    "58": _broken_files,
}

# A distributed Postgres that loses a node in the middle of a transaction has no code of its own for that.
_INTERNAL = "XX000"
_LOST_NODE = (
    "failure on connection marked as essential",
    "could not commit transaction for shard",
    "postmaster was shut down",
)
# What was asked was planned for a place from which the account has just moved away.
_MOVED = "could not find valid entry for shard"


def meaning(fault: Exception, *, all_lent: bool = False) -> KeepstoneError | None:
    """The error of ours that it stands for; None where the mistake is ours. `all_lent`: every connection is in use."""
    if isinstance(fault, CONNECTION_FAULTS):
        return _busy() if all_lent else _away()
    if _is_no_text(fault):
        return _no_text()
    if not isinstance(fault, psycopg.Error):
        return None
    if _is_away(fault) or _is_internal(fault, _MOVED):
        return _away()
    for length in (5, 3, 2):
        make = _MEANING.get((fault.sqlstate or "")[:length])
        if make:
            return make()
    return None


def _is_away(fault: psycopg.Error) -> bool:
    """Nothing came from the server, or a farewell with its last answer, or one of a cluster lost another."""
    if fault.sqlstate is None:
        farewell = isinstance(fault, psycopg.InternalError) and "results from command" in str(fault)
        return farewell or isinstance(fault, psycopg.OperationalError)
    return _is_internal(fault, *_LOST_NODE)


def _is_internal(fault: psycopg.Error, *beginnings: str) -> bool:
    return fault.sqlstate == _INTERNAL and (fault.diag.message_primary or "").startswith(beginnings)


@contextmanager
def named_faults(all_lent: Callable[[], bool] = lambda: False) -> Generator[None]:
    """What goes wrong at the database inside is raised as the error that it stands for."""
    try:
        yield
    except (psycopg.Error, UnicodeEncodeError, ConnectorException, *CONNECTION_FAULTS) as fault:
        # The queue wraps what happened to it.
        cause = cast("Exception | None", fault.__cause__) if isinstance(fault, ConnectorException) else fault
        error = meaning(cause or fault, all_lent=all_lent())
        if error is None:
            raise
        raise error from fault


def _is_no_text(fault: Exception) -> bool:
    """Of NUL and of text the driver says so itself, before anything is sent; of JSON only Postgres knows."""
    told = str(fault) if isinstance(fault, psycopg.DataError) else ""
    return isinstance(fault, UnicodeEncodeError) or "NUL" in told or "surrogate" in told
