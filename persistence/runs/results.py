"""What contacts answered in a flow, beside what is known of them now: the categories of a result by their groups, or by
the values of a field. The runs that changed last are looked at, so that a request costs the same in a large flow.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Subquery, func, literal, select

from flows.words import snakify
from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.fields import require_field
from persistence.runs.records import MOST_LOOKED_AT, ResultPart
from persistence.tables.contacts import contact, group, group_membership
from persistence.tables.flows import flow, flow_run

MOST_VALUES = 20
"""Of a table's columns; the others are counted together."""
MOST_MEMBERSHIPS = 100_000
Cell = tuple[str | None, Any, int]
"""A category, a group's id or a field's text (None: the contact has none), and how many answers."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Which runs are looked at: those of a flow that have a result, by default its first one, of all times or of the
    last days (UTC).
    """

    flow_uuid: str
    result: str | None = None
    days: int | None = None


def read_flow_results(tx: Transaction, workspace_id: int, asked: Asked, field_key: str | None) -> dict[str, Any]:
    """A result's categories by a field, or by groups without one. Raises RecordMissing for an unknown flow or field."""
    flow_id, key = _find_result(tx, workspace_id, asked)
    looked_at, is_all = _look_at(tx, workspace_id, flow_id, key or "", asked.days)
    answered = select(looked_at).where(looked_at.c.is_answered).subquery()
    if field_key is None:
        cells, is_whole = _by_group(tx, workspace_id, answered)
    else:
        cells, is_whole = _by_field(tx, workspace_id, answered, field_key), True
    sums: Counter[Any] = Counter()
    rows: defaultdict[str | None, Counter[Any]] = defaultdict(Counter)
    for category, value, number in cells:
        rows[category][value] += number
        sums[value] += number
    shown = [value for value in _ranked(sums) if value is not None][:MOST_VALUES]
    if field_key is None:
        names = _name_groups(tx, workspace_id, shown)
        by_category = select(answered.c.category, func.count()).group_by(answered.c.category)
        totals: dict[str | None, int] = dict(tx.execute(by_category).tuples().all())
    else:
        names = {value: (value, None) for value in shown}
        totals = {category: row.total() for category, row in rows.items()}
    shown = [value for value in shown if value in names]
    return {
        "result": key,
        "answered": sum(totals.values()),
        "is_exact": is_all and is_whole,
        "values": [{"value": names[each][0], "group": names[each][1], "count": sums[each]} for each in shown],
        "categories": [
            {"category": category, "count": totals[category]} | _spread(rows[category], shown)
            for category in _ranked(totals)
        ],
    }


def _find_result(tx: Transaction, workspace_id: int, asked: Asked) -> tuple[int, str | None]:
    """The id of the flow, and the key of the result."""
    named = (flow.c.workspace_id == workspace_id) & (flow.c.uuid == asked.flow_uuid)
    found = tx.execute(select(flow.c.id, flow.c.results).where(named)).one_or_none()
    if found is None:
        raise RecordMissing
    flow_id, results = found
    if asked.result is not None:
        return flow_id, snakify(asked.result)
    return flow_id, results[0]["key"] if results else None


def _look_at(tx: Transaction, workspace_id: int, flow_id: int, key: str, days: int | None) -> tuple[Subquery, bool]:
    """The runs that are looked at, and whether they are all."""
    rows = flow_run.c
    mine = (rows.workspace_id == workspace_id) & (rows.flow_id == flow_id)
    if days is not None:
        first = tx.now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days - 1)
        mine &= rows.modified_on >= first
    some = select(rows.id).where(mine).order_by(rows.modified_on.desc(), rows.id.desc()).limit(MOST_LOOKED_AT + 1)
    number = tx.execute(select(func.count()).select_from(some.subquery())).scalar_one()
    is_answered = ResultPart(rows.results, literal(key), literal("name")).is_not(None).label("is_answered")
    category = ResultPart(rows.results, literal(key), literal("category")).label("category")
    newest = select(rows.contact_id, is_answered, category).where(mine)
    last = newest.order_by(rows.modified_on.desc(), rows.id.desc()).limit(MOST_LOOKED_AT)
    return last.subquery(), number <= MOST_LOOKED_AT


def _by_field(tx: Transaction, workspace_id: int, answered: Subquery, key: str) -> Sequence[Cell]:
    """How many answers of each category came from contacts with each value."""
    field_uuid = require_field(tx, workspace_id, key).uuid
    value: ColumnElement[Any] = contact.c.fields[(field_uuid, "text")].as_string().label("value")
    is_theirs = (contact.c.id == answered.c.contact_id) & (contact.c.workspace_id == workspace_id)
    valued = select(answered.c.category, value).select_from(answered.join(contact, is_theirs)).subquery()
    return _count(tx, valued.c.category, valued.c.value)


def _by_group(tx: Transaction, workspace_id: int, answered: Subquery) -> tuple[Sequence[Cell], bool]:
    """The same by the groups of contacts, of which each counts, and whether all memberships were looked at."""
    member = group_membership.c
    is_theirs = (member.contact_id == answered.c.contact_id) & (member.workspace_id == workspace_id)
    joined = select(answered.c.category, member.group_id).select_from(answered.outerjoin(group_membership, is_theirs))
    some = joined.limit(MOST_MEMBERSHIPS + 1).subquery()
    cells = _count(tx, some.c.category, some.c.group_id)
    return cells, sum(number for *_, number in cells) <= MOST_MEMBERSHIPS


def _count(tx: Transaction, category: ColumnElement[Any], value: ColumnElement[Any]) -> Sequence[Cell]:
    found: Sequence[Any] = tx.execute(select(category, value, func.count()).group_by(category, value)).all()
    return found


def _spread(row: Counter[Any], shown: Sequence[Any]) -> dict[str, Any]:
    """A category's numbers by the values that are shown, by all others together, and without any."""
    counts, none = [row[value] for value in shown], row[None]
    return {"counts": counts, "others": row.total() - none - sum(counts), "none": none}


def _ranked(counts: Mapping[Any, int]) -> list[Any]:
    """The most frequent first."""
    return sorted(counts, key=lambda each: (-counts[each], str(each)))


def _name_groups(tx: Transaction, workspace_id: int, ids: Sequence[int]) -> dict[Any, tuple[str, Any]]:
    mine = (group.c.workspace_id == workspace_id) & group.c.id.in_(ids)
    found = tx.execute(select(group.c.id, group.c.uuid, group.c.name).where(mine))
    return {number: (name, {"uuid": uuid, "name": name}) for number, uuid, name in found}
