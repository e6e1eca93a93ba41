"""Structured logs: an event and its fields, as JSON or as a line for a terminal.

Of an exception only its type and the places it passed are written. Its message, and the values in a database error,
can quote what a person wrote.
"""

import json
import logging
import traceback
from datetime import UTC, datetime
from typing import IO, Any

from keepstone.settings import LogFormat

_STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}
_QUIET = ("procrastinate", "uvicorn.access", "asyncio")


def configure_logs(level: str, style: LogFormat, stream: IO[str] | None = None) -> None:
    """Send everything through one handler. Libraries that log their arguments are silenced."""
    handler = logging.StreamHandler(stream)  # None is standard error
    as_text = style == "text" or (style == "auto" and handler.stream.isatty())
    handler.setFormatter(TextFormatter() if as_text else JsonFormatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("keepstone").setLevel(level.upper())
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """The extra fields of a record, and what may be told of its exception."""
    extra = {name: value for name, value in vars(record).items() if name not in _STANDARD}
    if record.exc_info and record.exc_info[1] is not None:
        extra |= describe(record.exc_info[1])
    return extra


def describe(fault: BaseException) -> dict[str, Any]:
    """An exception without its message: type, SQLSTATE and constraint of a database error, and the places."""
    description: dict[str, Any] = {"error": type(fault).__name__}
    sqlstate: str | None = getattr(fault, "sqlstate", None)
    if sqlstate is not None:
        description |= {
            "sqlstate": sqlstate,
            "constraint": getattr(getattr(fault, "diag", None), "constraint_name", None),
        }
    if fault.__cause__ is not None:
        description["cause"] = type(fault.__cause__).__name__
    frames = traceback.extract_tb(fault.__traceback__)
    description["trace"] = [f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno} {frame.name}" for frame in frames[-8:]]
    return description


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": _time(record).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        return json.dumps(line | fields_of(record), ensure_ascii=False, default=str)


class TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        shown = " ".join(f"{name}={value}" for name, value in fields_of(record).items())
        return f"{_time(record):%H:%M:%S} {record.levelname.lower():7} {record.getMessage()}  {shown}".rstrip()


def _time(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)
