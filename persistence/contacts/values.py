"""Values of contact fields: how a string is read, also as a boundary, and how it is stored."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import select

from flows.clock import SystemClock, in_whole_minutes
from flows.dates import move_to_zone, parse_datetime
from flows.environment import Environment
from flows.numbers import NumberError, PlainNumber, parse_decimal, render_decimal
from flows.places import DISTRICT, STATE, WARD, Place, find_first, find_path, is_possible_path, read_places
from flows.typed import clean
from persistence.boundaries.boundaries import read_place_tree
from persistence.database import Transaction
from persistence.tables.contacts import field
from persistence.workspaces import Workspace

VALUE_LENGTH = 640
LEVELS = {"state": STATE, "district": DISTRICT, "ward": WARD}
PARENTS = {"district": "state", "ward": "district"}

DATE_FORMATS = {"day_first": "DD-MM-YYYY", "month_first": "MM-DD-YYYY", "year_first": "YYYY-MM-DD"}


@dataclass(frozen=True, slots=True)
class FixedClock(SystemClock):
    """A clock that always shows the time of a transaction."""

    moment: datetime

    def now(self) -> datetime:
        return self.moment

    def random(self) -> Decimal:
        return SystemClock().random()


def environment_of(workspace: Workspace) -> Environment:
    """The formats, time zone, languages and country with which a workspace's values are read."""
    return Environment(
        date_format=DATE_FORMATS[workspace.date_style],
        timezone=workspace.timezone,
        allowed_languages=workspace.languages,
        default_country=workspace.country,
        number_format=workspace.number_signs,
        redaction_policy="urns" if workspace.is_anonymous else "none",
    )


def read_value(
    workspace: Workspace, text: str | None, now: datetime, environment: Environment | None = None
) -> dict[str, Any] | None:
    """The stored form of a field value: its text, and the number and the datetime as which it can be read. None for an
    empty string, which clears the field. Numbers are plain decimal strings; datetimes are ISO 8601 in the workspace's
    time zone (contract reference, contact field values).
    """
    given, text = text, clean(text or "")[:VALUE_LENGTH]
    if not text:
        return None
    stored = {"text": text}
    environment = environment or environment_of(workspace)
    number = given if isinstance(given, PlainNumber) else text
    with contextlib.suppress(NumberError):
        stored["number"] = render_decimal(parse_decimal(number, environment.number_format))
    moment = parse_datetime(environment, FixedClock(now), text, fill_time=False)
    if moment is not None:
        stored["datetime"] = in_whole_minutes(move_to_zone(moment, workspace.zone)).isoformat()
    return stored


Value = dict[str, Any] | None


def read_place_values(
    tx: Transaction,
    workspace: Workspace,
    stored: Mapping[str, Any],
    values: Mapping[str, Value],
    kinds: Mapping[str, str],
) -> dict[str, Value]:
    """The same values, by field UUID, with the boundaries that they name (contract reference, contact field values).
    `stored` are the contact's values so far, `kinds` the types of the changed fields. A state is found by name, alias
    or path; a district needs a known state, a ward a known district, unless its whole path is given. Without such a
    field no statement is run.
    """
    if not any(value is not None and kinds[uuid] in LEVELS for uuid, value in values.items()):
        return dict(values)
    places = load_places(tx, workspace)
    return dict(values) if places is None else places.read(stored, values, kinds)


@dataclass(frozen=True, slots=True)
class Places:
    """The boundaries of a workspace, and its fields that hold them, by their type: what many contacts are read with."""

    root: Place
    fields_by_kind: Mapping[str, list[str]]

    def read(
        self, stored: Mapping[str, Any], values: Mapping[str, Value], kinds: Mapping[str, str]
    ) -> dict[str, Value]:
        """See `read_place_values`."""
        found = dict(values)
        changing = [uuid for uuid, value in values.items() if value is not None and kinds[uuid] in LEVELS]
        for uuid in sorted(changing, key=lambda each: LEVELS[kinds[each]]):
            kind, value = kinds[uuid], found[uuid]
            assert value is not None
            parent = _find_parent(self.root, PARENTS.get(kind), self.fields_by_kind, {**stored, **found})
            place = _find_place(self.root, kind, value["text"], parent)
            found[uuid] = {**value, **_paths(place)}
        return found


def load_places(tx: Transaction, workspace: Workspace) -> Places | None:
    """None for a workspace whose country has no boundaries."""
    tree = read_place_tree(tx, workspace)
    if tree is None:
        return None
    mine = (field.c.workspace_id == workspace.id) & field.c.type.in_(list(LEVELS))
    fields_by_kind: dict[str, list[str]] = {}
    for uuid, kind in tx.execute(select(field.c.uuid, field.c.type).where(mine).order_by(field.c.id)):
        fields_by_kind.setdefault(kind, []).append(uuid)
    return Places(read_places(tree), fields_by_kind)


def _find_place(root: Place, kind: str, text: str, parent: Place | None) -> Place | None:
    if is_possible_path(text):
        return find_path(root, text)
    if kind in PARENTS and parent is None:
        return None
    return find_first(root, LEVELS[kind], text, parent)


def _find_parent(
    root: Place, kind: str | None, fields_by_kind: Mapping[str, list[str]], values: Mapping[str, Value]
) -> Place | None:
    if kind is None:
        return None
    for uuid in fields_by_kind.get(kind, ()):
        path = (values.get(uuid) or {}).get(kind)
        if path:
            return find_path(root, path)
    return None


def _paths(place: Place | None) -> dict[str, str]:
    """The full path for each level of a boundary."""
    if place is None:
        return {}
    parts = [part.strip() for part in place.path.split(">")]
    return {kind: " > ".join(parts[: level + 1]) for kind, level in LEVELS.items() if place.level >= level}
