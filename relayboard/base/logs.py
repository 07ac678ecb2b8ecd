"""Logging of every process: one line per event on stderr, as text for people or JSON for machines. Every line that is
written during a request contains the request's id.

Tracebacks for the log. Messages of database errors quote values (names, numbers, texts of messages), so only the type,
the code and the statement without values are written.

OpenTelemetry traces: off by default, and then OpenTelemetry is not imported. `RELAYBOARD_TRACES=on` needs the packages
of the extra `traces`. The standard variables of OpenTelemetry set where the traces are sent, and how many of them
(`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_TRACES_SAMPLER`, `OTEL_SERVICE_NAME`).
"""

import contextlib
import json
import logging
import os
import re
import sys
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TextIO

from relayboard.base.settings import SettingError, Settings
from relayboard.base.version import program_version

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


DATABASE_LIBRARIES = frozenset({"psycopg", "psycopg2", "sqlalchemy", "sqlite3"})


def format_traceback(error: BaseException) -> str:
    """The traceback of an exception and of its causes, oldest first."""
    chain = list(_chain(error))
    if not any(_quotes_values(one) for one in chain):
        return "".join(traceback.format_exception(error)).rstrip("\n")
    return "\n\n".join(_format_one(one) for one in reversed(chain))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _quotes_values(error: BaseException) -> bool:
    return any(kind.__module__.partition(".")[0] in DATABASE_LIBRARIES for kind in type(error).__mro__)


def _format_one(error: BaseException) -> str:
    frames = "".join(traceback.format_tb(error.__traceback__))
    if not _quotes_values(error):
        return f"Traceback (most recent call last):\n{frames}{''.join(traceback.format_exception_only(error))}".rstrip()
    words = [f"{type(error).__module__}.{type(error).__qualname__}"]
    code = getattr(getattr(error, "orig", error), "pgcode", None)
    if code is not None:
        words.append(f"[code {code}]")
    statement = getattr(error, "statement", None)
    if statement is not None:
        words.append(f"[SQL: {statement}]")
    return f"Traceback (most recent call last):\n{frames}{' '.join(words)}"


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


SERVER, CLIENT, INTERNAL = "SERVER", "CLIENT", "INTERNAL"
LEFT_OUT = "relayboard.left_out"
MOST_CAUSES = 16
"""Further ones are not handed on: spans would have thousands of links when thousands of requests wake one job."""
TRACEPARENT = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01\Z")
"""A sampled span in the format of W3C Trace Context, version 00."""

Value = str | int | float | bool
Causes = tuple[str, ...]
"""Spans of other processes that caused work here, as `traceparent` headers."""


class Span:
    """A span of a trace; this class does nothing and is used while traces are off."""

    def note(self, **attributes: Value) -> None:
        """Adds attributes; in their names `_` stands for a dot and `__` for itself."""

    def fail(self, reason: str) -> None:
        """Marks the work as failed without an exception."""

    def leave_out(self) -> None:
        """Drops the span."""


class _RealSpan(Span):
    def __init__(self, span: Any, error: Any) -> None:
        self._span, self._error = span, error

    def note(self, **attributes: Value) -> None:
        self._span.set_attributes({_dotted(name): value for name, value in attributes.items()})

    def fail(self, reason: str) -> None:
        self._span.set_status(self._error, reason)

    def leave_out(self) -> None:
        self._span.set_attribute(LEFT_OUT, True)


def _dotted(name: str) -> str:
    return name.replace("__", " ").replace("_", ".").replace(" ", "_")


class _Tracing:
    """What is imported once traces are on."""

    def __init__(self, process: str) -> None:
        try:
            from opentelemetry import propagate, trace  # noqa: PLC0415  # only where traces are on
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
            from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
            from opentelemetry.sdk.trace import ReadableSpan, TracerProvider  # noqa: PLC0415
            from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
            from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415
                TraceContextTextMapPropagator,
            )
        except ImportError as error:
            reason = "the packages for traces are not installed; `pip install relayboard[traces]` does it"
            raise SettingError(f"RELAYBOARD_TRACES cannot be used: {reason}") from error

        class Processor(BatchSpanProcessor):
            def on_end(self, span: ReadableSpan) -> None:
                if LEFT_OUT not in (span.attributes or {}):
                    super().on_end(span)

        instance = f"{process}-{os.getpid()}"
        known: dict[str, Value] = {"service.version": program_version(), "service.instance.id": instance}
        if "OTEL_SERVICE_NAME" not in os.environ:
            known["service.name"] = "relayboard"
        self.provider = TracerProvider(resource=Resource.create(known))
        self.provider.add_span_processor(Processor(OTLPSpanExporter()))
        self.tracer = self.provider.get_tracer("relayboard", program_version())
        self.kinds = trace.SpanKind
        self.error = trace.StatusCode.ERROR
        self.extract = propagate.extract
        self.trace = trace
        self.written = TraceContextTextMapPropagator()

    @contextlib.contextmanager
    def span(self, name: str, kind: str, parent: Mapping[str, str] | None) -> Iterator[Span]:
        context, links = None, list[Any]()
        if parent is not None:
            context = self.extract(parent)
        elif not self.current():
            context, links = self._caused(_causes.get())
        with self.tracer.start_as_current_span(name, context, self.kinds[kind], links=links) as span:
            yield _RealSpan(span, self.error)

    def current(self) -> Causes:
        """The current span, if it is sampled."""
        carrier: dict[str, str] = {}
        self.written.inject(carrier)
        given = carrier.get("traceparent", "")
        return (given,) if TRACEPARENT.match(given) else ()

    def _caused(self, causes: Causes) -> tuple[Any, list[Any]]:
        """One cause is the parent; several are linked from a trace of its own."""
        contexts = [self.written.extract({"traceparent": each}) for each in causes]
        if len(contexts) == 1:
            return contexts[0], []
        return None, [self.trace.Link(self.trace.get_current_span(each).get_span_context()) for each in contexts]


_tracing: _Tracing | None = None
_off = Span()
_causes: ContextVar[Causes] = ContextVar("causes", default=())


@contextlib.contextmanager
def tracing(settings: Settings, process: str) -> Iterator[None]:
    """Traces this process while the block runs, if the settings say so, and sends the rest at the end. Raises
    SettingError if the packages are missing.
    """
    global _tracing  # a process traces or does not
    if not settings.traces:
        yield
        return
    _tracing = opened = _Tracing(process)
    try:
        yield
    finally:
        _tracing = None
        opened.provider.shutdown()


def is_tracing() -> bool:
    return _tracing is not None


def carried() -> Causes:
    """What later work of other processes is caused by: the current span, or else what this work is caused by."""
    if _tracing is None:
        return ()
    return _tracing.current() or _causes.get()


def causes() -> Causes:
    """What this work is caused by, according to those who handed it on."""
    return _causes.get()


def join_causes(known: Causes, more: Iterable[str]) -> Causes:
    """All of them, each once, up to the limit."""
    return tuple(dict.fromkeys((*known, *more)))[:MOST_CAUSES]


@contextlib.contextmanager
def caused_by(given: Causes) -> Iterator[None]:
    """Spans that begin in this block without a current one are children of the cause, or linked to several."""
    token = _causes.set(given)
    try:
        yield
    finally:
        _causes.reset(token)


@contextlib.contextmanager
def span(name: str, kind: str = INTERNAL, parent: Mapping[str, str] | None = None) -> Iterator[Span]:
    """A span of the current trace, of the trace in the headers (`traceparent`), or of what causes this work."""
    if _tracing is None:
        yield _off
        return
    with _tracing.span(name, kind, parent) as opened:
        yield opened


@contextlib.contextmanager
def step_span(name: str, shortest_seconds: float) -> Iterator[Span]:
    """A span that is left out if it ends soon and without an error, because the step found no work. One that somebody
    caused is kept.
    """
    began = time.perf_counter()
    with span(name) as opened:
        yield opened
        if time.perf_counter() - began < shortest_seconds and not causes():
            opened.leave_out()
