"""How far a move is, and how long it will still take."""

from datetime import UTC, datetime, timedelta
from typing import Any

from relayboard.move.kinds import BY_NAME
from relayboard.move.progress import Progress

NOW = datetime(2026, 3, 1, tzinfo=UTC)


class Watch:
    """A clock that tests move, in seconds."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def told(progress: Progress, watch: Watch, kind: str, state: dict[str, Any], *records: dict[str, Any]) -> None:
    watch.seconds += 60
    state["read"] += len(records)
    progress.advance(BY_NAME[kind], state, list(records))


def test_the_share_of_a_list_without_a_count_follows_from_its_times() -> None:
    """The workspace is a hundred days old; after a page the list is a quarter back, in one minute."""
    said: list[str] = []
    watch = Watch()
    progress = Progress(said.append, clock=watch)
    state = {"read": 0, "began_on": NOW.isoformat()}
    told(progress, watch, "channel", dict(state), {"created_on": NOW - timedelta(days=100)})
    said.clear()

    told(progress, watch, "message", state, {"created_on": NOW})
    told(progress, watch, "message", state, {"created_on": NOW - timedelta(days=25)})

    assert said[-1] == "messages: 2, about 25%, 3 minutes left"


def test_the_share_of_runs_follows_from_their_number() -> None:
    said: list[str] = []
    watch = Watch()
    progress = Progress(said.append, clock=watch)
    counts = {"completed": 7, "expired": 3, "unheard": None}
    told(progress, watch, "flow", {"read": 0}, {"created_on": NOW, "runs": counts})
    state = {"read": 0, "began_on": NOW.isoformat()}

    told(progress, watch, "run", state, *[{"modified_on": NOW}] * 2)
    told(progress, watch, "run", state, *[{"modified_on": NOW}] * 3)

    assert said[-1] == "runs: 5, about 50%, a minute left"
