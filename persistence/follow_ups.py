"""What is written at the end of a unit of work that changed something (`persistence.stamps.Changes.flush`), and the
statement that advances the clock of a workspace: on PostgreSQL it also writes what needs its time, because each round
trip counts while others wait for the clock.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import Any

from sqlalchemy import (
    Executable,
    String,
    Table,
    Text,
    and_,
    case,
    delete,
    func,
    literal,
    null,
    or_,
    select,
    text,
    tuple_,
)

from persistence.conversations import SNOOZED, end_conversations, write_conversations
from persistence.database import Transaction, upsert
from persistence.leases import beside_index, has_row
from persistence.runs.runs import WITH_CLOCK, insert_runs
from persistence.sql.columns import UtcDateTime, split
from persistence.stamps import ACTIVE, MESSAGE, ReportedContacts, WorkspaceChanges, found_by
from persistence.statements import Statement, among, array_text, param, parameters_of, rows_text, statement, update
from persistence.tables.changes import conversation, day_count, flow_count, record_stamp
from persistence.tables.channels import CLAIM, MESSAGES, RELEASE, SETTLED, channel, phone_push
from persistence.tables.contacts import ACTIVE as IS_ACTIVE
from persistence.tables.contacts import STOPPED, contact
from persistence.tables.deliveries import resthook_subscriber
from persistence.tables.flows import flow
from persistence.tables.messages import INCOMING, message
from persistence.tables.service import workspace_clock

DAY = timedelta(days=1)
QUICK = timedelta(milliseconds=100)
MOVED, SEEN = "moved", "seen"

ADVANCING = """INSERT INTO workspace_clock (workspace_id, stamped_on)
VALUES (CAST(:workspace_id AS integer), CAST(:wanted AS timestamptz))
ON CONFLICT (workspace_id) DO UPDATE
SET stamped_on = greatest(excluded.stamped_on, workspace_clock.stamped_on + interval '1 microsecond')
RETURNING stamped_on, told"""
STAMPING = """INSERT INTO record_stamp (workspace_id, kind, record, stamped_on)
SELECT CAST(:workspace_id AS integer), noted.kind, noted.record, moment.stamped_on
FROM moment, unnest(CAST(:kinds AS text[]), CAST(:records AS bigint[])) AS noted (kind, record)
ON CONFLICT (workspace_id, kind, record) DO UPDATE SET stamped_on = excluded.stamped_on"""
COUNTING = """INSERT INTO day_count (workspace_id, kind, day, subject, number)
SELECT CAST(:workspace_id AS integer), noted.kind, noted.day, noted.subject, noted.number
FROM moment, unnest(CAST(:counted AS text[]), CAST(:days AS date[]), CAST(:subjects AS bigint[]),
CAST(:numbers AS bigint[])) AS noted (kind, day, subject, number)
ON CONFLICT (workspace_id, kind, day, subject) DO UPDATE SET number = day_count.number + excluded.number"""
COUNTING_FLOWS = """INSERT INTO flow_count (workspace_id, flow_id, kind, day, key, value, number)
SELECT CAST(:workspace_id AS integer), noted.flow_id, noted.kind, CAST(:today AS date), noted.key, noted.value,
noted.number
FROM moment, unnest(CAST(:flow_ids AS bigint[]), CAST(:flow_kinds AS text[]), CAST(:flow_keys AS text[]),
CAST(:flow_values AS text[]), CAST(:flow_numbers AS bigint[])) AS noted (flow_id, kind, key, value, number)
ON CONFLICT (workspace_id, flow_id, kind, day, key, value) DO UPDATE
SET number = flow_count.number + excluded.number"""
TALKING = f"""INSERT INTO conversation
(workspace_id, contact_id, message_id, last_on, folder, unread_count, is_unread, read_id)
SELECT CAST(:workspace_id AS integer), noted.contact_id, noted.message_id, noted.last_on, noted.folder, 0, false, 0
FROM moment, unnest(CAST(:contact_ids AS bigint[]), CAST(:message_ids AS integer[]), CAST(:lasts AS timestamptz[]),
CAST(:folders AS text[])) AS noted (contact_id, message_id, last_on, folder)
JOIN contact ON contact.workspace_id = CAST(:workspace_id AS integer) AND contact.id = noted.contact_id
WHERE NOT contact.is_deleted
ORDER BY noted.contact_id
ON CONFLICT (workspace_id, contact_id) DO UPDATE
SET message_id = excluded.message_id, last_on = excluded.last_on,
folder = CASE WHEN conversation.folder = '{SNOOZED}' THEN conversation.folder ELSE excluded.folder END,
snoozed_until = CASE WHEN conversation.folder = '{SNOOZED}' THEN conversation.snoozed_until END
WHERE (excluded.last_on, excluded.message_id) > (conversation.last_on, conversation.message_id)"""

PUSHING = f"""INSERT INTO phone_push (workspace_id, channel_id, via, reason, due_on, pushes, seen_on)
SELECT channel.workspace_id, channel.id, channel.push_via, noted.reason,
CASE WHEN noted.reason = '{MESSAGES}' AND channel.last_seen > CAST(:lately AS timestamptz)
THEN CAST(:soon AS timestamptz) ELSE CAST(:provisional AS timestamptz) END, 0, channel.last_seen
FROM moment, unnest(CAST(:phones AS bigint[]), CAST(:reasons AS text[])) AS noted (channel_id, reason)
JOIN channel ON channel.id = noted.channel_id
WHERE channel.workspace_id = CAST(:workspace_id AS integer) AND channel.is_active AND channel.push_via IS NOT NULL
ORDER BY channel.id
ON CONFLICT (channel_id, workspace_id) DO UPDATE
SET via = excluded.via, reason = excluded.reason, due_on = excluded.due_on, pushes = 0, seen_on = excluded.seen_on
WHERE phone_push.due_on IS NULL OR excluded.reason = '{CLAIM}'
OR (phone_push.due_on > excluded.due_on AND excluded.seen_on > phone_push.pushed_on)"""
"""A phone that was just here waits a moment, because the answer to its sync may still take the messages along. What is
due already stays as it is, unless the phone has come since it was pushed."""
MOVING = """UPDATE contact SET current_flow_id = noted.flow_id, handling_until = NULL, modified_on = moment.stamped_on
FROM moment, unnest(CAST(:moved AS bigint[]), CAST(:moved_to AS bigint[])) AS noted (contact_id, flow_id)
WHERE contact.workspace_id = CAST(:workspace_id AS integer) AND contact.id = noted.contact_id"""
SEEING = f"""UPDATE contact SET last_seen_on = CAST(:provisional AS timestamptz), modified_on = moment.stamped_on,
status = CASE WHEN noted.is_revived AND contact.status = '{STOPPED}' THEN '{IS_ACTIVE}' ELSE contact.status END
FROM moment, unnest(CAST(:present AS bigint[]), CAST(:revived AS boolean[])) AS noted (contact_id, is_revived)
WHERE contact.workspace_id = CAST(:workspace_id AS integer) AND contact.id = noted.contact_id"""
UNLESS = {
    MOVED: " AND NOT (contact.id = ANY(CAST(:moved AS bigint[])))",
    SEEN: " AND NOT (contact.id = ANY(CAST(:present AS bigint[])))",
}
"""A statement changes a row only once."""


def write_reported(tx: Transaction, reported: Mapping[tuple[int, int], ReportedContacts]) -> None:
    """Contacts whom phones report were seen now, and their URNs use these phones."""
    if not reported:
        return
    from persistence.contacts.urns import hold_in_order, note_seen, prefer_channel  # noqa: PLC0415  # they note changes

    seen: dict[int, dict[int, bool]] = {}
    for (workspace_id, _), contacts in reported.items():
        known = seen.setdefault(workspace_id, {})
        for contact_id, revives in contacts.seen.items():
            known[contact_id] = revives or known.get(contact_id, False)
    for workspace_id in sorted(each for each in seen if seen[each]):
        hold_in_order(tx, workspace_id, seen[workspace_id])
        for revives in (True, False):
            ids = sorted(each for each, is_revived in seen[workspace_id].items() if is_revived == revives)
            if ids:
                note_seen(tx, workspace_id, ids, revives=revives)
    for (workspace_id, channel_id), contacts in sorted(reported.items(), key=lambda item: item[0]):
        prefer_channel(tx, workspace_id, sorted(contacts.urn_ids), channel_id)


def count_runs(tx: Transaction, changes: Mapping[tuple[int, int, str], int]) -> None:
    """Updates the counts of flows in the order of their ids: many workers wait for these rows."""
    by_flow: dict[tuple[int, int], dict[str, int]] = {}
    for (workspace_id, flow_id, name), change in changes.items():
        if change:
            by_flow.setdefault((flow_id, workspace_id), {})[name] = change
    for (flow_id, workspace_id), counts in sorted(by_flow.items(), key=lambda item: item[0]):
        _add_to_counts.run(tx, workspace_id, flow_id, tx.now, **{**dict.fromkeys(RUN_COUNTS, 0), **counts})


RUN_COUNTS = [each.key for each in flow.c if each.key.endswith("_run_count")]


@statement
def _add_to_counts(workspace_id: int, flow_id: int, now: datetime, **changes: int) -> Executable:
    mine = (flow.c.workspace_id == workspace_id) & (flow.c.id == flow_id)
    counted_on = func.coalesce(flow.c.counted_on, now, type_=UtcDateTime)
    counts = {name: flow.c[name] + param(name) for name in RUN_COUNTS}
    return update(flow).where(mine).values(counted_on=counted_on, **counts)


@statement
def _stamp(*, is_sqlite: bool = False, **_row: Any) -> Executable:
    adding = upsert(record_stamp, is_sqlite=is_sqlite).values(parameters_of(record_stamp))
    news = {"stamped_on": adding.excluded.stamped_on}
    return adding.on_conflict_do_update(index_elements=["workspace_id", "kind", "record"], set_=news)


@statement
def _move(workspace_id: int, contact_id: int, flow_id: int | None, moment: datetime) -> Executable:
    rows = contact.c
    mine = (rows.workspace_id == workspace_id) & (rows.id == contact_id)
    return update(contact).where(mine).values(current_flow_id=flow_id, modified_on=moment, handling_until=null())


@statement
def _count(*, is_sqlite: bool = False, **_row: Any) -> Executable:
    adding = upsert(day_count, is_sqlite=is_sqlite).values(parameters_of(day_count))
    added = {"number": day_count.c.number + adding.excluded.number}
    return adding.on_conflict_do_update(index_elements=["workspace_id", "kind", "day", "subject"], set_=added)


@statement
def _count_flows(*, is_sqlite: bool = False, **_row: Any) -> Executable:
    adding = upsert(flow_count, is_sqlite=is_sqlite).values(parameters_of(flow_count))
    added = {"number": flow_count.c.number + adding.excluded.number}
    keys = ["workspace_id", "flow_id", "kind", "day", "key", "value"]
    return adding.on_conflict_do_update(index_elements=keys, set_=added)


@statement
def _talk(workspace_id: int, contact_id: int, *, is_sqlite: bool = False, **_message: Any) -> Executable:
    rows = conversation.c
    given = [param(name, rows[name].type).label(name) for name in ("message_id", "last_on", "folder")]
    mine = (contact.c.workspace_id == workspace_id) & (contact.c.id == contact_id)
    found = select(contact.c.workspace_id, contact.c.id, *given, literal(0), literal(False), literal(0))
    names = ["workspace_id", "contact_id", "message_id", "last_on", "folder", "unread_count", "is_unread", "read_id"]
    adding = upsert(conversation, is_sqlite=is_sqlite).from_select(names, found.where(mine, ~contact.c.is_deleted))
    new, is_away = adding.excluded, rows.folder == literal(SNOOZED)
    return adding.on_conflict_do_update(
        index_elements=["workspace_id", "contact_id"],
        set_={
            **{name: new[name] for name in ("message_id", "last_on")},
            "folder": case((is_away, rows.folder), else_=new.folder),
            "snoozed_until": case((is_away, rows.snoozed_until), else_=null()),
        },
        where=tuple_(new.last_on, new.message_id) > tuple_(rows.last_on, rows.message_id),
    )


@statement
def _push(
    workspace_id: int,
    channel_id: int,
    reason: str,
    lately: datetime,
    soon: datetime,
    now: datetime,
    *,
    is_sqlite: bool = False,
) -> Executable:
    rows, seen = phone_push.c, channel.c.last_seen
    due_on = case(((param("reason", String) == literal(MESSAGES)) & (seen > lately), soon), else_=now)
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.id == channel_id) & channel.c.is_active
    names = ["workspace_id", "channel_id", "via", "reason", "due_on", "pushes", "seen_on"]
    given: list[Any] = [channel.c.workspace_id, channel.c.id, channel.c.push_via, reason, due_on, literal(0), seen]
    found = select(*given)
    adding = upsert(phone_push, is_sqlite=is_sqlite).from_select(
        names, found.where(mine, channel.c.push_via.is_not(None))
    )
    new = adding.excluded
    return adding.on_conflict_do_update(
        index_elements=["channel_id", "workspace_id"],
        set_={name: new[name] for name in names[2:]},
        where=or_(
            rows.due_on.is_(None),
            new.reason == literal(CLAIM),
            and_(rows.due_on > new.due_on, new.seen_on > rows.pushed_on),
        ),
    )


@cache
def _advancing(tables: tuple[Table, ...], others: tuple[tuple[str, str], ...]) -> Statement[...]:
    parts = ["moment AS (" + ADVANCING + ")"]
    for table in tables:
        mine = f"workspace_id = :workspace_id AND modified_on = :provisional AND {found_by(table)}"
        mine += "".join(UNLESS.get(name, "") for name, _ in others) if table is contact else ""
        changing = f"UPDATE {table.name} SET modified_on = moment.stamped_on FROM moment WHERE {mine}"
        parts.append(f"in_{table.name} AS ({changing})")
    parts += [f"{name} AS ({statement})" for name, statement in others]
    whole = text(f"WITH {', '.join(parts)} SELECT stamped_on, told FROM moment")
    return Statement(lambda: whole.columns(stamped_on=UtcDateTime, told=Text))


def advance(
    tx: Transaction, workspace_id: int, tables: Sequence[Table], changes: WorkspaceChanges
) -> tuple[datetime, str]:
    """Moves the clock of a workspace to its next time, and gives it to rows of this unit of work. From the next
    statement on the clock is locked. Returns the time, and the types of events to which somebody subscribes, with
    spaces between them. PostgreSQL.
    """
    # A long change gets the time of its end, because clients may have asked for changes meanwhile.
    present = tx.read_clock()
    wanted = tx.now if present - tx.now < QUICK else present
    values = {"workspace_id": workspace_id, "wanted": wanted, "provisional": tx.now}
    records, counts, flows = changes.records(), changes.counts(tx.now.date()), changes.flow_counts()
    lasts, moved = changes.last_messages(), sorted(changes.moves.items())
    phones = sorted(changes.phones.items())
    assert changes.moves.keys().isdisjoint(changes.present), "a statement changes a contact only once"
    if records:
        values |= {
            "kinds": array_text([kind for kind, _ in records]),
            "records": array_text([one for _, one in records]),
        }
    values |= _figures(tx.now.date(), counts, flows)
    if lasts:
        values |= {
            "contact_ids": array_text([each.contact_id for each in lasts]),
            "message_ids": array_text([each.id for each in lasts]),
            "lasts": array_text([each.created_on for each in lasts]),
            "folders": array_text([each.folder for each in lasts]),
        }
    if changes.runs:
        values |= {"runs": rows_text(changes.runs)}
    if moved:
        values |= {
            "moved": array_text([contact_id for contact_id, _ in moved]),
            "moved_to": array_text([flow_id for _, flow_id in moved]),
        }
    if changes.present:
        ids = sorted(changes.present)
        values |= {"present": array_text(ids), "revived": array_text([changes.present[one] for one in ids])}
    if phones:
        values |= {
            "phones": array_text([channel_id for channel_id, _ in phones]),
            "reasons": array_text([reason for _, reason in phones]),
            **_around(tx.now),
        }
    parts = (
        (MOVED, MOVING, moved),
        (SEEN, SEEING, changes.present),
        ("runs_stored", WITH_CLOCK, changes.runs),
        ("stamped", STAMPING, records),
        ("counted", COUNTING, counts),
        ("flows_counted", COUNTING_FLOWS, flows),
        ("talked", TALKING, lasts),
        ("pushed", PUSHING, phones),
    )
    chosen = tuple((name, statement) for name, statement, rows in parts if rows)
    ((moment, told),) = _advancing(tuple(tables), chosen).rows(tx, **values)
    return moment, told or ""


def _figures(
    today: date,
    counts: Sequence[tuple[tuple[str, date, int], int]],
    flows: Sequence[tuple[tuple[int, str, str, str], int]],
) -> dict[str, Any]:
    """What COUNTING and COUNTING_FLOWS take."""
    values: dict[str, Any] = {}
    if counts:
        values |= {
            "counted": array_text([kind for (kind, _, _), _ in counts]),
            "days": array_text([day for (_, day, _), _ in counts]),
            "subjects": array_text([subject for (_, _, subject), _ in counts]),
            "numbers": array_text([number for _, number in counts]),
        }
    if flows:
        values |= {
            "today": today,
            "flow_ids": array_text([flow_id for (flow_id, _, _, _), _ in flows]),
            "flow_kinds": array_text([kind for (_, kind, _, _), _ in flows]),
            "flow_keys": array_text([key for (_, _, key, _), _ in flows]),
            "flow_values": array_text([value for (_, _, _, value), _ in flows]),
            "flow_numbers": array_text([number for _, number in flows]),
        }
    return values


def write_on_sqlite(tx: Transaction, workspace_id: int, moment: datetime, changes: WorkspaceChanges) -> None:
    """Writes what is written with the clock, on SQLite."""
    mine = {"workspace_id": workspace_id}
    for some in split(changes.runs):
        insert_runs.run(tx, [{**mine, **row, "modified_on": moment} for row in some])
    moves = [{**mine, "contact_id": one, "flow_id": flow_id} for one, flow_id in sorted(changes.moves.items())]
    _move.run_each(tx, [{**each, "moment": moment} for each in moves])
    _stamp.run_each(
        tx, [{**mine, "kind": kind, "record": one, "stamped_on": moment} for kind, one in changes.records()]
    )
    _count.run_each(
        tx,
        [
            {**mine, "kind": kind, "day": day, "subject": subject, "number": number}
            for (kind, day, subject), number in changes.counts(tx.now.date())
        ],
    )
    _count_flows.run_each(
        tx,
        [
            {
                **mine,
                "flow_id": flow_id,
                "kind": kind,
                "day": tx.now.date(),
                "key": key,
                "value": value,
                "number": number,
            }
            for (flow_id, kind, key, value), number in changes.flow_counts()
        ],
    )
    _talk.run_each(
        tx,
        [
            {
                **mine,
                "contact_id": each.contact_id,
                "message_id": each.id,
                "last_on": each.created_on,
                "folder": each.folder,
            }
            for each in changes.last_messages()
        ],
    )
    _push.run_each(
        tx,
        [
            {**mine, "channel_id": channel_id, "reason": reason, "now": tx.now, **_around(tx.now)}
            for channel_id, reason in sorted(changes.phones.items())
        ],
    )


def _around(now: datetime) -> dict[str, datetime]:
    return {"lately": now - SETTLED, "soon": now + SETTLED}


def write_conversations_of(tx: Transaction, workspace_id: int, changes: WorkspaceChanges) -> None:
    """Writes the conversations and the counts that depend on other messages; the workspace's clock is locked."""
    write_conversations(tx, workspace_id, changes.seen, changes.came)
    end_conversations(tx, workspace_id, sorted(changes.ended))
    _say_farewell(tx, workspace_id, changes)
    new = sorted(each.id for each in changes.new_messages)
    for day, contact_ids in sorted(changes.heard().items()):
        begin = datetime.combine(day, time(), UTC)
        _count_active.run(tx, workspace_id, sorted(contact_ids), new, day, begin, begin + DAY)


def follow_subscriptions(tx: Transaction, workspace_id: int) -> None:
    """The clock of a workspace, which is locked, knows from now on to which types of events somebody subscribes. Who
    moves it later writes such events; those who come before in the order of commits do not.
    """
    rows, clock = resthook_subscriber.c, workspace_clock.c
    found = select(rows.events).where(rows.workspace_id == workspace_id, rows.events.is_not(None))
    told = sorted({event for events in tx.execute(found).scalars() for event in events or ()})
    tx.execute(update(workspace_clock).where(clock.workspace_id == workspace_id).values(told=" ".join(told) or None))


def _say_farewell(tx: Transaction, workspace_id: int, changes: WorkspaceChanges) -> None:
    """Released phones are pushed by the tokens that they had, so that they learn it."""
    for channel_id, (via, token) in sorted(changes.farewells.items()):
        values = {"via": via, "reason": RELEASE, "due_on": tx.now, "pushes": 0, "token": token}
        adding = tx.upsert(phone_push).values(workspace_id=workspace_id, channel_id=channel_id, **values)
        tx.execute(adding.on_conflict_do_update(index_elements=["channel_id", "workspace_id"], set_=values))


@statement
def _count_active(
    workspace_id: int,
    contact_ids: Sequence[int],
    new: Sequence[int],
    day: date,
    begin: datetime,
    until: datetime,
    *,
    is_sqlite: bool = False,
) -> Executable:
    """Counts those of some contacts from whom no other message came on a day."""
    rows = message.c
    theirs = (beside_index(rows.workspace_id) == workspace_id) & (rows.contact_id == contact.c.id)
    that_day = (rows.created_on >= begin) & (rows.created_on < until)
    other = select(rows.id).where(theirs, rows.direction == INCOMING, that_day, ~among(rows.id, new))
    others = has_row(other.correlate(contact).order_by(rows.created_on))
    mine = (beside_index(contact.c.workspace_id) == workspace_id) & among(contact.c.id, contact_ids)
    number = func.count().label("number")
    subject: list[Any] = [workspace_id, literal(ACTIVE), day, literal(0), number]
    counted = select(*subject).select_from(contact).where(mine, ~others).having(func.count() > 0)
    adding = upsert(day_count, is_sqlite=is_sqlite)
    adding = adding.from_select(["workspace_id", "kind", "day", "subject", "number"], counted)
    added = {"number": day_count.c.number + adding.excluded.number}
    return adding.on_conflict_do_update(index_elements=["workspace_id", "kind", "day", "subject"], set_=added)


def forget_messages(tx: Transaction, workspace_id: int, ids: Sequence[int]) -> None:
    """Deletes what is kept about messages that are deleted. A conversation ends with its last message."""
    stamps, rows = record_stamp.c, conversation.c
    of_them = (stamps.workspace_id == workspace_id) & (stamps.kind == MESSAGE) & stamps.record.in_(ids)
    tx.execute(delete(record_stamp).where(of_them))
    mine = (message.c.workspace_id == workspace_id) & message.c.id.in_(ids)
    theirs = (rows.workspace_id == workspace_id) & rows.contact_id.in_(select(message.c.contact_id).where(mine))
    tx.execute(delete(conversation).where(theirs, rows.message_id.in_(ids)))
