"""OpenTelemetry traces: off by default, and then OpenTelemetry is not imported. `RELAYBOARD_TRACES=on` needs the
packages of the extra `traces`. The standard variables of OpenTelemetry set where the traces are sent, and how many of
them (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_TRACES_SAMPLER`, `OTEL_SERVICE_NAME`).
"""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

from relayboard.base.settings import SettingError, Settings
from relayboard.base.version import program_version

SERVER, CLIENT, INTERNAL = "SERVER", "CLIENT", "INTERNAL"
LEFT_OUT = "relayboard.left_out"

Value = str | int | float | bool


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

    @contextlib.contextmanager
    def span(self, name: str, kind: str, parent: Mapping[str, str] | None) -> Iterator[Span]:
        context = None if parent is None else self.extract(parent)
        with self.tracer.start_as_current_span(name, context, self.kinds[kind]) as span:
            yield _RealSpan(span, self.error)


_tracing: _Tracing | None = None
_off = Span()


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


@contextlib.contextmanager
def span(name: str, kind: str = INTERNAL, parent: Mapping[str, str] | None = None) -> Iterator[Span]:
    """A span of the current trace, or of the trace in the headers (`traceparent`)."""
    if _tracing is None:
        yield _off
        return
    with _tracing.span(name, kind, parent) as opened:
        yield opened


@contextlib.contextmanager
def step_span(name: str, shortest_seconds: float) -> Iterator[Span]:
    """A span that is left out if it ends soon and without an error, because the step found no work."""
    began = time.perf_counter()
    with span(name) as opened:
        yield opened
        if time.perf_counter() - began < shortest_seconds:
            opened.leave_out()
