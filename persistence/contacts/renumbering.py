"""Numbers that change with a numbering plan: contacts get their new numbers by a rule."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from sqlalchemy import select, update

from flows.phones import country_of, is_possible
from persistence.audit.witness import CHANGED, tell_deed
from persistence.contacts.urns import Move, find_moves, hold_in_order, move_numbers
from persistence.database import Database, Transaction
from persistence.errors import InvalidInput
from persistence.groups.smart_groups import find_followers, follow_contacts
from persistence.stamps import stamped
from persistence.tables.contacts import contact, contact_urn

BATCH = 500
EXAMPLES = 5


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


def _move(tx: Transaction, workspace_id: int, moves: Sequence[Move]) -> None:
    owners = sorted({each.contact_id for each in moves})
    hold_in_order(tx, workspace_id, owners)
    move_numbers(tx, workspace_id, moves)
    theirs = (contact.c.workspace_id == workspace_id) & contact.c.id.in_(owners)
    followers = find_followers(tx, workspace_id, owners)
    tx.execute(update(contact).where(theirs).values(modified_on=stamped(tx, contact, workspace_id)))
    follow_contacts(tx, workspace_id, owners, followers)
