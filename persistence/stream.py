"""What changed in a workspace since a time of its clock, for clients that follow it live. The clock gives times in the
order of commits (`persistence.stamps`): whoever has read everything up to the clock's time misses nothing by asking for
what came later.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Table, TextClause, false, null, select, text

from persistence.broadcasts.records import BROADCASTS
from persistence.channels.channels import CHANNELS
from persistence.contacts.participants import PARTICIPANTS, SORT
from persistence.contacts.records import CONTACTS
from persistence.conversations import MARKS, OF_MESSAGE, ROWS
from persistence.database import Transaction
from persistence.deletions import DELETIONS
from persistence.flow_starts.flow_starts import STARTS
from persistence.lists import ListQuery, ListSpec
from persistence.messages.records import MESSAGES
from persistence.records import Record, select_records, write_record
from persistence.runs.records import RUNS
from persistence.stamps import found_by
from persistence.tables.changes import conversation, deletion, record_stamp
from persistence.tables.channels import channel
from persistence.tables.flows import IS_BY_USER
from persistence.tables.messages import INCOMING, message
from persistence.tables.service import workspace_clock
from persistence.tickets.records import TICKETS
from persistence.workspaces.records import Workspace


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of records that is followed: its list in v2, and the columns by which its changes are found. A record for
    which `is_gone` holds is only named, and so are those of a kind that `is_named`. `sort` tells records of a kind
    apart that not everybody may see who may see others. A kind that `follows` another table is told when a record of
    that table changes, at most `most` at once: clients can do without.
    """

    name: str
    spec: ListSpec
    conditions: Sequence[ColumnElement[bool] | TextClause] = ()
    is_gone: ColumnElement[bool] | None = None
    is_named: bool = False
    sort: ColumnElement[str] | None = None
    follows: Table | None = None
    most: int | None = None

    @property
    def marked(self) -> Table | None:
        """The table of the records of whose change the time is in a table of its own."""
        table = self.spec.table if self.follows is None else self.follows
        return table if table.name in ("message", "broadcast", "channel") else None

    def moment(self) -> ColumnElement[datetime]:
        its = self.spec.table.c
        moment: ColumnElement[datetime] = its.modified_on if self.marked is None else record_stamp.c.stamped_on
        return moment

    def found_by(self, workspace_id: int) -> list[ColumnElement[bool] | TextClause]:
        """The conditions that choose the records by an index."""
        mine = [self.spec.table.c.workspace_id == workspace_id, *self.conditions]
        if self.marked is None:
            return mine
        stamps = record_stamp.c
        of_it = [stamps.workspace_id == workspace_id, stamps.kind == self.marked.name]
        return [*of_it, stamps.record == self.marked.c.id, *mine]


MOST_ROWS = 20
CAME = (message.c.direction == INCOMING) & message.c.folder.is_not(None)
IS_OF_CONTACT = conversation.c.contact_id == message.c.contact_id
"""Implied by the message, and said for the index: conversations have none by message."""

KINDS = (
    Kind("message", MESSAGES),
    Kind("run", RUNS),
    Kind("ticket", TICKETS),
    Kind("participant", PARTICIPANTS, sort=SORT),
    Kind("conversation", MARKS),
    Kind("channel", CHANNELS, is_gone=~channel.c.is_active),
    Kind("flow_start", STARTS, conditions=[IS_BY_USER]),
    Kind("broadcast", BROADCASTS),
    Kind("contact", CONTACTS, conditions=[text(found_by(CONTACTS.table))], is_named=True),
    Kind("deletion", DELETIONS, sort=deletion.c.kind),
    Kind("row", ROWS, conditions=[OF_MESSAGE, IS_OF_CONTACT, CAME], follows=message, most=MOST_ROWS),
)
NAMED = {kind.spec.table: Record({"uuid": kind.spec.table.c.uuid}) for kind in KINDS if kind.is_named}
"""Contacts are named only: what is shown of one depends on who asks, and many change with each message."""


@dataclass(frozen=True, slots=True)
class Change:
    """A changed record as JSON; `is_gone` says that it only has its UUID, because it is not listed any more. `right`
    is what a listener must have, the kind or `kind_right` of kind and sort."""

    kind: str
    moment: datetime
    record: str
    is_gone: bool = False
    right: str = ""


def kind_right(kind: str, sort: str | None) -> str:
    """The name of the right to be told of records of a kind, or of one sort of them."""
    return kind if sort is None else f"{kind} of {sort}"


def read_clocks(tx: Transaction, workspace_ids: Collection[int]) -> dict[int, datetime]:
    """The time of the last visible change of each workspace that had one; one statement by the primary key."""
    clocks = workspace_clock.c
    wanted = select(clocks.workspace_id, clocks.stamped_on).where(clocks.workspace_id.in_(sorted(workspace_ids)))
    return {workspace_id: moment for workspace_id, moment in tx.execute(wanted)}


def read_changes(
    tx: Transaction, workspace: Workspace, after: datetime, upto: datetime, most: int
) -> list[Change] | None:
    """The records that changed after one time of the workspace's clock and up to another one, oldest change first; one
    statement for each kind. None if there are more than `most`.
    """
    found: list[Change] = []
    for kind in KINDS:
        found += _read_kind(tx, workspace, kind, after, upto, kind.most or most + 1 - len(found))
        if kind.most is None and len(found) > most:
            return None
    return sorted(found, key=lambda change: change.moment)


def _read_kind(
    tx: Transaction, workspace: Workspace, kind: Kind, after: datetime, upto: datetime, limit: int
) -> list[Change]:
    query, moment = ListQuery(tx, workspace), kind.moment()
    table = kind.spec.table
    chosen = (
        select(table.c.id.label("id"), moment.label("moment"))
        .where(*kind.found_by(workspace.id), moment > after, moment <= upto)
        .order_by(moment, table.c.id)
        .limit(limit)
        .cte("chosen")
    )
    source = table if kind.is_named else kind.spec.source_of()
    record = NAMED[table] if kind.is_named else kind.spec.record_of(query)
    beside = (
        table.c.get("uuid", null()),
        false() if kind.is_gone is None else kind.is_gone,
        null() if kind.sort is None else kind.sort,
        chosen.c.moment,
    )
    found = select_records(record, source, table.c.id, chosen, is_sqlite=tx.sqlite).add_columns(*beside, chosen.c.id)
    mine = found.where(table.c.workspace_id == workspace.id).order_by(chosen.c.moment, chosen.c.id)
    rows = tx.execute(mine, query.asking).all()

    return [
        Change(
            kind.name,
            moment,
            write_record({"uuid": uuid} if is_gone else shown),
            is_gone=bool(is_gone),
            right=kind_right(kind.name, sort),
        )
        for (*_, uuid, is_gone, sort, moment, _id), shown in zip(rows, record.read(rows), strict=True)
    ]
