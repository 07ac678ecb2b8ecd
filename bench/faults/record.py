"""The rounds that were run, over all sessions: a file beside the code, which the page about quality is made from."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("record.json")
COUNTED = ("made_for", "ledger", "answers", "faults_that_hit", "faults_that_hit_nothing", "restarted", "failed_wrongly")
SUMMED = ("events", "lost", "arrived_more_than_needed", "seconds")
Found = dict[str, Any]


class Record:
    """`rounds` are those whose ledger balanced, `failed` the others, which stay until somebody has mended the cause and
    takes them out; `neighbors` is the last comparison beside dead receivers.
    """

    def __init__(self, path: Path = RECORD) -> None:
        self.path = path
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        self.rounds: list[Found] = known.get("rounds", [])
        self.failed: list[Found] = known.get("failed", [])
        self.neighbors: Found | None = known.get("neighbors")

    @property
    def events(self) -> int:
        return sum(each["events"] for each in self.rounds)

    @property
    def next_seed(self) -> int | None:
        """The one after the last that was used; None if there was none."""
        used = [each["seed"] for each in (*self.rounds, *self.failed)]
        return max(used) + 1 if used else None

    def add(self, found: Found) -> None:
        (self.failed if found["problems"] else self.rounds).append(found)
        self.save()

    def save(self) -> None:
        kept = {"rounds": self.rounds, "failed": self.failed, "neighbors": self.neighbors}
        self.path.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def add_up(rounds: Sequence[Found]) -> Found:
    """All rounds as one."""
    counted: Found = {name: _sum(each[name] for each in rounds) for name in COUNTED}
    return counted | {name: sum(each[name] for each in rounds) for name in SUMMED}


def _sum(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)
