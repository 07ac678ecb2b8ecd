"""How records of a workspace are identified: names, unique ignoring case, keys made of them, and UUIDs; and texts by
language.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Executable, Row, Select, Table, Text, case, false, func, or_, select

from flows.languages import is_language
from flows.typed import clean, plain
from persistence.database import Transaction
from persistence.errors import InvalidInput, LimitReached, NothingFound, RecordMissing, SystemRecord
from persistence.sql.columns import NumberedColumns, is_uuid
from persistence.statements import Statement, param, update
from persistence.tables.contacts import FIELD_KEY, FIELD_KEY_LENGTH

RESERVED_KEYS = {"has", "is", "fields", "urns", "created_on", "last_seen_on"}
JOINERS = "\u200c\u200d"
"""They belong to the spelling of Persian and Indian words."""

NAME_LENGTH = 64
OBJECTS_PER_WORKSPACE = 250
MOST_NAMED = 3
KINDS = {
    "contact_group": "groups",
    "contact_field": "contact fields",
    "global_value": "globals",
    "data_request": "requests of persons that are not finished",
    "export": "exports that are not finished",
    "contact_import": "imports",
    "contact_job": "actions on contacts that are not finished",
    "saved_reply": "saved replies",
}
"""Of the tables whose name is no word for people."""

Found = TypeVar("Found")

_CHECKING: dict[tuple[Table, bool], Statement[[int, str, str | None]]] = {}
"""By table, and whether its records have no key."""

BAD_LANGUAGE = "Not an ISO 639-3 code."

Given = TypeVar("Given")


def name_key(name: str) -> str:
    """The form in which names are compared: as people take them for the same (docs/typing.md), and case-folded."""
    return unicodedata.normalize("NFC", plain(name).strip().casefold())


def check_name(name: str, field: str = "name", length: int = NAME_LENGTH) -> str:
    """The trimmed name; raises InvalidInput if it is empty, too long or has invalid characters (contract reference
    4.1)."""
    name = clean(name)
    if not name:
        raise InvalidInput.on(field, "An empty value is not allowed.")
    if len(name) > length:
        raise InvalidInput.on(field, f"At most {length} characters.")
    if any(character in name for character in '"\\\x00'):
        raise InvalidInput.on(field, 'A name has no quotation mark ("), no backslash (\\) and no NUL.')
    return name


def free_name(
    tx: Transaction,
    workspace_id: int,
    table: Table,
    name: str,
    *extra: ColumnElement[bool],
    field: str = "name",
    besides_id: int | None = None,
) -> dict[str, str]:
    """The columns `name` and `name_key` for a record with this name. `extra` conditions limit the records among which
    names are unique.

    Raises InvalidInput for a bad name, and for one that another record has; the unique index decides races.
    """
    name = check_name(name, field)
    naming = {"name": name, "name_key": name_key(name)}
    taken = select(table.c.id).where(
        table.c.workspace_id == workspace_id, table.c.name_key == naming["name_key"], *extra
    )
    if tx.execute(taken if besides_id is None else taken.where(table.c.id != besides_id)).first() is not None:
        raise InvalidInput.on(field, "This name is already taken.", "taken")
    return naming


def rename_record(
    tx: Transaction,
    workspace_id: int,
    table: Table,
    record_id: int,
    name: str,
    **values: Any,
) -> int:
    """Changes the name of a record, and other values with it; returns its id. Raises InvalidInput for a bad or taken
    name.
    """
    naming = free_name(tx, workspace_id, table, name, besides_id=record_id)
    mine = (table.c.workspace_id == workspace_id) & (table.c.id == record_id)
    tx.execute(update(table).where(mine).values(**naming, **values))
    return record_id


def is_called(table: Table, reference: str) -> ColumnElement[bool]:
    """Whether a record has this UUID or this name."""
    by_name = table.c.name_key == name_key(reference.strip())
    return (table.c.uuid == reference) | by_name if is_uuid(reference) else by_name


def must_exist(found: Found | None, field: str, reference: str) -> Found:
    """The record of a reference. Raises InvalidInput for its field if there is none."""
    if found is None:
        raise NothingFound(field, reference)
    return found


def find_id(
    tx: Transaction,
    workspace_id: int,
    table: Table,
    reference: str,
    *extra: ColumnElement[bool],
    by_name: bool = False,
) -> int | None:
    """The id of the record with this UUID, otherwise, with `by_name`, with this name; `extra` conditions limit the
    records."""
    found = find_called(tx, workspace_id, table, reference, *extra, by_name=by_name)
    return found[0] if found else None


def find_called(
    tx: Transaction,
    workspace_id: int,
    table: Table,
    reference: str,
    *extra: ColumnElement[bool],
    by_name: bool = True,
) -> list[int]:
    """The ids of the record with this UUID and, with `by_name`, of that with this name, in this order."""
    by_uuid = is_uuid(reference)
    if not by_uuid and not by_name:
        return []
    values: dict[str, Any] = {"owner": workspace_id}
    if by_uuid:
        values["wanted"] = reference
    if by_name:
        values["wanted_name"] = name_key(reference.strip())
    if extra:
        found = tx.execute(_select_called(table, by_uuid=by_uuid, by_name=by_name).where(*extra), values)
        return list(found.scalars())
    return [row[0] for row in _finding(table, by_uuid=by_uuid, by_name=by_name).rows(tx, **values)]


def require_id(
    tx: Transaction,
    workspace_id: int,
    table: Table,
    reference: str,
    *extra: ColumnElement[bool],
    field: str | None = None,
    by_name: bool = False,
) -> int:
    """Like `find_id`. Raises RecordMissing if there is none, or InvalidInput if a field refers to it."""
    found = find_id(tx, workspace_id, table, reference, *extra, by_name=by_name)
    if found is None and field is None:
        raise RecordMissing
    return must_exist(found, field or "", reference)


def find_all_called(
    tx: Transaction,
    workspace_id: int,
    table: Table,
    references: Sequence[str],
    field: str,
    columns: Sequence[ColumnElement[Any]] = (),
) -> Iterator[Row[*tuple[Any, ...]]]:
    """For each reference the row, with `id` and these columns, of the record with this UUID, otherwise with this name.
    One statement. Raises InvalidInput for the field at the first reference without a record.
    """
    found = find_rows_called(tx, workspace_id, table, references, columns)
    for reference in references:
        yield must_exist(found[reference], field, reference)


def find_rows_called(
    tx: Transaction,
    workspace_id: int,
    table: Table,
    references: Collection[str],
    columns: Sequence[ColumnElement[Any]] = (),
) -> dict[str, Row[*tuple[Any, ...]] | None]:
    """The same by reference, None for one without a record."""
    if not references:
        return {}
    keys = {name_key(reference.strip()) for reference in references}
    uuids = {reference.lower() for reference in references if is_uuid(reference)}
    named = or_(table.c.uuid.in_(uuids), table.c.name_key.in_(keys)) if uuids else table.c.name_key.in_(keys)
    statement = select(table.c.id, table.c.uuid, table.c.name_key, *columns)
    rows = tx.execute(statement.where(table.c.workspace_id == workspace_id, named)).all()
    by_uuid, by_key = {row.uuid: row for row in rows}, {row.name_key: row for row in rows}
    return {
        reference: by_uuid.get(reference.lower()) or by_key.get(name_key(reference.strip())) for reference in references
    }


def require_editable(tx: Transaction, workspace_id: int, table: Table[NumberedColumns], uuid: str) -> int:
    """The id of a record that the system did not create. Raises RecordMissing or SystemRecord."""
    mine = (table.c.workspace_id == workspace_id) & (table.c.uuid == uuid)
    found = select(table.c.id, table.c.is_system.is_(True)).where(mine)
    record_id, is_system = tx.execute(found).first() or (None, False)
    if record_id is None:
        raise RecordMissing
    if is_system:
        raise SystemRecord
    return record_id


def check_room(
    tx: Transaction, workspace_id: int, table: Table, *extra: ColumnElement[bool], limit: int = OBJECTS_PER_WORKSPACE
) -> None:
    """Raises LimitReached if the workspace has `limit` records of this kind, which is told by the name of the table."""
    count = select(func.count()).select_from(table).where(table.c.workspace_id == workspace_id, *extra)
    if tx.execute(count).scalar_one() >= limit:
        raise limit_reached(table, limit)


def check_new(
    tx: Transaction,
    workspace_id: int,
    table: Table,
    name: str,
    *,
    key: str | None = None,
    noun: str = "record",
    field: str = "name",
    counted: ColumnElement[bool] | None = None,
    limit: int = OBJECTS_PER_WORKSPACE,
) -> dict[str, str]:
    """The columns `name` and `name_key` for a new record with this name, checked in one statement. A record with a key
    must have one of its own. Records that meet `counted`, by default all, may be so many; the condition depends on the
    table alone. Raises InvalidInput for a bad or taken name or a taken key, LimitReached at the limit.
    """
    name = check_name(name, field)
    naming = {"name": name, "name_key": name_key(name)}

    checking = _CHECKING.get((table, key is None))
    if checking is None:
        checking = _CHECKING[table, key is None] = _check(table, counted, has_key=key is not None)
    ((number, is_taken, *is_key_taken),) = checking.rows(tx, workspace_id, naming["name_key"], key)
    if is_taken:
        raise InvalidInput.on(field, "This name is already taken.", "taken")
    if any(is_key_taken):
        raise InvalidInput.on(field, f"Another {noun} has the key made from this name.")
    if number >= limit:
        raise limit_reached(table, limit)
    return naming


def limit_reached(table: Table, limit: int) -> LimitReached:
    """The refusal of one more record of a table."""
    kind = KINDS.get(table.name) or f"{table.name.replace('_', ' ')}s"
    remedy = "wait until some of them are" if kind.endswith("not finished") else "delete those that are not needed"
    return LimitReached.of(limit, kind, remedy)


def name_some(users: Sequence[str]) -> str:
    """The first of those that use a record, and how many more there are."""
    named = ", ".join(users[:MOST_NAMED])
    return named if len(users) <= MOST_NAMED else f"{named} and {len(users) - MOST_NAMED} more"


def find_ids(tx: Transaction, workspace_id: int, table: Table, uuids: Iterable[str]) -> dict[str, int]:
    """The row ids of records by UUID; missing records are left out. One statement, or none without UUIDs."""
    wanted = sorted({str(uuid) for uuid in uuids})
    if not wanted:
        return {}
    mine = (table.c.workspace_id == workspace_id) & table.c.uuid.in_(wanted)
    return {uuid: row_id for uuid, row_id in tx.execute(select(table.c.uuid, table.c.id).where(mine))}


def make_key(name: str) -> str:
    """The key of a field with this name: `Date of Birth` gives `date_of_birth`."""
    return re.sub(r"[^a-z0-9]+", "_", plain(name).lower()).strip("_")


def make_free_key(name: str, taken: Collection[str], noun: str = "field") -> str:
    """A key for a name in any alphabet, which no record has: of its Latin letters, otherwise `field`, `field_2` ..."""
    bare = "".join(each for each in unicodedata.normalize("NFKD", name) if unicodedata.category(each)[0] != "M")
    key = make_key(bare)
    key = key if key[:1].isalpha() else f"{noun}_{key}".strip("_")
    key = f"{key}_{noun}" if key in RESERVED_KEYS else key
    numbered = (f"{key[: FIELD_KEY_LENGTH - 4]}_{number}" for number in range(2, 1000))
    return next(each for each in (key[:FIELD_KEY_LENGTH].strip("_"), *numbered) if each not in taken)


def make_new_key(tx: Transaction, workspace_id: int, table: Table, name: str, noun: str) -> str:
    """The key of a new record with this name; a name from whose letters none can be made gets a free one. Raises
    InvalidInput for other names.
    """
    key = make_key(name)
    if not FIELD_KEY.match(key):
        if not any(each.isalpha() and not each.isascii() for each in name):
            raise InvalidInput.on("name", "The key made from this name has to begin with a letter.")
        keys = tx.execute(select(table.c.key).where(table.c.workspace_id == workspace_id)).scalars()
        return make_free_key(name, set(keys), noun)
    return key


def read_language(given: str, field: str = "language") -> str:
    """A language code in lower case. Raises InvalidInput for an unknown one."""
    code = given.lower()
    if not is_language(code):
        raise InvalidInput.on(field, BAD_LANGUAGE)
    return code


def read_translations(given: Mapping[str, Given], field: str) -> dict[str, Given]:
    """Texts, or lists of texts, by language codes in lower case. Raises InvalidInput for the first bad code."""
    read: dict[str, Given] = {}
    for language, text in given.items():
        code = language.lower()
        if not is_language(code):
            raise InvalidInput.at(field, language, BAD_LANGUAGE)
        if code in read:
            raise InvalidInput.at(field, language, "This language appears twice.")
        read[code] = text
    return read


def _select_called(table: Table, *, by_uuid: bool, by_name: bool) -> Select[int]:
    is_it = table.c.uuid == param("wanted", table.c.uuid.type)
    is_named = table.c.name_key == param("wanted_name", Text) if by_name else false()
    mine = select(table.c.id).where(table.c.workspace_id == param("owner"), is_it | is_named if by_uuid else is_named)
    return mine.order_by(is_it.desc()) if by_uuid and by_name else mine


@cache
def _finding(table: Table, *, by_uuid: bool, by_name: bool) -> Statement[...]:
    return Statement(lambda: _select_called(table, by_uuid=by_uuid, by_name=by_name))


def _check(table: Table, counted: ColumnElement[bool] | None, *, has_key: bool) -> Statement[[int, str, str | None]]:
    """How many records there are, and whether one has a name or key."""

    def count(workspace_id: int, name: str, key: str | None) -> Executable:
        number = func.count() if counted is None else func.count().filter(counted)
        named = func.max(case((table.c.name_key == name, 1), else_=0))
        keyed = [func.max(case((table.c.key == key, 1), else_=0))] if has_key else []
        return select(number, named, *keyed).where(table.c.workspace_id == workspace_id)

    return Statement(count)
