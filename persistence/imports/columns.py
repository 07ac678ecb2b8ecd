"""What the columns of a file of contacts mean. A target is a text: `uuid`, `name`, `language`, `urn:tel`, `field:age`,
`new:Age` or `new:Age:number` for a field that the import makes, or `ignore`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import select

from flows.urn_schemes import SCHEMES
from persistence.contacts.bulk import REJECTED, ContactRow, Outcome
from persistence.database import Transaction
from persistence.errors import InvalidInput, LimitReached
from persistence.exports.sheets import CLEARED, unguard
from persistence.field_writes import check_field_name, create_field, make_key
from persistence.fields import TYPES
from persistence.imports.reading import CELL_LENGTH, COLUMNS_LIMIT, Row
from persistence.sql.names import name_key
from persistence.tables.contacts import field
from persistence.workspaces import Workspace

UUID, NAME, LANGUAGE, IGNORE = "uuid", "name", "language", "ignore"
URN, FIELD, NEW = "urn", "field", "new"
SHOWN = 8
"""So many headers of a file are named in an error."""

GUESSES = {
    **dict.fromkeys(("uuid", "contact uuid", "contact"), UUID),
    **dict.fromkeys(("name", "full name", "contact name"), NAME),
    **dict.fromkeys(("language", "lang"), LANGUAGE),
    **dict.fromkeys(
        ("phone", "phone number", "telephone", "tel", "mobile", "mobile number", "mobile phone", "number", "msisdn"),
        f"{URN}:tel",
    ),
    **dict.fromkeys(("email", "e mail", "mail", "e mail address", "email address"), f"{URN}:mailto"),
    "status": IGNORE,
    "groups": IGNORE,
    "created on": IGNORE,
    "modified on": IGNORE,
    "last seen on": IGNORE,
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a file: its header, the first values below it, and what it means."""

    header: str
    examples: tuple[str, ...]
    target: str


def guess_columns(tx: Transaction, workspace: Workspace, header: Row, rows: Sequence[Row]) -> list[Column]:
    """What the columns probably mean, by their headers: what each target is called, and the names of fields. Nothing
    is guessed twice, except URNs. Raises InvalidInput for a file without a header.
    """
    if not any(header):
        raise InvalidInput.on("file", "The first row must name the columns.")
    fields = tx.execute(select(field.c.key, field.c.name_key).where(field.c.workspace_id == workspace.id))
    known = {name: f"{FIELD}:{key}" for key, named in fields for name in (key.replace("_", " "), named)}
    found: list[Column] = []
    for place, text in enumerate(header):
        examples = tuple(row[place] for row in rows if place < len(row) and row[place])
        target = _guess(text, known)
        taken = {each.target for each in found} - {IGNORE}
        if target in taken and not target.startswith(f"{URN}:"):
            target = IGNORE
        found.append(Column(text, examples, target))
    return found


def _guess(header: str, known: Mapping[str, str]) -> str:
    kind, sign, rest = header.partition(":")
    words = " ".join(re.split(r"[\s_\-]+", name_key(rest if sign else header).strip()))
    if sign and name_key(kind.strip()) == URN:
        return f"{URN}:{words}" if words in SCHEMES else IGNORE
    if sign and name_key(kind.strip()) == FIELD:
        return known.get(words, IGNORE)
    return GUESSES.get(words) or known.get(words) or (f"{URN}:{words}" if words in SCHEMES else IGNORE)


def choose_targets(columns: Sequence[Column], chosen: Mapping[str, str]) -> list[Column]:
    """The columns with the targets that people chose, by header; the others keep theirs. Raises InvalidInput for a
    header that no column has, and for targets that cannot stand together.
    """
    unknown = next((header for header in chosen if header not in {each.header for each in columns}), None)
    if unknown is not None:
        raise InvalidInput.on("columns", f'The file has no column "{unknown[:64]}".')
    found = [replace(each, target=chosen.get(each.header, each.target)) for each in columns]
    for each in found:
        _check_target(each.target)
    single = [each.target for each in found if each.target != IGNORE and not each.target.startswith(f"{URN}:")]
    twice = next((target for target in single if single.count(target) > 1), None)
    if twice is not None:
        raise InvalidInput.on("columns", f"Two columns cannot both be {twice}.")
    if not any(each.target == UUID or each.target.startswith(f"{URN}:") for each in found):
        there = _listed(found)
        raise InvalidInput.on(
            "columns", f'One column must be the UUID or a URN, such as "Phone". The file has {there}.'
        )
    return found


def _listed(columns: Sequence[Column]) -> str:
    """The headers of a file, as far as people read them."""
    shown = ", ".join(f'"{each.header[:32]}"' for each in columns[:SHOWN])
    return f"{shown} and {len(columns) - SHOWN} more" if len(columns) > SHOWN else shown


def _check_target(target: str) -> None:
    """Raises InvalidInput for a text that is no target."""
    kind, sign, rest = target.partition(":")
    if not sign and target in (UUID, NAME, LANGUAGE, IGNORE):
        return
    if kind == URN and rest in SCHEMES:
        return
    if kind == FIELD and rest:
        return
    if kind == NEW:
        _read_new(rest)
        return
    raise InvalidInput.on("columns", f'"{target[:64]}" is not what a column can be.')


def _read_new(text: str) -> tuple[str, str]:
    """The name and type of a new field. Raises InvalidInput."""
    name, _, kind = text.partition(":")
    if kind and kind not in TYPES:
        raise InvalidInput.on("columns", f"A field has one of the types {', '.join(TYPES)}.")
    return check_field_name(name), kind or "text"


def make_fields(tx: Transaction, workspace: Workspace, columns: Sequence[Column]) -> list[Column]:
    """The columns with the fields that `new:` asks for, which are made unless they exist. Raises InvalidInput for a
    field that does not exist or cannot be made, LimitReached at the workspace's limit.
    """
    keys = select(field.c.key).where(field.c.workspace_id == workspace.id)
    known = set(tx.execute(keys).scalars())
    found = []
    for each in columns:
        kind, _, rest = each.target.partition(":")
        if kind == FIELD and rest not in known:
            raise InvalidInput.on("columns", f'No contact field "{rest[:36]}".')
        if kind != NEW:
            found.append(each)
            continue
        name, type_ = _read_new(rest)
        key = make_key(name)
        if key not in known:
            try:
                create_field(tx, workspace.id, name, type_)
            except LimitReached as error:
                raise InvalidInput.on("columns", str(error)) from error
            known.add(key)
        found.append(replace(each, target=f"{FIELD}:{key}"))
    return found


def read_rows(columns: Sequence[Column], rows: Iterable[tuple[int, Row]]) -> tuple[list[ContactRow], list[Outcome]]:
    """What rows say about contacts, and which of them are too large; empty ones say nothing."""
    found, refused = [], []
    for number, cells in rows:
        reason = _refuse(columns, cells)
        if reason is not None:
            refused.append(Outcome(number, REJECTED, reason))
        elif cells:
            found.append(read_row(columns, number, cells))
    return found, refused


def _refuse(columns: Sequence[Column], cells: Row) -> str | None:
    """Why a row is not imported whatever it says; long cells of columns that are left out do not matter."""
    if len(cells) > COLUMNS_LIMIT:
        return f"A row may have {COLUMNS_LIMIT} columns."
    for column, cell in zip(columns, cells, strict=False):
        if len(cell) > CELL_LENGTH and column.target != IGNORE:
            return f"{column.header[:64]}: A cell may have {CELL_LENGTH} characters; the rest is cut here."
    return None


def read_row(columns: Sequence[Column], number: int, cells: Row) -> ContactRow:
    """What a row says about a contact."""
    single: dict[str, str] = {}
    urns: list[str] = []
    fields: dict[str, str | None] = {}
    for column, cell in zip(columns, cells, strict=False):
        if not cell or column.target == IGNORE:
            continue
        kind, _, rest = column.target.partition(":")
        value = None if cell == CLEARED else unguard(cell)
        if kind == URN:
            urns += [] if value is None else [value if value.startswith(f"{rest}:") else f"{rest}:{value}"]
        elif kind == FIELD:
            fields[rest] = value
        else:
            single[kind] = value or ""
    return ContactRow(
        number,
        uuid=single.get(UUID) or None,
        name=single.get(NAME),
        language=single.get(LANGUAGE),
        urns=tuple(dict.fromkeys(urns)),
        fields=fields,
    )
