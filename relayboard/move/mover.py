"""Copies a workspace: kind after kind, page after page. Each page and the position after it are written in one unit of
work, so that a move that is interrupted anywhere goes on where it was."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from functools import partial
from typing import Any, BinaryIO

from persistence.boundaries import count_places
from persistence.database import Database, Transaction
from persistence.definitions.importing import ImportRefused
from persistence.errors import LimitReached, Refused
from persistence.flows.records import archive_flow
from persistence.groups.smart_groups import LeasedGroup, evaluate_some, lease_group
from persistence.media.store import MediaStore
from persistence.move.comparison import (
    delete_messages_between,
    delete_people,
    find_gone,
    find_living,
    forget_gone,
    note_flow,
)
from persistence.move.contacts import forget_missing, write_contacts
from persistence.move.flows import lose_definition, put_away_campaigns, write_definitions, write_flows
from persistence.move.moves import CAMPAIGN, CONTACT, FLOW, MESSAGE, Move, find_moved, save_state
from persistence.move.runs import find_new_archives, lose_archive, write_archive
from persistence.move.setup import evaluate_groups
from persistence.sql.columns import new_uuid, time_text
from relayboard.move.kinds import BY_NAME, KINDS, Kind, people_of, writing
from relayboard.move.progress import Progress
from relayboard.move.reading import Raw, read_moment, read_reference
from relayboard.move.source import CursorLost, FilterRefused, ListRefused, NotThere, Source, SourceFailed

Record = dict[str, Any]
Page = tuple[list[Mapping[str, Any]], str | None]
FLOWS_AT_ONCE = 10
RESTARTS = 3


class Mover:
    """One run of a move. What it reads next is fetched while the last page is written."""

    def __init__(
        self,
        database: Database,
        store: MediaStore,
        source: Source,
        move: Move,
        progress: Progress,
        *,
        reads_all: bool = False,
    ) -> None:
        self.database = database
        self.store = store
        self.source = source
        self.move = move
        self.progress = progress
        self.reads_all = reads_all
        self._seen: set[str] = set()
        self._fetcher = ThreadPoolExecutor(max_workers=1)

    def run(self) -> None:
        """One pass over everything, or the rest of one that was interrupted. Raises SourceFailed."""
        try:
            self._begin()
            for kind in KINDS:
                if self._state(kind).get("pass") != self.move.state["pass"]:
                    self._carry(kind)
            self.move.state["finished_pass"] = self.move.state["pass"]
            self.move.state["finished_on"] = time_text(self.source.now)
            self._save()
        finally:
            self.source.stopped.set()
            self._fetcher.shutdown(wait=True, cancel_futures=True)

    def bring_campaigns(self) -> None:
        """The step of the switch: campaigns of the other side begin to count here. From now on they send."""
        path, records = self.source.list_url("campaigns"), list[Record]()
        following: str | None = path
        while following:
            page, following = self.source.read_page(following)
            records += BY_NAME[CAMPAIGN].records(page)
        for record in records:
            if not record["archived"]:
                self._import_definitions([record], CAMPAIGN)
        self.database.write(partial(put_away_campaigns, move=self.move, records=records))

    def _begin(self) -> None:
        state = self.move.state
        there = self.source.check_workspace(state.get("workspace", {}))
        state["workspace"] = {name: there.get(name) for name in ("uuid", "name", "country", "languages", "timezone")}
        state["workspace"]["date_style"] = there.get("date_style")
        state["workspace"]["anon"] = bool(there.get("anon"))
        if self.reads_all or state.get("pass") is None or state.get("finished_pass") == state["pass"]:
            state["pass"] = state.get("pass", 0) + 1
            state["pass_began_on"] = time_text(self.source.now)
        if self.reads_all:
            for each in state.get("kinds", {}).values():
                each.pop("since", None)
                each.pop("cursor", None)
        state.setdefault("kinds", {})
        self._save()

    def _state(self, kind: Kind) -> dict[str, Any]:
        found: dict[str, Any] = self.move.state["kinds"].setdefault(kind.name, {})
        return found

    def _save(self) -> None:
        self.database.write(partial(save_state, move=self.move))

    def _carry(self, kind: Kind) -> None:
        state = self._state(kind)
        is_later = bool(state.get("since"))
        if kind.moment is None:
            state["cursor"] = None  # such lists are short, and what is missing in them is looked for
        if kind.name == CONTACT and self._are_places_new(state):
            state.pop("since", None)
        for _ in range(RESTARTS):
            self._seen = set()
            if not state.get("cursor"):
                after = state.get("since") if kind.moment and not state.get("has_no_filter") else None
                state |= {"cursor": self.source.list_url(kind.path, after=after), "read": 0}
                self.source.read_workspace()
                state["began_on"] = time_text(self.source.now)
                state.pop("is_missing", None)
                state.pop("edge", None)
            try:
                self._read_pages(kind, state)
            except CursorLost:
                state["cursor"] = None
                continue
            except FilterRefused:
                state |= {"cursor": None, "has_no_filter": True}
                continue
            except NotThere:
                state["is_missing"] = True
            except ListRefused:
                self.source.read_workspace()  # if the token is no longer accepted at all, this is the end
                state["is_missing"] = True
            break
        else:
            raise SourceFailed(f"{self.source.url} forgets positions in its list of {kind.title} again and again")
        began = datetime.fromisoformat(state["began_on"])
        if is_later and not state.get("is_missing"):
            self._forget_gone(kind, state)
        if kind.name == CONTACT and not state.get("since"):
            self._evaluate_groups()
        state |= {"cursor": None, "since": time_text(began - kind.overlap), "pass": self.move.state["pass"]}
        self._save()
        self.progress.finish(kind, state)

    def _are_places_new(self, state: dict[str, Any]) -> bool:
        """Whether boundaries were imported since the contacts were read: values of places are read with them."""
        with self.database.reading() as tx:
            count = count_places(tx)
        former, state["places"] = state.get("places"), count
        return former is not None and former != count and self.move.workspace.country is not None

    def _forget_gone(self, kind: Kind, state: Mapping[str, Any]) -> None:
        """What the other side has deleted since the last pass."""
        if kind.name == CONTACT:
            self._forget_people(state)
        elif kind.name == FLOW:
            self._put_away_flows()
        elif kind.moment is None:
            self.database.write(partial(forget_gone, move=self.move, kind=kind.name, seen=self._seen))

    def _forget_people(self, state: Mapping[str, Any]) -> None:
        """Contacts that are listed as deleted, and that a look at each confirms: some servers do not know the
        parameter, and list everybody."""
        path: str | None = self.source.list_url("contacts", deleted="true", after=state.get("since"))
        while path:
            try:
                page, path = self.source.read_page(path)
            except (FilterRefused, CursorLost, NotThere, ListRefused):
                return
            found = [each["reference"] for each in BY_NAME[CONTACT].records([*filter(_is_deleted, page)])]
            with self.database.reading() as tx:
                living = find_living(tx, self.move, found)
            gone = [uuid for uuid in living if not self._lists("contacts", uuid)]
            self.database.write(partial(delete_people, move=self.move, uuids=gone))
            if page and not any(map(_is_deleted, page)):
                return

    def _lists(self, path: str, uuid: str) -> bool:
        found, _ = self.source.read_page(self.source.list_url(path, uuid=uuid))
        return any(read_reference(each) == uuid for each in found)

    def _put_away_flows(self) -> None:
        """Flows that the other side lists no longer are archived here, where their runs and messages stay."""
        seen: set[str] = set()
        path: str | None = self.source.list_url("flows")
        while path:
            page, path = self.source.read_page(path)
            seen.update(filter(None, map(read_reference, page)))
        with self.database.reading() as tx:
            gone = find_gone(tx, self.move, FLOW, seen)
        for uuid, number in gone.items():
            why = "was deleted there: archived here"
            try:
                archive_flow(self.database, self.move.workspace.id, number)
            except Refused as error:
                why = f"was deleted there, and stays here: {error}"
            self.database.write(partial(note_flow, move=self.move, reference=uuid, number=number, why=why))

    def _read_pages(self, kind: Kind, state: dict[str, Any]) -> None:
        fetched: Future[Page] = self._fetcher.submit(self.source.read_page, state["cursor"])
        while True:
            page, following = fetched.result()
            if following and self._is_known_from_here(kind, state, page):
                following = None
            if following:
                fetched = self._fetcher.submit(self.source.read_page, following)
            self._carry_page(kind, state, page, following)
            if not following:
                return

    @staticmethod
    def _is_known_from_here(kind: Kind, state: Mapping[str, Any], page: Sequence[Raw]) -> bool:
        """Whether all that follows was read in an earlier pass: some servers do not limit lists by time."""
        last = read_moment(page[-1].get(kind.moment)) if page and kind.moment and kind.is_newest_first else None
        return last is not None and "since" in state and last < datetime.fromisoformat(state["since"])

    def _carry_page(self, kind: Kind, state: dict[str, Any], page: Sequence[Raw], following: str | None) -> None:
        records = kind.records(page)
        if kind.moment is None:
            self._seen.update(each["reference"] for each in records)
        self._ensure_people(kind, records)
        state |= {"cursor": following, "read": state["read"] + len(page)}
        state["total_read"] = state.get("total_read", 0) + len(page)
        if kind.name == FLOW:
            self._carry_flows(records)
        elif kind.name == CAMPAIGN:
            self._note_campaigns(records)
        elif kind.write is None:
            self._carry_archives(records)
        else:
            write = writing(kind, self.move, records)
            edges = _edges(state, records) if kind.name == MESSAGE else None

            def both(tx: Transaction) -> None:
                write(tx)
                if edges is not None:
                    delete_messages_between(tx, self.move, *edges, [each["reference"] for each in records])
                save_state(tx, self.move)

            self.database.write(both)
        if kind.write is None:
            self._save()
        self.progress.advance(kind, state, records)

    def _ensure_people(self, kind: Kind, records: Sequence[Record]) -> None:
        """Contacts that appeared since their list was read, or that are deleted there."""
        wanted = people_of(kind, records)
        with self.database.reading() as tx:
            missing = sorted(wanted - set(find_moved(tx, self.move, CONTACT, wanted)))
        for uuid in missing:
            path = self.source.list_url("contacts", uuid=uuid)
            found, _ = self._fetcher.submit(self.source.read_page, path).result()
            people = BY_NAME[CONTACT].records(found)

            def keep(tx: Transaction, people: Sequence[Record] = people, uuid: str = uuid) -> None:
                write_contacts(tx, self.move, people, is_first=False)
                if not people:
                    forget_missing(tx, self.move, [uuid])

            self.database.write(keep)

    def _evaluate_groups(self) -> None:
        """The members of groups with a query, now that the contacts are here; workers may help."""
        self.database.write(partial(evaluate_groups, move=self.move))
        while True:
            leased: LeasedGroup | None = self.database.write(partial(lease_group, workspace_id=self.move.workspace.id))
            if leased is None:
                return
            while leased is not None:
                leased = evaluate_some(self.database, leased)

    def _carry_flows(self, records: Sequence[Record]) -> None:
        for start in range(0, len(records), FLOWS_AT_ONCE):
            self._import_definitions(records[start : start + FLOWS_AT_ONCE], FLOW)
        self.database.write(partial(write_flows, move=self.move, records=records))

    def _import_definitions(self, records: Sequence[Record], kind: str) -> None:
        """Definitions with what they depend on. If they cannot be imported together, each is tried alone, and those
        that cannot are named in the report."""
        asked = {kind: [each["reference"] for each in records], "dependencies": "all"}
        try:
            document = self._fetch(self.source.list_url("definitions", **asked))
            if kind == FLOW:
                document = self._without_others(document, asked[FLOW])
            self.database.write(partial(write_definitions, move=self.move, document=document))
        except (ImportRefused, LimitReached, SourceFailed, NotThere, ListRefused) as error:
            if isinstance(error, SourceFailed) and self.source.stopped.is_set():
                raise
            if len(records) > 1:
                for each in records:
                    self._import_definitions([each], kind)
                return
            why = str(error) or "its definition is not there"
            self.database.write(partial(lose_definition, move=self.move, kind=kind, record=records[0], why=why))

    def _without_others(self, document: Mapping[str, Any], asked: Sequence[str]) -> dict[str, Any]:
        """A document of flows without campaigns, which would begin to send and come with the switch, and without flows
        that came before: people may have changed them here."""
        flows = [(str(each.get("uuid")).lower(), each) for each in document.get("flows") or ()]
        with self.database.reading() as tx:
            known = find_moved(tx, self.move, FLOW, [uuid for uuid, _ in flows])
        kept = [each for uuid, each in flows if uuid in asked or known.get(uuid) is None]
        return {**document, "flows": kept, "campaigns": []}

    def _fetch(self, path: str) -> dict[str, Any]:
        return self._fetcher.submit(self.source.read, path).result()

    def _note_campaigns(self, records: Sequence[Record]) -> None:
        """Campaigns wait for the switch: before, both sides would send their messages."""
        self.move.state["campaigns"] = [
            {"uuid": each["reference"], "name": each["name"], "archived": each["archived"]} for each in records
        ] + (self.move.state.get("campaigns", []) if self._state(BY_NAME[CAMPAIGN])["read"] > len(records) else [])

    def _carry_archives(self, records: Sequence[Record]) -> None:
        with self.database.reading() as tx:
            new = find_new_archives(tx, self.move, records)
        for each in new:
            try:
                location = self._download(each) if each["download_url"] else None
            except SourceFailed as error:
                if self.source.stopped.is_set():
                    raise
                self.database.write(partial(lose_archive, move=self.move, record=each, why=str(error)))
                continue
            self.database.write(partial(write_archive, move=self.move, record=each, location=location))

    def _download(self, record: Record) -> str:
        """The place of the file in the media store. Raises SourceFailed, also for a file that is not what it should
        be."""
        workspace = self.move.workspace.uuid
        location = f"archives/{workspace}/{record['start_date']}-{record['type']}-{new_uuid()}.jsonl.gz"
        with self.store.writing(location) as file:
            measured = _Hashed(file)
            fetch: Callable[[str, Any], int] = self.source.download
            self._fetcher.submit(fetch, record["download_url"], measured).result()
            if record["hash"] and measured.digest.hexdigest() != str(record["hash"]).lower():
                raise SourceFailed("its file is not the one that its hash describes")
        return location


def _is_deleted(raw: Raw) -> bool:
    """Whether a record looks like that of a deleted contact, of which servers show nothing but the UUID."""
    return not any(raw.get(name) for name in ("name", "urns", "groups", "status"))


def _edges(state: dict[str, Any], records: Sequence[Record]) -> tuple[datetime, datetime | None] | None:
    """The times of creation between which the other side has no other messages than these: from the last one of this
    page to the last one of the page before. None if the list is not in that order."""
    moments = [each["created_on"] for each in records]
    if not moments or None in moments or moments != sorted(moments, reverse=True):
        state["edge"] = "unknown"
        return None
    former = state.get("edge")
    state["edge"] = time_text(moments[-1])
    if former == "unknown" or state["total_read"] == len(records):
        return None
    return moments[-1], datetime.fromisoformat(former) if former else None


class _Hashed:
    """A file that is hashed while it is written."""

    def __init__(self, file: BinaryIO) -> None:
        self.digest = hashlib.md5(usedforsecurity=False)
        self._file = file

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return self._file.write(data)
