"""Logging of every process: one line per event on stderr, as text for people or JSON for machines. Every line that is
written during a request contains the request's id.
"""

import json
import logging
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TextIO

from relayboard.base.tracebacks import format_traceback

FORMATS = ("text", "json")
OURS = "relayboard"
"""All loggers of the program are below this one."""

current_request_id: ContextVar[str | None] = ContextVar("current_request_id", default=None)
"""The id of the request of this task or thread; the guard sets it."""

_OWN_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "request_id", "taskName"}
_CONTROL_CHARACTERS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}
_CONTROL_CHARACTERS |= {0x2028: "\\u2028", 0x2029: "\\u2029"}


def configure_logging(log_format: str, *, level: int = logging.INFO, stream: TextIO | None = None) -> None:
    """Send all records from a level on to one stream (by default stderr) as `text` or `json`; replaces former handlers.
    Below INFO only our own: what libraries tell then may hold secrets.

    Raises ValueError for another format.
    """
    if log_format not in FORMATS:
        raise ValueError(f"log format {log_format!r} is neither text nor json")
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setLevel(level)
    handler.setFormatter(JsonLines() if log_format == "json" else TextLines())
    root = logging.getLogger()
    for former in list(root.handlers):
        root.removeHandler(former)
    root.addHandler(handler)
    root.setLevel(max(level, logging.INFO))
    logging.getLogger(OURS).setLevel(level)
    # No line has these, and to find them out takes a fifth of its time.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    # The steps of a migration are not interesting at a successful start.
    logging.getLogger("alembic").setLevel(logging.WARNING)


def write_line(logger: logging.Logger, level: int, message: str, extra: Mapping[str, object]) -> None:
    """Logs a message as `logger.log` does, which would look for its caller first, whom no line names."""
    if logger.isEnabledFor(level):
        logger.handle(logger.makeRecord(logger.name, level, "", 0, message, (), None, None, extra))


class JsonLines(logging.Formatter):
    """One JSON object per line: `time`, `level`, `logger`, `message`, `request_id`, the extras, `exception`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": _moment(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        request_id = _request_id(record)
        if request_id is not None:
            line["request_id"] = request_id
        line.update((name, value) for name, value in _extras(record).items() if name not in line)
        if record.exc_info:
            line["exception"] = _exception(record)
        return json.dumps(line, default=str)


class TextLines(logging.Formatter):
    """`time LEVEL logger [request id] message name=value`; a message stays one line, a traceback follows it."""

    def format(self, record: logging.LogRecord) -> str:
        request_id = _request_id(record)
        parts = [_moment(record), record.levelname, record.name]
        if request_id is not None:
            parts.append(f"[{request_id}]")
        parts.append(record.getMessage())
        parts += [f"{name}={value}" for name, value in _extras(record).items()]
        line = " ".join(parts)
        if not line.isprintable():
            line = line.translate(_CONTROL_CHARACTERS)
        return f"{line}\n{_exception(record)}" if record.exc_info else line


def _moment(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _request_id(record: logging.LogRecord) -> str | None:
    given: str | None = getattr(record, "request_id", None)
    return given if given is not None else current_request_id.get()


def _exception(record: logging.LogRecord) -> str:
    error = record.exc_info[1] if record.exc_info else None
    return format_traceback(error) if error is not None else ""


def _extras(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in _OWN_ATTRIBUTES}
