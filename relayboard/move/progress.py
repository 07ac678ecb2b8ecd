"""How far a move is, and how long it will still take, as a person who waits wants to know it."""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from relayboard.move.kinds import Kind

Show = Callable[[str], object]
LINES_SECONDS = 10.0


class Progress:
    """Tells of each kind how many records were read, and estimates the rest. Lists are newest first and have no count:
    what share was read follows from the time of the last record between now and the beginning of the workspace, or from
    a number that the other server gives."""

    def __init__(self, show: Show, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._show = show
        self._clock = clock
        self._began: dict[str, tuple[float, int]] = {}
        self._told = 0.0
        self._oldest: datetime | None = None
        self._totals: dict[str, int] = {}

    def advance(self, kind: Kind, state: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> None:
        self._learn(kind, records)
        began, first = self._began.setdefault(kind.name, (self._clock(), state["read"] - len(records)))
        now = self._clock()
        if now - self._told < LINES_SECONDS:
            return
        self._told = now
        text = f"{kind.title}: {state['read']:,}"
        share = self._share(kind, state, records)
        done = state["read"] - first
        if share and share < 1 and done > 0:
            left = (now - began) * (1 - share) / max(share - share * first / max(state["read"], 1), 1e-9)
            text += f", about {share:.0%}, {_duration(left)} left"
        self._show(text)

    def finish(self, kind: Kind, state: Mapping[str, Any]) -> None:
        if state.get("is_missing"):
            self._show(f"{kind.title}: the other server has no such list")
        else:
            self._show(f"{kind.title}: {state['read']:,} read")

    def _learn(self, kind: Kind, records: Sequence[Mapping[str, Any]]) -> None:
        """When the workspace began, and how many runs it has, from what is read first."""
        if kind.moment is None or kind.name == "flow":
            times = [each["created_on"] for each in records if each.get("created_on")]
            self._oldest = min([*times, self._oldest or datetime.now(UTC)])
        if kind.name == "flow":
            runs = sum(sum(value for value in each["runs"].values() if isinstance(value, int)) for each in records)
            self._totals["run"] = self._totals.get("run", 0) + runs

    def _share(self, kind: Kind, state: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> float | None:
        total = self._totals.get(kind.name)
        if total and not state.get("since"):
            return min(1.0, float(state["read"] / total))
        last = records[-1].get(kind.moment or "") if records else None
        since = state.get("since")
        start = datetime.fromisoformat(since) if since else self._oldest
        if last is None or start is None:
            return None
        span = (datetime.fromisoformat(state["began_on"]) - start).total_seconds()
        gone = (datetime.fromisoformat(state["began_on"]) - last).total_seconds()
        return min(1.0, max(0.001, gone / span)) if span > 0 else None


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute"
    if minutes == 1:
        return "a minute"
    return f"{minutes} minutes" if minutes < 120 else f"{minutes / 60:.1f} hours"
