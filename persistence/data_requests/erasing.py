"""Erases a person from all tables of a workspace, as their policies say, from files, and from what was for this person
alone. Rows of others that mention the person's address lose the text with it.

Rewrites the files of the database, so that they hold nothing of what was deleted: databases only mark space as free.
Meanwhile others wait: on SQLite those who write, on PostgreSQL those who use the table that is rewritten.
"""

import gzip
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import orjson
import psycopg2
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Engine,
    Table,
    Text,
    and_,
    cast,
    delete,
    func,
    make_url,
    or_,
    select,
    text,
)
from sqlalchemy.exc import DBAPIError

from persistence.archives.archives import MESSAGE, ArchiveGone, read_lines
from persistence.archives.writing import Measured
from persistence.broadcasts.records import IS_DRAFT, IS_UNFINISHED
from persistence.changes import change_contacts, change_messages, note_changed
from persistence.contacts.deletion import delete_contacts
from persistence.data_jobs import PENDING_AGAIN, UNFINISHED
from persistence.data_requests.person import Person, redact
from persistence.database import Database, Transaction
from persistence.media.store import MediaStore, delete_media, named_in
from persistence.sql.columns import new_uuid
from persistence.stamps import stamped
from persistence.statements import update
from persistence.tables.complete import metadata
from persistence.tables.contacts import contact, contact_urn
from persistence.tables.data_jobs import FAILED, contact_import, export, moved_record, rejected_row
from persistence.tables.flows import OF_BROADCAST, OF_START, AudienceTables, flow_run, flow_start, flow_start_contact
from persistence.tables.messages import broadcast, broadcast_contact, media, message
from persistence.tables.policies import policy_of
from persistence.tables.service import archive

Counts = dict[str, int]
TABLES = metadata.sorted_tables
STOPPED_BY_ERASURE = "A person's data was erased while this was waiting: begin again."

ENDING = ".jsonl.gz"
UUID_LENGTH = 36

MOST_SQLITE_BYTES = 1 << 30
MOST_TABLE_BYTES = 256 << 20
"""What a worker rewrites by itself takes seconds; more is left to a command that operators run at a quiet hour."""
SIZE = text("""
    SELECT sum(pg_total_relation_size(part)) FROM (
        SELECT to_regclass(:name) AS part UNION SELECT relid FROM pg_partition_tree(to_regclass(:name))
    ) AS parts
""")
"""The bytes of a table, in all its partitions."""
STATISTICS = "pg_catalog.pg_statistic"
"""Where PostgreSQL keeps frequent values of columns."""
TEXTS = ("text", "character", "json")
"""Types of columns that can hold what is known of a person, as they begin."""


def count_own(tx: Transaction, person: Person) -> Counts:
    """How much is stored about a person, by kind."""
    rules = ((table, policy_of(table)) for table in TABLES if "contact_id" in table.c)
    # Rows that mention the person are counted by their table.
    kinds = {str(table.name) if rule.mentions else rule.copied: table for table, rule in rules}
    return {name: _count(tx, _own(table, person)) for name, table in kinds.items() if name}


def erase_rows(tx: Transaction, person: Person) -> Counts:
    """Erases a person, who may be deleted already, from the tables; returns how much was there."""
    counts = count_own(tx, person)
    mine = (contact.c.workspace_id == person.workspace_id) & (contact.c.id == person.contact_id)
    if not tx.execute(select(contact.c.is_deleted).where(mine).with_for_update()).scalar_one():
        delete_contacts(tx, person.workspace_id, [person.contact_id])
    # Earlier versions left it to deleted contacts.
    change_contacts(tx, person.workspace_id, [person.contact_id], {"timezone": None})
    _empty_lone_broadcasts(tx, person)
    _empty_lone_starts(tx, person)
    to, of = broadcast_contact.c, flow_start_contact.c
    named = select(to.broadcast_id).where(_own(broadcast_contact, person), to.is_named)
    _change(tx, person, broadcast, broadcast.c.id.in_(named))
    named = select(of.start_id).where(_own(flow_start_contact, person), of.is_named)
    _change(tx, person, flow_start, flow_start.c.id.in_(named))
    for table in TABLES:
        if policy_of(table).erased in ("rows", "deleted"):
            tx.execute(delete(table).where(_own(table, person)))
    paths = (contact_urn.c.workspace_id == person.workspace_id) & contact_urn.c.path.in_(person.paths)
    tx.execute(delete(contact_urn).where(paths, contact_urn.c.contact_id.is_(None)))
    for table in TABLES:
        rule = policy_of(table)
        if rule.mentions is not None:
            found = _find(tx, person, table.c[rule.mentions])
            mentioned = [row for row, body in found if _is_in_body(person, body)]
            for row in mentioned:
                tx.execute(delete(table).where(row))
            counts[str(table.name)] = counts.get(str(table.name), 0) + len(mentioned)
        for name in rule.documents:
            _redact(tx, person, table.c[name])
        for name in rule.queries:
            for row, query in _find(tx, person, table.c[name]):
                if person.is_in(query, by_uuid=False):
                    tx.execute(update(table).where(row).values({name: None}))
    _forget_address_of_others(tx, person)
    _forget_notes_of_moves(tx, person)
    _forget_files(tx, person)
    return counts


def list_files(tx: Transaction, workspace_id: int) -> list[str]:
    """The files of exports and imports of a workspace, which may name anybody."""
    found: list[str] = []
    for column in (export.c.location, contact_import.c.location, contact_import.c.source):
        owned = column.table.c.workspace_id == workspace_id
        named = select(cast(column, Text)).where(owned, column.is_not(None))
        found += [name for name in tx.execute(named).scalars() if name is not None]
    return found


def is_for_nobody_else(audience: AudienceTables, person: Person) -> ColumnElement[bool]:
    """The condition on broadcasts or starts that chose this person alone."""
    thing, to, groups = audience.thing.c, audience.contacts.c, audience.groups.c
    chosen = (to.workspace_id == person.workspace_id) & (to[audience.link] == thing.id)
    grouped = (groups.workspace_id == person.workspace_id) & (groups[audience.link] == thing.id) & ~groups.is_excluded
    return and_(
        thing.workspace_id == person.workspace_id,
        thing.query.is_(None),
        select(to.contact_id).where(chosen, to.contact_id == person.contact_id).exists(),
        ~select(to.contact_id).where(chosen, to.contact_id != person.contact_id).exists(),
        ~select(groups.group_id).where(grouped).exists(),
    )


def erase_from_archives(database: Database, store: MediaStore, person: Person) -> int:
    """Writes each archive that has records of a person again without them; returns how many records there were. The row
    names the new file before the old one is removed. Archives that are merged meanwhile are read once more.
    """
    removed, read = 0, set[str]()
    while unread := [each for each in _list_archives(database, person) if each[1] not in read]:
        for row_id, location in unread:
            read.add(location)
            removed += _erase_from(database, store, person, row_id, location, read)
    return removed


def is_about(line: bytes, person: Person) -> bool:
    """Whether an archived record belongs to a person."""
    if not any(uuid.encode() in line for uuid in person.uuids):
        return False
    record: dict[str, Any] = orjson.loads(line)
    return (record.get("contact") or {}).get("uuid") in person.uuids


def without_address(line: bytes, person: Person) -> bytes:
    """An archived record of somebody who had an address of the person before, without it."""
    if not any(path.encode() in line for path in person.paths):
        return line
    record: dict[str, Any] = orjson.loads(line)
    owner = record.get("contact") or {}
    bare = {**record, "contact": {**owner, **_bare(owner, person)}, **_bare(record, person)}
    return line if bare == record else orjson.dumps(bare) + b"\n"


def lines_about(store: MediaStore, location: str, person: Person) -> Iterator[bytes]:
    """The lines of an archive that belong to a person."""
    return (line for line in _read_present(store, location) if is_about(line, person))


def find_own_media(database: Database, store: MediaStore, person: Person) -> list[str]:
    """The UUIDs of uploaded files that messages of this person name or named, also those in archives."""
    rows, files, stored = message.c, media.c, archive.c
    mine = (rows.workspace_id == person.workspace_id) & (rows.contact_id == person.contact_id)
    formerly = (files.workspace_id == person.workspace_id) & (files.former_contact_id == person.contact_id)
    archived = (stored.workspace_id == person.workspace_id) & (stored.archive_type == MESSAGE)
    with database.reading() as tx:
        named = select(rows.attachments).where(mine, cast(rows.attachments, Text) != "[]")
        found = [uuid for attachments in tx.execute(named).scalars() for uuid in named_in(attachments)]
        found += tx.execute(select(files.uuid).where(formerly).order_by(files.id)).scalars()
        locations = tx.execute(select(stored.location).where(archived, stored.location.is_not(None))).scalars().all()
    for location in locations:
        for line in lines_about(store, str(location), person):
            found += named_in(orjson.loads(line).get("attachments") or ())
    return list(dict.fromkeys(found))


def erase_media(database: Database, store: MediaStore, person: Person) -> int:
    """Deletes the uploaded files that no message of others and no broadcast to others names; returns how many."""
    named = find_own_media(database, store, person)
    with database.reading() as tx:
        own = [uuid for uuid in named if not _is_shared(tx, person, uuid)]
    for uuid in own:
        place = database.write(partial(delete_media, workspace_id=person.workspace_id, uuid=uuid))
        if place is not None:
            store.remove(place)
    return len(own)


def rewrite_files(database: Database, *, is_forced: bool = False) -> bool:
    """Rewrites everything from which persons are erased; returns whether nothing was left out because it is large."""
    if database.sqlite:
        return _rewrite_sqlite(database, is_forced=is_forced)
    engine = database.create_patient_engine()
    try:
        return _rewrite_postgres(engine, is_forced=is_forced)
    finally:
        engine.dispose()


def _count(tx: Transaction, which: ColumnElement[bool]) -> int:
    return tx.execute(select(func.count()).where(which)).scalar_one()


def _own(table: Table, person: Person) -> ColumnElement[bool]:
    mine: ColumnElement[bool] = (table.c.workspace_id == person.workspace_id) & (
        table.c.contact_id == person.contact_id
    )
    return mine


def _forget_address_of_others(tx: Transaction, person: Person) -> None:
    """Messages of somebody who had an address of the person before keep their texts."""
    urns = [message.c.urn.endswith(f":{path}", autoescape=True) for path in person.paths]
    if urns:
        change_messages(tx, person.workspace_id, or_(*urns), {"urn": None})


def _forget_notes_of_moves(tx: Transaction, person: Person) -> None:
    """What could not be carried from another server is told by name."""
    rows = moved_record.c
    if person.name is not None:
        named = (rows.workspace_id == person.workspace_id) & (rows.name == person.name)
        tx.execute(update(moved_record).where(named).values(name=None, note=None))
    for column in (rows.name, rows.note):
        for row, told in _find(tx, person, column):
            if person.is_in(told):
                tx.execute(update(moved_record).where(row).values(name=None, note=None))


def _empty_lone_broadcasts(tx: Transaction, person: Person) -> None:
    """A broadcast to nobody else says what was written to this person."""
    lone = is_for_nobody_else(OF_BROADCAST, person)
    for broadcast_id, texts in tx.execute(select(broadcast.c.id, broadcast.c.text).where(lone)).all():
        values = {"text": dict.fromkeys(texts, ""), "attachments": {}, "files": {}, "quick_replies": {}}
        _change(tx, person, broadcast, broadcast.c.id == broadcast_id, values)


def _empty_lone_starts(tx: Transaction, person: Person) -> None:
    """The values of a start of nobody else are about this person, whoever they name."""
    given = flow_start.c.params.is_not(None) | flow_start.c.parent.is_not(None)
    _change(tx, person, flow_start, is_for_nobody_else(OF_START, person) & given, {"params": None, "parent": None})


def _find(tx: Transaction, person: Person, column: Column[Any]) -> list[tuple[ColumnElement[bool], Any]]:
    """The rows of the workspace that may mention the person: the condition for each, and its text or document."""
    keys = list(column.table.primary_key)
    may_be = (column.table.c.workspace_id == person.workspace_id) & person.may_be_in(column)
    found = tx.execute(select(column, *keys).where(may_be)).all()
    return [
        (and_(*(key == value for key, value in zip(keys, values, strict=True))), content) for content, *values in found
    ]


def _is_in_body(person: Person, body: Any) -> bool:
    """Forms are stored as they are sent, with escapes."""
    text = body if isinstance(body, str) else orjson.dumps(body).decode()
    return person.is_in(text) or person.is_in(unquote_plus(text))


def _redact(tx: Transaction, person: Person, column: Column[Any]) -> None:
    for row, document in _find(tx, person, column):
        bare = redact(document, person)
        left = [each for each in bare if each] if column is broadcast.c.urns else bare
        if left != document:
            _change(tx, person, column.table, row, {column.name: left})


def _change(
    tx: Transaction, person: Person, table: Table, which: ColumnElement[bool], values: Mapping[str, Any] | None = None
) -> None:
    """Gives rows other values; those that lists show are news."""
    new = dict(values or {})
    if table in (flow_start, flow_run):
        new["modified_on"] = stamped(tx, table, person.workspace_id)
    if table is broadcast:
        mine = (broadcast.c.workspace_id == person.workspace_id) & which
        note_changed(tx, broadcast, person.workspace_id, tx.execute(select(broadcast.c.id).where(mine)).scalars())
    if new:
        tx.execute(update(table).where(table.c.workspace_id == person.workspace_id, which).values(new))


def _forget_files(tx: Transaction, person: Person) -> None:
    """Files of exports and imports may name anybody: their rows lose them, and what is not finished begins again. The
    caller removes the files afterwards (see `list_files`)."""
    exports = export.c.workspace_id == person.workspace_id
    tx.execute(update(export).where(exports).values(location=None, size=None))
    tx.execute(update(export).where(exports, export.c.status.in_(UNFINISHED)).values(**PENDING_AGAIN))
    imports = contact_import.c.workspace_id == person.workspace_id
    ended = {"status": FAILED, "error": STOPPED_BY_ERASURE, "finished_on": tx.now, "leased_until": None}
    open_ = imports & contact_import.c.finished_on.is_(None)
    tx.execute(update(contact_import).where(open_).values(**ended))
    tx.execute(update(contact_import).where(imports).values(location=None, size=None, source=None))
    for row_id, columns in tx.execute(select(contact_import.c.id, contact_import.c.columns).where(imports)).all():
        bare = [{**each, "examples": []} for each in columns]
        tx.execute(update(contact_import).where(imports, contact_import.c.id == row_id).values(columns=bare))
    tx.execute(delete(rejected_row).where(rejected_row.c.workspace_id == person.workspace_id))


def _list_archives(database: Database, person: Person) -> list[tuple[int, str]]:
    rows = archive.c
    mine = (rows.workspace_id == person.workspace_id) & rows.location.is_not(None)
    with database.reading() as tx:
        found = tx.execute(select(rows.id, rows.location).where(mine).order_by(rows.id)).all()
    return [(row_id, str(location)) for row_id, location in found]


def _erase_from(
    database: Database, store: MediaStore, person: Person, row_id: int, location: str, read: set[str]
) -> int:
    removed = named = 0
    for line in _read_present(store, location):
        removed += is_about(line, person)
        named += without_address(line, person) != line
    if not removed and not named:
        return 0
    folder, _, name = location.rpartition("/")
    new = f"{folder}/{name[: -len(ENDING) - UUID_LENGTH]}{new_uuid()}{ENDING}"
    kept = 0
    with store.writing(new) as file:
        measured = Measured(file)
        with gzip.GzipFile(fileobj=measured, mode="wb", mtime=0) as packed:
            for line in _read_present(store, location):
                if not is_about(line, person):
                    packed.write(without_address(line, person))
                    kept += 1
    values = {"location": new, "record_count": kept, "size": measured.size, "hash": measured.digest.hexdigest()}
    with database.writing() as tx:
        same = (archive.c.workspace_id == person.workspace_id) & (archive.c.id == row_id)
        is_ours = tx.execute(update(archive).where(same, archive.c.location == location).values(**values)).rowcount
    store.remove(location if is_ours else new)
    read.add(new)
    return removed


def _read_present(store: MediaStore, location: str) -> Iterator[bytes]:
    """The lines of an archive; none if its file is gone, as that of a day is once its month is merged."""
    with suppress(ArchiveGone):
        yield from read_lines(store, location)


def _bare(document: dict[str, Any], person: Person) -> dict[str, None]:
    urn = document.get("urn") or ""
    named = urn.partition(":")[2] in person.paths
    return dict.fromkeys((name for name in ("urn", "urn_display") if name in document), None) if named else {}


def _is_shared(tx: Transaction, person: Person, media_uuid: str) -> bool:
    rows = message.c
    others = (rows.workspace_id == person.workspace_id) & (rows.contact_id != person.contact_id)
    named = cast(rows.attachments, Text).contains(media_uuid)
    to_others = (broadcast.c.started > 1) | ((IS_UNFINISHED | IS_DRAFT) & ~is_for_nobody_else(OF_BROADCAST, person))
    to_many = (broadcast.c.workspace_id == person.workspace_id) & to_others
    sent = cast(broadcast.c.files, Text).contains(media_uuid)
    return (
        tx.execute(select(rows.id).where(others, named).limit(1)).first() is not None
        or tx.execute(select(broadcast.c.id).where(to_many, sent).limit(1)).first() is not None
    )


def _rewrite_sqlite(database: Database, *, is_forced: bool) -> bool:
    """The log is emptied before and after; it cannot be while somebody reads an older state, who has to end first."""
    path = Path(make_url(database.url).database or "")
    if not is_forced and path.stat().st_size > MOST_SQLITE_BYTES:
        return False
    engine = database.create_patient_engine()
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        cursor.execute("VACUUM")
        is_busy, *_ = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() or (1,)
        return not is_busy
    finally:
        connection.close()
        engine.dispose()


def _rewrite_postgres(engine: Engine, *, is_forced: bool) -> bool:
    is_whole = True
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for table in sorted(each.name for each in TABLES if policy_of(each).has_person):
            size = connection.execute(SIZE, {"name": table}).scalar() or 0
            if size > MOST_TABLE_BYTES and not is_forced:
                is_whole = False
                continue
            connection.exec_driver_sql(f'VACUUM (FULL, ANALYZE) "{table}"')
            _forget_statistics(connection, table)
        connection.exec_driver_sql(f"VACUUM (FULL) {STATISTICS}")
        try:
            connection.exec_driver_sql(
                "CHECKPOINT"
            )  # files of former states are removed then, otherwise a little later
        except DBAPIError as error:
            if not isinstance(error.orig, psycopg2.errors.InsufficientPrivilege):
                raise
    return is_whole


def _forget_statistics(connection: Connection, table: str) -> None:
    """ANALYZE keeps the frequent values of a table that has become empty. Setting the type of a column anew removes its
    values; nothing is rewritten.
    """
    if connection.exec_driver_sql(f'SELECT 1 FROM "{table}" LIMIT 1').first() is not None:
        return
    known = text(
        "SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_stats s"
        " JOIN pg_attribute a ON a.attrelid = to_regclass(:name) AND a.attname = s.attname"
        " WHERE s.schemaname = current_schema() AND s.tablename = :name"
    )
    for column, kind in connection.execute(known, {"name": table}).all():
        if kind.startswith(TEXTS):
            connection.exec_driver_sql(f'ALTER TABLE "{table}" ALTER COLUMN "{column}" TYPE {kind}')
