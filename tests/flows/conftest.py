"""Every event in any test of the engine is compared with its declared type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from flows.engine import EventLog
from tests.flows.event_types import list_mismatches


@pytest.fixture(autouse=True)
def events_are_as_declared(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fails a test in which an event differs from what `flows.events` says of its type."""
    made: list[Any] = []
    add = EventLog.add

    def add_and_note(log: EventLog, *arguments: Any, **named: Any) -> Any:
        event = add(log, *arguments, **named)
        made.append(event)
        return event

    monkeypatch.setattr(EventLog, "add", add_and_note)
    yield
    assert [mismatch for event in made for mismatch in list_mismatches(event)] == []
