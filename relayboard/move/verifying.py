"""Compares both sides: each record of the other side is looked for here, and samples are compared field by field."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from persistence.database import Database, Transaction
from persistence.move import moves
from persistence.move.comparison import (
    SPECS,
    comparable_query,
    find_gone,
    find_held,
    find_new_uuids,
    note_unlisted,
    read_here,
)
from persistence.move.moves import Move, find_noted, save_state
from persistence.sql.columns import time_text
from persistence.templates import STATUSES
from relayboard.move.kinds import COMPARED as KINDS
from relayboard.move.kinds import Kind
from relayboard.move.reading import read_reference
from relayboard.move.source import ListRefused, NotThere, Source

Record = Mapping[str, Any]
FIRST_SAMPLES, SAMPLES_OF_PAGE = 20, 2
MOST_NAMED = 50
SHOWN_LENGTH = 120

COMPARED: Mapping[str, tuple[str, ...]] = {
    moves.CHANNEL: ("name", "address"),
    moves.FIELD: ("key", "name", "type", "featured", "agent_access"),
    moves.GLOBAL: ("key", "value"),
    moves.GROUP: ("name", "query"),
    moves.LABEL: ("name",),
    moves.TOPIC: ("name",),
    moves.OPTIN: ("name",),
    moves.CLASSIFIER: ("name",),
    moves.TEMPLATE: ("name", "translations"),
    moves.RESTHOOK: ("resthook", "created_on"),
    moves.SUBSCRIBER: ("resthook", "target_url", "created_on"),
    moves.FLOW: ("name", "archived", "labels", "created_on"),
    moves.CAMPAIGN: ("name", "archived", "group"),
    moves.CAMPAIGN_EVENT: ("campaign", "relative_to", "offset", "unit", "delivery_hour", "flow", "message"),
    moves.CONTACT: ("name", "language", "status", "urns", "groups", "fields", "created_on"),
    moves.TICKET: ("contact", "status", "topic", "assignee", "opened_by", "flow_uuid", "opened_on", "closed_on"),
    moves.BROADCAST: ("status", "text", "attachments", "contacts", "groups", "base_language", "created_on"),
    moves.MESSAGE: ("contact", "urn", "direction", "type", "status", "visibility", "text", "attachments",
                    "quick_replies", "labels", "flow", "channel", "created_on", "sent_on"),
    moves.START: ("flow", "status", "contacts", "groups", "restart_participants", "exclude_active", "params",
                  "created_on"),
    moves.RUN: ("flow", "contact", "responded", "status", "path", "values", "created_on"),
    moves.EVENT: ("contact", "type", "extra", "occurred_on", "created_on"),
}  # fmt: skip
"""What is compared of each kind. Times of change are ours, and counts follow from the rest."""
REFERRED = {"contact": moves.CONTACT, "contacts": moves.CONTACT, "flow": moves.FLOW, "groups": moves.GROUP,
            "labels": moves.LABEL, "topic": moves.TOPIC, "channel": moves.CHANNEL, "campaign": moves.CAMPAIGN,
            "group": moves.GROUP}  # fmt: skip
FLOW_LABELS = (moves.FLOW, "labels")
"""They are compared by name."""
EXPLAINED: Mapping[str, tuple[str, ...]] = {
    moves.FIELD: ("name", "type"),
    moves.GLOBAL: ("value",),
    moves.GROUP: ("name", "query"),
    moves.TEMPLATE: ("translations",),
    moves.FLOW: ("archived",),
    moves.CONTACT: ("urns", "language", "groups", "fields"),
    moves.TICKET: ("status", "topic", "assignee", "opened_by", "closed_on"),
    moves.BROADCAST: ("contacts", "groups"),
    moves.MESSAGE: ("labels", "flow"),
    moves.START: ("contacts", "groups"),
}
"""What a note in the report may be about: the rest of such a record is compared nevertheless."""
LISTED_ALWAYS = (moves.BROADCAST, moves.START, moves.RUN, moves.EVENT)
"""Kinds of which no pass notices that a record was deleted alone."""
SHOWN_AS = {(moves.RUN, "status"): {"failed": "interrupted"}}
"""How the API shows what both sides have."""


@dataclass(slots=True)
class KindComparison:
    """One kind on both sides. `missing` records were never carried and nothing says why; `lost` ones were refused, with
    a reason in the report; `gone` ones were carried and are not in the list here any more (archived or deleted)."""

    there: int = 0
    here: int = 0
    lost: int = 0
    gone: int = 0
    missing: int = 0
    missing_names: list[str] = field(default_factory=list)
    samples: int = 0
    different: int = 0
    differences: list[dict[str, Any]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


class Verifier:
    """Reads everything that the other side lists; it writes nothing here but its result, and what is not listed there
    any more."""

    def __init__(self, database: Database, source: Source, move: Move, tell: Callable[[str], object]) -> None:
        self.database = database
        self.source = source
        self.move = move
        self._tell = tell
        began = move.state.get("pass_began_on")
        self._groups: set[str] = set()
        """The groups here that came with the move: a contact may have joined others."""
        self._channels: set[str] = set()
        self._since = datetime.fromisoformat(began) if began else None

    def run(self) -> dict[str, Any]:
        """The comparison, which the move remembers. Raises SourceFailed."""
        self.source.check_workspace(self.move.state.get("workspace", {}))
        result = {}
        with self.database.reading() as tx:
            groups = find_gone(tx, self.move, moves.GROUP, ())
            self._groups = set(find_new_uuids(tx, self.move, moves.GROUP, groups).values())
            channels = find_gone(tx, self.move, moves.CHANNEL, ())
            self._channels = set(find_new_uuids(tx, self.move, moves.CHANNEL, channels).values())
        for kind in KINDS:
            if kind.name in (moves.CAMPAIGN, moves.CAMPAIGN_EVENT) and not self.move.state.get("switched_on"):
                continue
            result[kind.name] = self._compare(kind).to_json()
            self._tell(f"{kind.title}: {result[kind.name]['there']:,} there, {result[kind.name]['here']:,} here")
        verified = {"on": time_text(self.source.now), "is_equal": is_equal(result), "kinds": result}
        self.move.state["verified"] = {
            **verified,
            "kinds": {name: _without_values(each) for name, each in result.items()},
        }
        self.database.write(partial(save_state, move=self.move))
        self.move.state["verified"] = verified
        return verified

    def _compare(self, kind: Kind) -> KindComparison:
        found, seen = KindComparison(), set[str]()
        following: str | None = self.source.list_url(kind.path)
        while following:
            try:
                page, following = self.source.read_page(following)
            except (NotThere, ListRefused):
                return found
            records = {record["reference"]: record for record in kind.records(page)}
            if kind.name in LISTED_ALWAYS:
                seen.update(records)
            with self.database.reading() as tx:
                self._count(tx, kind, found, records)
                self._sample(tx, kind, found, records)
        if kind.name in LISTED_ALWAYS:
            self.database.write(partial(note_unlisted, move=self.move, kind=kind.name, seen=seen))
        return found

    def _count(self, tx: Transaction, kind: Kind, found: KindComparison, records: Mapping[str, Record]) -> None:
        known, held = find_held(tx, self.move, kind.name, records)
        for reference, record in records.items():
            if kind.name == moves.GROUP and record["system"] and reference not in known:
                continue
            found.there += 1
            if reference in held:
                found.here += 1
            elif reference not in known:
                if not self._is_newer(record):
                    found.missing += 1
                    found.missing_names += [record["label"]] if len(found.missing_names) < MOST_NAMED else []
            elif known[reference] is None:
                found.lost += 1
            else:
                found.gone += 1

    def _is_newer(self, record: Record) -> bool:
        """Whether a record appeared or changed there after the last pass."""
        times = [record.get("modified_on"), record.get("created_on")]
        return self._since is not None and any(each is not None and each >= self._since for each in times)

    def _sample(self, tx: Transaction, kind: Kind, found: KindComparison, records: Mapping[str, Record]) -> None:
        if kind.name not in SPECS:
            return
        most = FIRST_SAMPLES if found.samples == 0 else SAMPLES_OF_PAGE
        step = max(1, len(records) // most)
        chosen = {key: records[key] for key in list(records)[::step][:most] if not self._is_newer(records[key])}
        here = read_here(tx, self.move, kind.name, list(chosen))
        uuids = self._translate(tx, kind, list(chosen.values()))
        noted = find_noted(tx, self.move, kind.name, list(chosen))
        for reference, shown in here.items():
            found.samples += 1
            explained = EXPLAINED.get(kind.name, ()) if reference in noted else ()
            there = chosen[reference]
            if kind.name == moves.GROUP:
                there = {**there, "query": comparable_query(tx, self.move, there["query"])}
            differences = self._differences(kind, there, kind.read(shown), uuids)
            differences = [each for each in differences if each["field"] not in explained]
            found.different += bool(differences)
            if len(found.differences) < MOST_NAMED:
                found.differences += [{"reference": reference, **each} for each in differences]

    def _translate(self, tx: Transaction, kind: Kind, records: Sequence[Record]) -> dict[str, str]:
        """The UUIDs here of what these records refer to."""
        found: dict[str, str] = {}
        for name in COMPARED[kind.name]:
            if name in REFERRED and (kind.name, name) != FLOW_LABELS:
                given = (_references(each[name]) for each in records)
                wanted = {uuid for each in given for uuid in (each if isinstance(each, list) else [each]) if uuid}
                found |= find_new_uuids(tx, self.move, REFERRED[name], wanted)
        if kind.name == moves.TEMPLATE:
            channels = {read_reference(text["channel"]) or "" for each in records for text in each["translations"]}
            found |= find_new_uuids(tx, self.move, moves.CHANNEL, channels)
        return found

    def _differences(self, kind: Kind, there: Record, here: Record, uuids: Mapping[str, str]) -> list[dict[str, str]]:
        found = []
        for name in COMPARED[kind.name]:
            theirs, ours = there[name], here[name]
            shown = SHOWN_AS.get((kind.name, name), {})
            theirs, ours = (shown.get(each, each) if shown else each for each in (theirs, ours))
            if name in REFERRED and (kind.name, name) != FLOW_LABELS:
                theirs, ours = _translated(_references(theirs), uuids), _references(ours)
                ours = sorted(ours) if isinstance(ours, list) else ours
                ours = [each for each in ours or () if each in self._groups] if name == "groups" else ours
            if name == "translations":
                theirs, ours = _texts(theirs, uuids), [each for each in _texts(ours) if each[0] in self._channels]
            elif (kind.name, name) == FLOW_LABELS:  # a flow keeps labels that it got here
                ours = [each for each in theirs if each.casefold() in {label.casefold() for label in ours}]
            if kind.name == moves.CONTACT and name == "fields":
                theirs, ours = _comparable_values(theirs), _comparable_values(ours)
            if _comparable(theirs) != _comparable(ours):
                found.append({"field": name, "there": _show(theirs), "here": _show(ours)})
        return found


def _without_values(result: Mapping[str, Any]) -> dict[str, Any]:
    """What is remembered of a comparison: not what the records said, which may be erased one day."""
    return {**result, "differences": [{**each, "there": "", "here": ""} for each in result["differences"]]}


def is_equal(result: Mapping[str, Mapping[str, Any]]) -> bool:
    return not any(each["missing"] or each["different"] for each in result.values())


def _references(given: Any) -> Any:
    """UUIDs of what a record refers to."""
    return read_reference(given) if isinstance(given, Mapping) else given


def _texts(translations: Sequence[Record], uuids: Mapping[str, str] | None = None) -> list[tuple[str, ...]]:
    """The texts of a template that can be here, with their channels as they are called here."""
    found = []
    for each in translations:
        channel = read_reference(each["channel"]) or ""
        status = each["status"] if each["status"] in STATUSES else "pending"
        if channel and each["content"].strip():
            named = channel if uuids is None else uuids.get(channel, channel)
            found.append((named, each["locale"], each["content"], status))
    return sorted(found)


def _translated(given: Any, uuids: Mapping[str, str]) -> Any:
    """References as they are called here; those that are not here are left out."""
    if isinstance(given, list):
        return sorted(uuids[uuid] for uuid in given if uuid in uuids)
    return uuids.get(given) if given else given


def _comparable_values(values: Mapping[str, str]) -> dict[str, str | datetime]:
    """Servers write the same time with different digits."""
    found: dict[str, str | datetime] = {}
    for key, text in values.items():
        found[key] = text
        if "T" in text[:12] and text[:4].isdigit():
            try:
                found[key] = datetime.fromisoformat(text)
            except ValueError:
                continue
    return found


def _comparable(value: Any) -> Any:
    """Times in texts of paths and results differ in their digits, too."""
    if isinstance(value, Mapping):
        return {key: _comparable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_comparable(each) for each in value]
    if isinstance(value, str) and len(value) >= 19 and value[4:5] == "-" and value[10:11] == "T":
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            return value
    return value


def _show(value: Any) -> str:
    text = time_text(value) if isinstance(value, datetime) else str(value)
    return text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}…"
