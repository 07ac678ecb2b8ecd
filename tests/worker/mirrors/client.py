"""A client that mirrors a list by asking for changes, and checks of the mirror while others write."""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from persistence.database import Database
from persistence.flows.records import list_counting_workspaces, show_counts
from testbed.patience import PATIENCE_SECONDS
from tests.api import Api

Record = dict[str, Any]
Operation = Callable[[int], object]
"""One change of what is there; the number of the turn makes each turn another change."""
OF_OTHERS = ("name", "urn", "first_name", "last_name")
"""What a record shows of another one beside its `uuid` or `email`, by which a mirror joins the two."""
SHORT_SECONDS = 0.05
LOOK_SECONDS = 0.05
"""Between two looks of a mirror: often enough to meet each write, and less work than the writes themselves."""
TURNS = 2
WRITERS = 5
"""More would wait for SQLite's one lock longer than a busy machine allows."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A list whose records show `modified_on`; `elsewhere` replaces what in them belongs to other records, besides the
    names next to their UUIDs.

    `has_after` tells whether it is filtered by that time, with the parameter `after`; `is_ordered` whether the record
    changed last comes first.
    """

    path: str
    key: str = "uuid"
    elsewhere: Callable[[Record], Mapping[str, Any]] = lambda _record: {}
    has_after: bool = True
    after: str = "after"
    is_ordered: bool = True

    def read(self, api: Api, **query: Any) -> dict[str, Record]:
        """All records by their key."""
        return {each[self.key]: each for each in api.all_results(self.path, **query)}

    def own(self, record: Record) -> Record:
        """A record without what other records say of themselves."""
        found: Record = _without_names({**record, **self.elsewhere(record)}, is_own=True)
        return found


def _without_names(value: Any, *, is_own: bool = False) -> Any:
    if isinstance(value, list):
        return [_without_names(each) for each in value]
    if not isinstance(value, dict):
        return value
    is_other = not is_own and ("uuid" in value or "email" in value)
    return {key: _without_names(each) for key, each in value.items() if not (is_other and key in OF_OTHERS)}


@dataclass(slots=True)
class Mirror:
    """Asks again and again for what is newer than the newest it has; `taken_back` are changes that it could miss."""

    api: Api
    listed: Listed
    records: dict[str, Record] = field(default_factory=dict)
    taken_back: list[tuple[Record, Record]] = field(default_factory=list)
    newest: str = ""

    def follow(self) -> None:
        """One look at the list."""
        for record in self._ask():
            known, own = self.records.get(record[self.listed.key]), self.listed.own
            if known is not None and own(record) != own(known) and record["modified_on"] <= known["modified_on"]:
                self.taken_back.append((known, record))
            self.records[record[self.listed.key]] = record
        self.newest = max((each["modified_on"] for each in self.records.values()), default="")

    def _ask(self) -> Sequence[Record]:
        if not self.listed.is_ordered or not self.newest:
            return self._read_all()
        if self.listed.has_after:
            return self._read_all(**{self.listed.after: self.newest})
        found: list[Record] = []
        page = self.api.get(self.listed.path).json()
        while True:
            found += page["results"]
            if page["next"] is None or found[-1]["modified_on"] < self.newest:
                return found
            page = self.api.follow(page["next"]).json()

    def _read_all(self, **query: Any) -> Sequence[Record]:
        """All records of a list; once more when numbered pages may have skipped one, because others were deleted."""
        found: list[Record] = []
        page = self.api.get(self.listed.path, **query).json()
        while True:
            found += page["results"]
            if page["next"] is None:
                return found
            answer = self.api.follow(page["next"])
            if answer.status_code == 404 or answer.json().get("count", 0) < page.get("count", 0):
                return self._read_all(**query)
            page = answer.json()


def describe(taken_back: Sequence[tuple[Record, Record]]) -> str:
    """What changed without being newer."""
    lines = []
    for known, record in taken_back:
        differing = [(name, known[name], record[name]) for name in record if record[name] != known[name]]
        lines.append(f"{differing} at {known['modified_on']}")
    return "\n".join(lines)


def settle(database: Database) -> None:
    """Does what is left to the worker when counts of runs changed."""
    with database.reading() as tx:
        due = list_counting_workspaces(tx)
    for workspace_id in due:
        database.write(partial(show_counts, workspace_id=workspace_id))


def check_changes(api: Api, lists: Sequence[Listed], changes: Mapping[str, Callable[[], object]]) -> None:
    """Whatever each change does to what records show of themselves moves their `modified_on`; and it does something."""
    settle(api.database)
    before = [listed.read(api) for listed in lists]
    for name, change in changes.items():
        change()
        settle(api.database)
        after = [listed.read(api) for listed in lists]
        for listed, old, new in zip(lists, before, after, strict=True):
            changed = [key for key in new if key in old and listed.own(new[key]) != listed.own(old[key])]
            assert changed or new.keys() != old.keys(), f"{name} changed nothing in {listed.path}"
            stale = [(old[key], new[key]) for key in changed if new[key]["modified_on"] <= old[key]["modified_on"]]
            assert stale == [], name
        before = after


def by_name(operations: Sequence[Callable[[Any, int], None]], subject: object) -> dict[str, Callable[[], None]]:
    """The first turn of each of these operations on something."""
    return {each.__name__: partial(each, subject, 1) for each in operations}


def check_mirrors(api: Api, lists: Sequence[Listed], operations: Sequence[Operation], turns: int = TURNS) -> None:
    """Mirrors of these lists miss nothing while each operation is done so many times, by writers side by side."""
    mirrors = [Mirror(api, listed) for listed in lists]
    are_written, is_done = threading.Event(), threading.Event()

    def follow(mirror: Mirror) -> None:
        while not is_done.wait(LOOK_SECONDS):
            mirror.follow()
        mirror.follow()

    def write(mine: Sequence[Operation]) -> None:
        for turn in range(turns):
            for operation in mine:
                operation(turn)

    def work() -> None:
        while not are_written.wait(SHORT_SECONDS):
            settle(api.database)
        settle(api.database)

    with ThreadPoolExecutor(len(mirrors) + WRITERS + 1) as threads:
        following = [threads.submit(follow, mirror) for mirror in mirrors]
        working = threads.submit(work)
        try:
            for writing in [threads.submit(write, operations[number::WRITERS]) for number in range(WRITERS)]:
                writing.result(PATIENCE_SECONDS)
        finally:
            are_written.set()
            failed = working.exception(PATIENCE_SECONDS)
            is_done.set()
        if failed is not None:
            raise failed
        for each in following:
            each.result(PATIENCE_SECONDS)

    for mirror in mirrors:
        assert mirror.taken_back == [], describe(mirror.taken_back)
        present, own = mirror.listed.read(api), mirror.listed.own
        assert {key: own(mirror.records.get(key, {})) for key in present} == {
            key: own(record) for key, record in present.items()
        }
