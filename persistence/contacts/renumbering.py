"""Numbers that change with a numbering plan: contacts get their new numbers by a rule. Lists contacts who are probably
one person, under an old and a new number or under two schemes.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sqlalchemy import bindparam, or_, select, update

from flows.phones import country_of, is_possible
from persistence.contacts.urns import hold_in_order
from persistence.database import Database, Transaction
from persistence.groups.smart_groups import find_followers, follow_contacts
from persistence.stamps import stamped
from persistence.tables.contacts import contact, contact_urn

BATCH = 500
EXAMPLES = 5
OLD_FORMS = (
    ("Mexico, before 2019", re.compile(r"\+521([0-9]{10})"), r"+52\1"),
    ("Benin, before 2024", re.compile(r"\+229([0-9]{8})"), r"+22901\1"),
    ("Brazil, before the ninth digit", re.compile(r"\+55([0-9]{2})([6-9][0-9]{7})"), r"+55\g<1>9\2"),
    ("India, with a zero", re.compile(r"\+910([6-9][0-9]{9})"), r"+91\1"),
)
"""Forms of numbers that people still have, and what became of them."""
OLD_BEGINNINGS = ("+521", "+229", "+55", "+910")


@dataclass(frozen=True, slots=True)
class Renumbering:
    """A rule: numbers that begin so begin otherwise, if that gives a possible number of the country."""

    old: str
    new: str
    country: str = ""

    def apply(self, number: str) -> str | None:
        """The new number; None for one that the rule does not concern."""
        if not number.startswith(self.old) or (self.old, self.new) == ("", ""):
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
    tells what would be done. Numbers whose new form somebody has stay, and are counted as taken: see `list_doubles`.
    To do it again changes nothing more.
    """
    report, after = Report(), 0
    while True:
        some = partial(_renumber_some, workspace_id=workspace_id, rule=rule, after=after, writes=writes)
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


def _renumber_some(
    tx: Transaction, workspace_id: int, rule: Renumbering, after: int, *, writes: bool
) -> tuple[int, Report]:
    """The next batch; the last id that was looked at, 0 at the end."""
    rows = contact_urn.c
    mine = (rows.workspace_id == workspace_id) & (rows.scheme == "tel")
    begins = rows.path.startswith(rule.old, autoescape=True)
    some = select(rows.id, rows.path, rows.contact_id).where(mine, begins, rows.id > after).order_by(rows.id)
    found = tx.execute(some.limit(BATCH)).all()
    wanted = {row.id: changed for row in found if (changed := rule.apply(row.path))}
    known = select(rows.path).where(mine, rows.path.in_(set(wanted.values())))
    taken = set(tx.execute(known).scalars()) if wanted else set()
    report, moves, owners = Report(untouched=len(found) - len(wanted)), [], set()
    for row in found:
        if row.id not in wanted:
            continue
        example = {"old": row.path, "new": wanted[row.id]}
        if wanted[row.id] in taken:
            report.taken += 1
            report.taken_examples.append(example)
            continue
        taken.add(wanted[row.id])
        report.renumbered += 1
        report.examples.append(example)
        moves.append({"urn_id": row.id, "old_path": row.path, "new_path": wanted[row.id]})
        owners |= {row.contact_id} - {None}
    if writes and moves:
        _move(tx, workspace_id, moves, sorted(owners))
    return (found[-1].id if len(found) == BATCH else 0), report


def _move(tx: Transaction, workspace_id: int, moves: Sequence[dict[str, Any]], owners: Sequence[int]) -> None:
    rows = contact_urn.c
    hold_in_order(tx, workspace_id, owners)
    mine = (rows.id == bindparam("urn_id")) & (rows.path == bindparam("old_path"))
    tx.execute(update(contact_urn).where(mine).values(path=bindparam("new_path")), list(moves))
    if owners:
        theirs = (contact.c.workspace_id == workspace_id) & contact.c.id.in_(owners)
        followers = find_followers(tx, workspace_id, owners)
        tx.execute(update(contact).where(theirs).values(modified_on=stamped(tx, contact, workspace_id)))
        follow_contacts(tx, workspace_id, owners, followers)


def list_doubles(tx: Transaction, workspace_id: int, limit: int) -> list[dict[str, Any]]:
    """Pairs of contacts who are probably one person, up to a limit: one has the old form of a number and the other the
    new one, or they have one number under `tel` and `whatsapp`. What to keep comes first.
    """
    found: list[dict[str, Any]] = []
    for pairs in _suspected(tx, workspace_id):
        rows = contact_urn.c
        wanted = {new for _, new, _ in pairs.values()}
        mine = (rows.workspace_id == workspace_id) & (rows.scheme == "tel") & rows.path.in_(wanted)
        theirs = select(rows.path, contact.c.id, contact.c.uuid, contact.c.name).join(
            contact, contact.c.id == rows.contact_id
        )
        kept = {row.path: row for row in tx.execute(theirs.where(mine))}
        for (contact_id, uuid, name), (urn, new, reason) in pairs.items():
            other = kept.get(new)
            if other is not None and other.id != contact_id:
                keep = {"uuid": other.uuid, "name": other.name, "urn": f"tel:{new}"}
                found.append({"keep": keep, "other": {"uuid": uuid, "name": name, "urn": urn}, "reason": reason})
        if len(found) >= limit:
            break
    return found[:limit]


Suspected = dict[tuple[int, str, str | None], tuple[str, str, str]]


def _suspected(tx: Transaction, workspace_id: int) -> Iterator[Suspected]:
    """Contacts with an old number or one of WhatsApp, a batch at a time: that URN, the number to look for, and why."""
    rows, after = contact_urn.c, 0
    is_old = or_(*(rows.path.startswith(beginning) for beginning in OLD_BEGINNINGS)) & (rows.scheme == "tel")
    mine = (rows.workspace_id == workspace_id) & (is_old | (rows.scheme == "whatsapp"))
    columns = (rows.id, rows.scheme, rows.path, contact.c.id.label("owner"), contact.c.uuid, contact.c.name)
    some = select(*columns).join(contact, contact.c.id == rows.contact_id).order_by(rows.id).limit(BATCH)
    while found := tx.execute(some.where(mine, rows.id > after)).all():
        after = found[-1].id
        pairs: Suspected = {}
        for row in found:
            known = read_old_form(row.path) if row.scheme == "tel" else (f"+{row.path}", "one number, two schemes")
            if known:
                pairs[row.owner, row.uuid, row.name] = (f"{row.scheme}:{row.path}", *known)
        yield pairs


def read_old_form(number: str) -> tuple[str, str] | None:
    """What became of a number in an old form, and the plan that it belongs to; None for any other number."""
    for plan, form, new in OLD_FORMS:
        match = form.fullmatch(number)
        if match:
            return match.expand(new), plan
    return None
