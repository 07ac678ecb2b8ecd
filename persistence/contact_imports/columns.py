"""What the columns of a file of contacts mean. A target is a text: `uuid`, `name`, `first_name`, `last_name`,
`language`, `urn:tel`, `field:age`, `new:Age` or `new:Age:number` for a field that the import makes, or `ignore`.
Columns are told by their place: several may have the same header, or none."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sqlalchemy import select

from flows.typed import clean
from flows.urn_schemes import SCHEMES
from persistence.contact_imports.reading import (
    CELL_LENGTH,
    COLUMNS_LIMIT,
    EXAMPLE_LENGTH,
    EXAMPLES,
    SAMPLE,
    Formats,
    Row,
    Survey,
    Values,
    give_examples,
    most,
)
from persistence.contacts.bulk import REJECTED, ContactRow, Outcome
from persistence.database import Transaction
from persistence.errors import InvalidInput, LimitReached
from persistence.exports.kinds import CLEARED, unguard
from persistence.fields import TYPES, check_field_name, create_field
from persistence.sql.names import JOINERS, find_ids, make_free_key, make_key, name_key
from persistence.tables.contacts import FIELD_NAME_LENGTH, contact, field
from persistence.workspaces.records import Workspace

UUID, NAME, FIRST, LAST, LANGUAGE, IGNORE = "uuid", "name", "first_name", "last_name", "language", "ignore"
URN, FIELD, NEW = "urn", "field", "new"
SINGLE = (UUID, NAME, FIRST, LAST, LANGUAGE, IGNORE)
TEL = f"{URN}:tel"
SHOWN = 8
"""So many headers of a file are named in an error."""

PERHAPS_PHONE = ("number", "contact", "contacts", "mobile no", "no")
GUESSES = {
    **dict.fromkeys(("uuid", "contact uuid"), UUID),
    **dict.fromkeys(("name", "full name", "contact name", "names", "nom complet", "nombre completo"), NAME),
    **dict.fromkeys(("first name", "firstname", "given name", "forename", "prénom", "prenom", "nombre", "nome"), FIRST),
    **dict.fromkeys(
        ("last name", "lastname", "surname", "family name", "nom", "apellido", "apellidos", "sobrenome"), LAST
    ),
    **dict.fromkeys(("language", "lang"), LANGUAGE),
    **dict.fromkeys(
        ("phone", "phone number", "phone no", "telephone", "tel", "mobile", "mobile number", "mobile phone", "msisdn",
         "cell", "cell phone", "cellphone", "téléphone", "telefono", "teléfono", "telefone", "simu"),
        TEL,
    ),
    **dict.fromkeys(("email", "e mail", "mail", "e mail address", "email address"), f"{URN}:mailto"),
}  # fmt: skip
OURS = ("status", "groups", "created on", "modified on", "last seen on")
"""Columns of exports that nobody imports."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a file: its place from 1, its header, the first values below it, and what it means. `filled` counts
    its values; `numbers` and `dates` those that can be read so, `suggested` is the field that could be made of it.
    `unread` counts the values that the type of its field does not understand, `short_years` the dates whose year has
    two digits; some of both are shown."""

    place: int
    header: str
    examples: tuple[str, ...]
    target: str
    filled: int = 0
    numbers: int = 0
    dates: int = 0
    suggested: str | None = None
    unread: int = 0
    unread_examples: tuple[str, ...] = ()
    short_years: int = 0
    short_year_examples: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return self.header[:64] or f"column {self.place}"


class Choice(NamedTuple):
    """What people say of a column, which they name by its place or by a header that only one column has."""

    target: str
    header: str | None = None
    place: int | None = None


def guess_columns(tx: Transaction, workspace: Workspace, header: Row, survey: Survey, formats: Formats) -> list[Column]:
    """What the columns probably mean, by their headers, fields and values. Nothing is guessed twice, except URNs.
    Raises InvalidInput for a file without a header.
    """
    if not any(header):
        raise InvalidInput.on("file", "The first row must name the columns.")
    fields = tx.execute(select(field.c.key, field.c.name_key).where(field.c.workspace_id == workspace.id))
    known = {name: f"{FIELD}:{key}" for key, named in fields for name in (key.replace("_", " "), named)}
    width = max(len(header), len(survey.columns))
    headers = [*header, *[""] * (width - len(header))]
    values = [*survey.columns, *[Values() for _ in range(width - len(survey.columns))]]
    targets = [_guess(text, known) for text in headers]
    _look_at_values(tx, workspace, survey, headers, values, targets)
    found: list[Column] = []
    for place, (text, those, target) in enumerate(zip(headers, values, targets, strict=True), 1):
        taken = {each.target for each in found} - {IGNORE}
        is_twice = target in taken and not target.startswith(f"{URN}:")
        suggested = _suggest(text, place, survey.suggest_type(those)) if text or those.filled else None
        if target == NEW:
            assert suggested is not None
            target = suggested
            is_twice = any(_what_is_new(target) == _what_is_new(each.target) for each in found)
        counts = (those.filled, those.numbers[formats.decimal_sign], those.dates[formats.date_style])
        shown = tuple(each[:EXAMPLE_LENGTH] for each in those.sample[:EXAMPLES])
        column = Column(place, text, shown, IGNORE if is_twice else target, *counts, suggested)
        style = formats.date_style
        some = those.short.get(style, ())
        found.append(replace(column, short_years=those.short_years[style], short_year_examples=some))
    return found


def _guess(header: str, known: Mapping[str, str]) -> str:
    """What a header alone says; NEW for a field of an export that is not here."""
    kind, sign, rest = header.partition(":")
    words = " ".join(re.split(r"[\s_\-.]+", name_key(rest if sign else header).strip())).strip()
    if sign and name_key(kind.strip()) == URN:
        return f"{URN}:{words}" if words in SCHEMES else IGNORE
    if sign and name_key(kind.strip()) == FIELD:
        return known.get(words) or known.get(make_key(words).replace("_", " ")) or NEW
    if words in OURS:
        return IGNORE
    bare = re.sub(r"\s*\d+$", "", words)
    return GUESSES.get(words) or known.get(words) or (f"{URN}:{words}" if words in SCHEMES else None) or (
        TEL if GUESSES.get(bare) == TEL else IGNORE
    )  # fmt: skip


def _look_at_values(
    tx: Transaction, workspace: Workspace, survey: Survey, headers: Row, values: Sequence[Values], targets: list[str]
) -> None:
    """Corrects what the headers say by what stands below them."""
    has_tel = any(target == TEL for target in targets)
    for place, (text, those) in enumerate(zip(headers, values, strict=True)):
        words = " ".join(re.split(r"[\s_\-.]+", name_key(text).strip())).strip()
        if targets[place] == UUID and those.filled and not survey.looks_like_uuids(those):
            targets[place] = IGNORE
        if targets[place] == IGNORE and words in PERHAPS_PHONE and not has_tel and survey.looks_like_phones(those):
            targets[place] = TEL
        elif targets[place] == IGNORE and words in ("contact", "contacts") and those.filled:
            if survey.looks_like_uuids(those):
                targets[place] = UUID
            elif NAME not in targets and not most(those.numbers):
                targets[place] = NAME
    if NAME in targets:
        targets[:] = [IGNORE if each in (FIRST, LAST) else each for each in targets]
    elif LAST in targets and FIRST not in targets:
        targets[:] = [NAME if each == LAST else each for each in targets]
    elif FIRST in targets and LAST not in targets:
        targets[:] = [NAME if each == FIRST else each for each in targets]
    _find_addresses(survey, values, targets)
    has_urns = any(each.startswith(f"{URN}:") for each in targets)
    if UUID in targets and has_urns and not _are_known(tx, workspace, values[targets.index(UUID)]):
        targets[:] = [IGNORE if each == UUID else each for each in targets]


def _find_addresses(survey: Survey, values: Sequence[Values], targets: list[str]) -> None:
    """In a file whose headers name no address, the first column whose values are phone numbers."""
    if UUID in targets or any(each.startswith(f"{URN}:") for each in targets):
        return
    for place, those in enumerate(values):
        if targets[place] == IGNORE and survey.looks_like_phones(those):
            targets[place] = TEL
            return


def _are_known(tx: Transaction, workspace: Workspace, those: Values) -> bool:
    """Whether contacts of this workspace have some of these UUIDs; those of another one mean nobody."""
    uuids = sorted({each.lower() for each in those.sample[:SAMPLE]})
    return not uuids or bool(find_ids(tx, workspace.id, contact, uuids))


def _suggest(header: str, place: int, kind: str) -> str:
    return f"{NEW}:{clean_field_name(header, place)}:{kind}"


def _what_is_new(target: str) -> str | None:
    """What two new fields have in common that would be one."""
    kind, _, rest = target.partition(":")
    name = rest.rpartition(":")[0]
    return None if kind != NEW else make_key(name) if name.isascii() else name_key(name)


def clean_field_name(header: str, place: int = 0) -> str:
    """The name of a field that is made of a column: what may be in one of its header."""
    kind, sign, rest = header.partition(":")
    text = clean(rest if sign and name_key(kind.strip()) == FIELD else header)
    words = "".join(each if _is_of_name(each) else " " for each in text).split()
    name = " ".join(words).strip(" -")[:FIELD_NAME_LENGTH].strip(" -")
    return name or f"Column {place}"


def _is_of_name(letter: str) -> bool:
    return letter.isalnum() or letter in f"-{JOINERS}" or unicodedata.category(letter)[0] == "M"


def choose_targets(columns: Sequence[Column], chosen: Iterable[Choice]) -> list[Column]:
    """The columns with the targets that people chose; the others keep theirs. Raises InvalidInput for a column that the
    file does not have, a header of several columns, and for targets that cannot stand together.
    """
    targets = {_find_place(columns, choice): choice.target for choice in chosen}
    found = [
        replace(each, target=targets[each.place], unread=0, unread_examples=()) if each.place in targets else each
        for each in columns
    ]
    for each in found:
        _check_target(each.target)
    single = [each.target for each in found if each.target != IGNORE and not each.target.startswith(f"{URN}:")]
    twice = next((target for target in single if single.count(target) > 1), None)
    if twice is not None:
        raise InvalidInput.on("columns", f"Two columns cannot both be {twice}.")
    if NAME in single and (FIRST in single or LAST in single):
        raise InvalidInput.on("columns", "Columns are the name, or first and last name, not both.")
    if not any(each.target == UUID or each.target.startswith(f"{URN}:") for each in found):
        there = _listed(found)
        raise InvalidInput.on(
            "columns", f'One column must be the UUID or a URN, such as "Phone". The file has {there}.'
        )
    return found


def _find_place(columns: Sequence[Column], choice: Choice) -> int:
    """Raises InvalidInput."""
    if choice.place is not None:
        named = [each for each in columns if each.place == choice.place]
        if not named or choice.header not in (None, named[0].header):
            raise InvalidInput.on("columns", f"The file has no column {choice.place} of this header.")
        return choice.place
    named = [each for each in columns if each.header == choice.header]
    if not named:
        raise InvalidInput.on("columns", f'The file has no column "{(choice.header or "")[:64]}".')
    if len(named) > 1 and len({choice.target, *(each.target for each in named)}) > 1:
        places = ", ".join(str(each.place) for each in named)
        called = f'The columns {places} are all called "{named[0].header[:64]}": say which by place.'
        raise InvalidInput.on("columns", called)
    return named[0].place


def _listed(columns: Sequence[Column]) -> str:
    """The headers of a file, as far as people read them."""
    shown = ", ".join(f'"{each.header[:32]}"' for each in columns[:SHOWN])
    return f"{shown} and {len(columns) - SHOWN} more" if len(columns) > SHOWN else shown


def _check_target(target: str) -> None:
    """Raises InvalidInput for a text that is no target."""
    kind, sign, rest = target.partition(":")
    if not sign and target in SINGLE:
        return
    if kind == URN and rest in SCHEMES:
        return
    if kind == FIELD and rest:
        return
    if kind == NEW:
        read_new(rest)
        return
    raise InvalidInput.on("columns", f'"{target[:64]}" is not what a column can be.')


def read_new(text: str) -> tuple[str, str]:
    """The name and type of a new field. Raises InvalidInput."""
    name, sign, kind = text.rpartition(":")
    if sign and kind in TYPES:
        return _read_name(name), kind
    if sign:
        raise InvalidInput.on("columns", f"A field has one of the types {', '.join(TYPES)}.")
    return _read_name(text), "text"


def _read_name(name: str) -> str:
    """Raises InvalidInput, with a name that would do."""
    try:
        return check_field_name(name)
    except InvalidInput as error:
        raise InvalidInput.on(
            "columns", f'"{name[:64]}" cannot be the name of a field; "{clean_field_name(name)}" can.'
        ) from error


def make_fields(tx: Transaction, workspace: Workspace, columns: Sequence[Column]) -> list[Column]:
    """The columns with the fields that `new:` asks for, which are made unless they exist. Raises InvalidInput for a
    field that does not exist or cannot be made, LimitReached at the workspace's limit.
    """
    rows = tx.execute(select(field.c.key, field.c.name_key).where(field.c.workspace_id == workspace.id)).all()
    known = {key for key, _ in rows}
    named = {name: key for key, name in rows}
    found = []
    for each in columns:
        kind, _, rest = each.target.partition(":")
        if kind == FIELD and rest not in known:
            raise InvalidInput.on("columns", f'No contact field "{rest[:36]}".')
        if kind != NEW:
            found.append(each)
            continue
        name, type_ = read_new(rest)
        made = make_key(name) if name.isascii() else ""
        key = named.get(name_key(name)) or (made if made in known else None)
        if key is None:
            key = make_free_key(name, known)
            try:
                create_field(tx, workspace.id, name, type_, key=key)
            except LimitReached as error:
                raise InvalidInput.on("columns", str(error)) from error
            known.add(key)
            named[name_key(name)] = key
        found.append(replace(each, target=f"{FIELD}:{key}"))
    twice = [each.target for each in found if each.target.startswith(f"{FIELD}:")]
    if len(twice) > len(set(twice)):
        raise InvalidInput.on("columns", "Two columns cannot both be the same field.")
    return found


def find_kinds(tx: Transaction, workspace: Workspace, columns: Sequence[Column]) -> list[str]:
    """The type of the field that each column fills or makes; an empty text for other columns."""
    types = select(field.c.key, field.c.type).where(field.c.workspace_id == workspace.id)
    known = {f"{FIELD}:{key}": kind for key, kind in tx.execute(types)}
    return [
        read_new(each.target.removeprefix(f"{NEW}:"))[1]
        if each.target.startswith(f"{NEW}:")
        else known.get(each.target, "")
        for each in columns
    ]


def add_unread(columns: Sequence[Column], outcomes: Iterable[Outcome]) -> list[Column]:
    """The columns with the values of rows that their fields did not understand."""
    texts: dict[str, list[str]] = {}
    for outcome in outcomes:
        for key, text in outcome.unread:
            texts.setdefault(f"{FIELD}:{key}", []).append(text)
    return [
        replace(
            each,
            unread=each.unread + len(texts[each.target]),
            unread_examples=give_examples([*each.unread_examples, *texts[each.target]]),
        )
        if each.target in texts
        else each
        for each in columns
    ]


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
            return f"{column.title}: A cell may have {CELL_LENGTH} characters; the rest is cut here."
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
    parts = [single[each] for each in (FIRST, LAST) if each in single]
    return ContactRow(
        number,
        uuid=single.get(UUID) or None,
        name=" ".join(filter(None, parts)) if parts else single.get(NAME),
        language=single.get(LANGUAGE),
        urns=tuple(dict.fromkeys(urns)),
        fields=fields,
    )
