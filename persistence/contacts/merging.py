"""Makes two contacts one, finds those who are probably one person, and gives contacts new numbers by a rule when a
numbering plan changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Select,
    Table,
    and_,
    case,
    delete,
    exists,
    func,
    literal,
    literal_column,
    null,
    or_,
    select,
    true,
)

from flows.phones import MOBILE, OLD_FORMS, OldForm, country_of, is_possible
from persistence.audit import CHANGED, MERGED, tell_deed
from persistence.changes import change_contacts, change_messages, hold_messages, note_changed
from persistence.contacts.bulk import interrupt_contacts
from persistence.contacts.participants import join_mentions
from persistence.contacts.records import MASKED_PATH
from persistence.contacts.urns import Move, find_moves, hold_in_order, move_numbers
from persistence.database import Database, Transaction
from persistence.deletions import CONTACT, note_deleted
from persistence.errors import InvalidInput
from persistence.groups.groups import add_members, hold_contacts, leave_all_groups
from persistence.groups.smart_groups import find_dependents, follow_contacts, refresh_contacts
from persistence.lists import ListQuery, ListSpec
from persistence.pages import Order
from persistence.records import Record
from persistence.sql.columns import split
from persistence.stamps import stamped
from persistence.statements import update
from persistence.tables.changes import conversation
from persistence.tables.contacts import ACTIVE, CLEARED, OF_PERSON, contact, contact_urn, group, group_membership
from persistence.tables.data_jobs import imported_contact
from persistence.tables.flows import flow_run, flow_session, flow_start
from persistence.tables.messages import broadcast, message
from persistence.tables.policies import policy_of
from persistence.tickets.actions import move_tickets
from persistence.workspaces.records import Workspace

OLD_NUMBER, TWO_SCHEMES = "old_number", "two_schemes"
MOST_MERGED = 100
"""How many pairs are merged at once."""
MOST_COUNTED = 10_000

rows = contact_urn.c
kept_urn, kept = contact_urn.alias("kept_urn"), contact.alias("kept")
NUMBER = case((rows.scheme == "whatsapp", literal("+") + rows.path), else_=rows.path)

BATCH = 500
EXAMPLES = 5


def merge_contacts(tx: Transaction, workspace: Workspace, kept_id: int, other_id: int, *, user_id: int | None) -> None:
    """Gives all that `other` has to `kept`, and deletes `other`; one unit of work. What both have stays as `kept` has
    it. Raises InvalidInput if they are one contact, LostRace if one was deleted since the caller found it.
    """
    if kept_id == other_id:
        raise InvalidInput.on("other", "A contact cannot be merged with itself.")
    hold_contacts(tx, workspace.id, [kept_id, other_id])
    interrupt_contacts(tx, workspace.id, [other_id])
    both = _ours(contact, workspace) & contact.c.id.in_([kept_id, other_id])
    rows = {row.id: row for row in tx.execute(select(contact).where(both))}
    kept, other = rows[kept_id], rows[other_id]
    _move_runs(tx, workspace, kept_id, other_id)
    _move_urns(tx, workspace, kept_id, other_id)
    move_tickets(tx, workspace, other_id, kept_id, user_id)
    group_ids = _manual_groups(tx, workspace, other_id)
    leave_all_groups(tx, workspace.id, [other_id])
    gained = {name: getattr(kept, name) or getattr(other, name) for name in OF_PERSON}
    gained |= {
        "fields": {**other.fields, **kept.fields},
        "created_on": min(kept.created_on, other.created_on),
        "last_seen_on": max(filter(None, (kept.last_seen_on, other.last_seen_on)), default=None),
    }
    # Whoever was merged is not what an import made any more, and is not taken back.
    of_imports = _ours(imported_contact, workspace) & imported_contact.c.contact_id.in_([kept_id, other_id])
    tx.execute(delete(imported_contact).where(of_imports))
    change_contacts(tx, workspace.id, contact.c.merged_into_id == other_id, {"merged_into_id": kept_id})
    change_contacts(tx, workspace.id, [kept_id], gained)
    change_contacts(tx, workspace.id, [other_id], {**CLEARED, "merged_into_id": kept_id})
    if kept.status == ACTIVE:
        for group_id in group_ids:
            add_members(tx, workspace.id, group_id, [kept_id])
    note_deleted(tx, workspace.id, CONTACT, [other.uuid], merged_into=kept.uuid)
    refresh_contacts(tx, workspace, [kept_id])
    _move_history(tx, workspace, kept_id, other_id)
    join_mentions(tx, workspace.id, kept_id, other_id)
    named = {
        table.name: _rename(tx, workspace, table, rule, kept_id, other_id)
        for table, rule in _merged_by_rule().items()
        if rule != "moved"
    }
    note_changed(tx, broadcast, workspace.id, named["broadcast_contact"])
    for some in split(sorted(named["flow_start_contact"])):
        starts = _ours(flow_start, workspace) & flow_start.c.id.in_(some)
        tx.execute(update(flow_start).where(starts).values(modified_on=stamped(tx, flow_start, workspace.id)))
    tell_deed(tx, workspace.id, "contacts", MERGED, kept.uuid, changes={"merged": [None, other.uuid]})


def _is_old(form: OldForm) -> ColumnElement[bool]:
    fits = (func.substr(NUMBER, 1, len(form.begins)) == form.begins) & (func.length(NUMBER) == form.length)
    return fits & func.substr(NUMBER, form.rest + 1, 1).in_(list(MOBILE)) if form.is_mobile else fits


NEW_NUMBER = case(
    *(
        (_is_old(form), func.substr(NUMBER, 1, form.kept) + literal(form.added) + func.substr(NUMBER, form.rest + 1))
        for form in OLD_FORMS
    ),
    else_=null(),
)


def _other_urn(*which: ColumnElement[bool]) -> ColumnElement[Any]:
    """The URN of another contact."""
    theirs = (kept_urn.c.workspace_id == rows.workspace_id) & (kept_urn.c.contact_id != rows.contact_id)
    found = select(kept_urn.c.id).where(theirs, or_(*which)).order_by(kept_urn.c.id).limit(1)
    return found.correlate(contact_urn).scalar_subquery()


NEWER = _other_urn(
    (kept_urn.c.scheme == "tel") & (kept_urn.c.path == NEW_NUMBER),
    (kept_urn.c.scheme == "whatsapp") & (kept_urn.c.path == func.substr(NEW_NUMBER, 2)),
)
SAME = _other_urn(and_(rows.scheme == "whatsapp", kept_urn.c.scheme == "tel", kept_urn.c.path == NUMBER))

KEPT_URN = func.coalesce(NEWER, SAME)
OF_KIND = {OLD_NUMBER: NEWER.is_not(None), TWO_SCHEMES: NEWER.is_(None)}


def _record(*, masked: bool = False) -> Record:
    def shown(urn: FromClause) -> ColumnElement[Any]:
        path = literal(MASKED_PATH, literal_execute=True) if masked else urn.c.path
        return urn.c.scheme + literal_column("':'") + path

    both = case((kept_urn.c.scheme == "whatsapp", literal("+") + kept_urn.c.path), else_=kept_urn.c.path)
    return Record(
        {
            "kind": case((both == NUMBER, TWO_SCHEMES), else_=OLD_NUMBER),
            "contact": Record({"uuid": kept.c.uuid, "name": kept.c.name}),
            "urn": shown(kept_urn),
            "other": Record({"uuid": contact.c.uuid, "name": contact.c.name}),
            "other_urn": shown(contact_urn),
        }
    )


DOUBLES = ListSpec(
    contact_urn,
    _record(),
    Order(rows.id, rows.id, descending=False),
    source=contact_urn.join(contact, contact.c.id == rows.contact_id)
    .join(kept_urn, kept_urn.c.id == KEPT_URN)
    .join(kept, kept.c.id == kept_urn.c.contact_id),
    masked=_record(masked=True),
    standing=(
        rows.contact_id.is_not(None),
        or_(
            rows.scheme == "whatsapp",
            (rows.scheme == "tel") & or_(*(rows.path.startswith(form.begins) for form in OLD_FORMS)),
        ),
        KEPT_URN.is_not(None),
    ),
    filters={"kind": lambda _query, kind: OF_KIND[kind]},
)
"""Pairs: the contact to keep, and the other, by the URN of that one, the oldest first."""


def count_doubles(tx: Transaction, workspace: Workspace, kind: str | None = None) -> int:
    """How many pairs there are, up to MOST_COUNTED."""
    some = _ids(tx, workspace, kind).limit(MOST_COUNTED).subquery()
    return int(tx.execute(select(func.count()).select_from(some)).scalar_one())


def merge_doubles(tx: Transaction, workspace: Workspace, kind: str | None, *, user_id: int | None) -> int:
    """Merges the first MOST_MERGED pairs; returns how many contacts became a part of another. All are locked
    beforehand, in their order. Raises LostRace if one was deleted meanwhile.
    """
    some = _ids(tx, workspace, kind).add_columns(KEPT_URN.label("kept")).limit(MOST_MERGED).subquery()
    owners = select(kept_urn.c.contact_id.label("kept_id"), rows.contact_id.label("other_id"))
    pairs = tx.execute(
        owners.select_from(some.join(contact_urn, rows.id == some.c.id).join(kept_urn, kept_urn.c.id == some.c.kept))
        .where(rows.workspace_id == workspace.id, kept_urn.c.workspace_id == workspace.id)
        .order_by(some.c.id)
    ).all()
    hold_contacts(tx, workspace.id, sorted({each for row in pairs for each in row}))
    merged: dict[int, int] = {}

    def who(contact_id: int) -> int:
        while contact_id in merged:
            contact_id = merged[contact_id]
        return contact_id

    for row in pairs:
        kept_id, other_id = who(row.kept_id), who(row.other_id)
        if kept_id != other_id:
            merge_contacts(tx, workspace, kept_id, other_id, user_id=user_id)
            merged[other_id] = kept_id
    return len(merged)


@dataclass(frozen=True, slots=True)
class Renumbering:
    """A rule: numbers that begin so begin otherwise, if that gives a possible number of the country."""

    old: str
    new: str
    country: str = ""

    @property
    def told(self) -> str:
        return f"{self.old} → {self.new}"

    def apply(self, number: str) -> str | None:
        """The new number; None for one that the rule does not concern."""
        if not number.startswith(self.old):
            return None
        changed = self.new + number.removeprefix(self.old)
        if changed == number or not is_possible(changed):
            return None
        return changed if self.country in ("", country_of(changed)) else None


@dataclass(slots=True)
class Report:
    """What a rule does: examples are the first few of each kind."""

    renumbered: int = 0
    taken: int = 0
    untouched: int = 0
    examples: list[dict[str, str]] = field(default_factory=list)
    taken_examples: list[dict[str, str]] = field(default_factory=list)


def renumber(database: Database, workspace_id: int, rule: Renumbering, *, writes: bool) -> Report:
    """Gives all numbers that a rule concerns their new form, in batches that each are complete; without `writes` only
    tells what would be done. Numbers whose new form another contact has stay, and are counted as taken: see `doubles`.
    To do it again changes nothing more.
    """
    report, after = Report(), 0
    while True:
        some = partial(renumber_some, workspace_id=workspace_id, rule=rule, after=after, writes=writes)
        if writes:
            after, found = database.write(some)
        else:
            with database.reading() as tx:
                after, found = some(tx)
        report.renumbered += found.renumbered
        report.taken += found.taken
        report.untouched += found.untouched
        report.examples = (report.examples + found.examples)[:EXAMPLES]
        report.taken_examples = (report.taken_examples + found.taken_examples)[:EXAMPLES]
        if not after:
            return report


def renumber_some(
    tx: Transaction, workspace_id: int, rule: Renumbering, after: int, *, writes: bool
) -> tuple[int, Report]:
    """The next batch; the last id that was looked at, 0 at the end. Raises InvalidInput if nothing could change."""
    if rule.old == rule.new:
        raise InvalidInput.on("new", "The new numbers begin like the old ones.")
    rows = contact_urn.c
    mine = (rows.workspace_id == workspace_id) & (rows.scheme == "tel")
    begins = rows.path.startswith(rule.old, autoescape=True)
    theirs = mine & begins & rows.contact_id.is_not(None) & (rows.id > after)
    some = select(rows.id, rows.path, rows.contact_id).where(theirs).order_by(rows.id)
    found = tx.execute(some.limit(BATCH)).all()
    wanted = {row.id: changed for row in found if (changed := rule.apply(row.path))}
    moves = find_moves(tx, workspace_id, found, wanted)
    report, moving = Report(untouched=len(found) - len(wanted)), {each.urn_id for each in moves}
    for row in found:
        if row.id not in wanted:
            continue
        example = {"old": row.path, "new": wanted[row.id]}
        if row.id in moving:
            report.renumbered += 1
            report.examples.append(example)
        else:
            report.taken += 1
            report.taken_examples.append(example)
    if writes and moves:
        _move(tx, workspace_id, moves)
        tell_deed(tx, workspace_id, "contacts", CHANGED, None, rule.told, {"renumbered": [None, report.renumbered]})
    return (found[-1].id if len(found) == BATCH else 0), report


@cache
def _merged_by_rule() -> Mapping[Table, str]:
    """The tables whose rows are moved to another contact as their policies say."""
    from persistence.tables.complete import metadata  # noqa: PLC0415  # who gives new numbers needs few tables

    rules = {each: policy_of(each).merged or "apart" for each in metadata.sorted_tables}
    return {table: rule for table, rule in rules.items() if rule not in ("apart", "left")}


def _ours(table: Table, workspace: Workspace) -> ColumnElement[bool]:
    return table.c.workspace_id == workspace.id


def _of(table: Table, workspace: Workspace, contact_id: int) -> ColumnElement[bool]:
    return _ours(table, workspace) & (table.c.contact_id == contact_id)


def _move_runs(tx: Transaction, workspace: Workspace, kept_id: int, other_id: int) -> None:
    """A start has one run of each contact: where both took part, the other's run no longer tells its start."""
    tx.execute(update(flow_session).where(_of(flow_session, workspace, other_id)).values(contact_id=kept_id))
    theirs = flow_run.alias("theirs")
    both = exists().where(
        theirs.c.workspace_id == workspace.id, theirs.c.contact_id == kept_id, theirs.c.start_id == flow_run.c.start_id
    )
    moved = {
        "contact_id": kept_id,
        "start_id": case((both, None), else_=flow_run.c.start_id),
        "modified_on": stamped(tx, flow_run, workspace.id),
    }
    tx.execute(update(flow_run).where(_of(flow_run, workspace, other_id)).values(**moved))


def _move_urns(tx: Transaction, workspace: Workspace, kept_id: int, other_id: int) -> None:
    """The other's URNs come after those of the kept contact, in their order."""
    rows = contact_urn.c
    last = select(func.coalesce(func.max(rows.priority), -1)).where(_of(contact_urn, workspace, kept_id))
    first = tx.execute(last).scalar_one() + 1
    moved = {"contact_id": kept_id, "priority": rows.priority + first}
    tx.execute(update(contact_urn).where(_of(contact_urn, workspace, other_id)).values(**moved))


def _manual_groups(tx: Transaction, workspace: Workspace, contact_id: int) -> Sequence[int]:
    rows = group_membership.c
    statement = select(rows.group_id).join(
        group, (group.c.id == rows.group_id) & (group.c.workspace_id == rows.workspace_id)
    )
    mine = _of(group_membership, workspace, contact_id)
    found = statement.where(mine, group.c.query.is_(None), ~group.c.is_system).order_by(rows.group_id)
    return tx.execute(found).scalars().all()


def _move_history(tx: Transaction, workspace: Workspace, kept_id: int, other_id: int) -> None:
    theirs = _of(message, workspace, other_id)
    hold_messages(tx, theirs)
    _join_conversations(tx, workspace, kept_id, other_id)
    change_messages(tx, workspace.id, theirs, {"contact_id": kept_id})
    for table in (table for table, rule in _merged_by_rule().items() if rule == "moved"):
        tx.execute(update(table).where(_of(table, workspace, other_id)).values(contact_id=kept_id))


def _join_conversations(tx: Transaction, workspace: Workspace, kept_id: int, other_id: int) -> None:
    """What was unread stays unread. What of the kept contact is snoozed stays so, unless messages of the inbox move to
    it: the conversation is written anew once messages moved.
    """
    rows = conversation.c
    mine = _ours(conversation, workspace) & rows.contact_id.in_([kept_id, other_id])
    found = tx.execute(select(rows.contact_id, rows.read_id, rows.is_unread).where(mine)).all()
    unread = [row.read_id for row in found if row.is_unread]
    read_id = min(unread) if unread else max((row.read_id for row in found), default=0)
    if not unread:
        newest = select(func.max(message.c.id)).where(
            _ours(message, workspace), message.c.contact_id.in_([kept_id, other_id])
        )
        read_id = tx.execute(newest).scalar_one() or read_id
    if any(row.contact_id == kept_id for row in found):
        tx.execute(delete(conversation).where(_of(conversation, workspace, other_id)))
    tx.execute(update(conversation).where(mine).values(contact_id=kept_id, read_id=read_id))


def _rename(tx: Transaction, workspace: Workspace, table: Table, key: str, kept_id: int, other_id: int) -> set[int]:
    """Who named the other as a recipient has named the kept contact; returns the ids of what named the other."""
    named = table.alias("named")
    both = exists().where(
        named.c.workspace_id == workspace.id, named.c.contact_id == kept_id, named.c[key] == table.c[key]
    )
    theirs = _of(table, workspace, other_id)
    shown = table.c.get("is_named", true())
    naming = set(tx.execute(select(table.c[key]).where(theirs, shown)).scalars())
    tx.execute(update(table).where(theirs, ~both).values(contact_id=kept_id))
    tx.execute(delete(table).where(theirs))
    return naming


def _ids(tx: Transaction, workspace: Workspace, kind: str | None) -> Select[int]:
    return DOUBLES.select_ids(ListQuery(tx, workspace, {} if kind is None else {"kind": kind}))


def _move(tx: Transaction, workspace_id: int, moves: Sequence[Move]) -> None:
    owners = sorted({each.contact_id for each in moves})
    hold_in_order(tx, workspace_id, owners)
    move_numbers(tx, workspace_id, moves)
    dependents = find_dependents(tx, workspace_id, owners)
    change_contacts(tx, workspace_id, owners)
    follow_contacts(tx, workspace_id, owners, dependents)
