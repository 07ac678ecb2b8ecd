"""What each table says of itself, where it is declared: how long its rows stay, what of them is erased with a person,
what becomes of them when two contacts are merged, what the audit log tells, and what a file of a workspace has.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as declared
from datetime import timedelta
from typing import Any, Literal

from sqlalchemy import Table

POLICY = "policy"
"""Key of `Table.info`."""

TRIMMED = "trimmed"
"""The worker deletes what is old; `tests/worker/test_ages.py` has the ages."""
TO_ARCHIVE = "archived"
KEPT_FOR = timedelta(days=90)
"""Old rows are moved into files, so long after their end."""
SET_UP = "what people set up, by hand or by import: it grows with their work, and they delete it"


@dataclass(frozen=True, slots=True)
class Audited:
    """The changes of one table. `shown` columns appear with both values, `hidden` ones hold secrets: only that they
    changed is told. `name` is the column that names the record. `ended` has the values of columns that mean that the
    record is deleted. With `only_end` nothing else is told; `of_user` tables have no workspace, and their changes are
    told in each workspace of the user in that column.
    """

    resource: str
    name: str | None = None
    shown: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    ended: Mapping[str, object] = declared(default_factory=dict)
    only_end: bool = False
    of_user: str | None = None
    tells_creation: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        """What must have changed for an entry."""
        return (*self.ended,) if self.only_end else (*self.shown, *self.hidden, *self.ended)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """`stays` says how long rows stay, or why there are never too many.

    `erased`, with a person: nothing, if a table has nothing of contacts or only ids; `rows` of the contact; `deleted`,
    those that go already when the contact is only deleted; or `apart`, as the code that deletes contacts and erases
    their files does it. Rows in which the column `mentions` names the person go, its texts in `documents` become empty,
    and `queries` that name an address are removed.

    `copied` names the list of the rows in the file that a person gets (`LISTS` in persistence/data_requests/). An
    erasure counts them by this name.

    `merged`, the contact into another: rows are `moved`; they are moved `apart`, by the code that knows more about
    them; they are moved unless the other contact has one of the same thing, whose column is named; or they are `left`.

    `refers` has columns with ids of other tables that are not foreign keys (0: none), `refers_by` those whose table
    another column names. A file of the workspace has the rows if it `is_carried`, without the `emptied` columns.
    """

    stays: str
    erased: Literal["nothing", "rows", "deleted", "apart"] = "nothing"
    copied: str | None = None
    mentions: str | None = None
    documents: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    merged: str | None = None
    audited: Audited | None = None
    is_carried: bool = True
    emptied: tuple[str, ...] = ()
    refers: Mapping[str, str] = declared(default_factory=dict)
    refers_by: Mapping[str, str] = declared(default_factory=dict)

    @property
    def is_trace(self) -> bool:
        """Whether somebody or something has had to do with a contact that has rows in the table."""
        return self.merged != "left" and (self.copied is not None or self.merged not in (None, "moved", "apart"))

    @property
    def has_person(self) -> bool:
        """Whether something of a person is erased from the table."""
        return bool(self.erased != "nothing" or self.mentions or self.documents or self.queries)


def policy(stays: str, **more: Any) -> dict[str, Policy]:
    """For the `info` of a table."""
    return {POLICY: Policy(stays=stays, **more)}


def policy_of(table: Table) -> Policy:
    found: Policy = table.info[POLICY]
    return found
