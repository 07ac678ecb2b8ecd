"""OpenTelemetry traces: off by default, and then OpenTelemetry is not imported. `RELAYBOARD_TRACES=on` needs the
packages of the extra `traces`. The standard variables of OpenTelemetry set where the traces are sent, and how many of
them (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_TRACES_SAMPLER`, `OTEL_SERVICE_NAME`).
"""

import contextlib
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from relayboard.base.settings import SettingError, Settings
from relayboard.base.version import program_version

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
