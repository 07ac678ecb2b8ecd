"""What can be exported: the list of each kind, its filters, how its records become rows, and the files to which these
are written one by one: CSV, XLSX and JSON Lines. A text that a spreadsheet would take for a formula is written so that
it is only a text (docs/decisions-data.md).
"""

import codecs
import csv
import io
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO

import orjson
from sqlalchemy import func, select

from persistence.contacts.records import CONTACTS
from persistence.database import Transaction
from persistence.errors import InvalidInput, RuleBroken
from persistence.lists import ListQuery, ListSpec
from persistence.messages.records import MESSAGES
from persistence.runs.records import RUNS
from persistence.sql.columns import is_uuid
from persistence.tables.contacts import contact_urn, field
from persistence.tables.flows import flow
from persistence.tickets.records import TICKETS
from persistence.workspaces.records import Workspace

Record = Mapping[str, Any]

Cells = Sequence[str | float | None]
RowOf = Callable[[Record], Cells]
TIMES = ("after", "before")
FILTERS = ("query", "group", "folder", "flow", *TIMES)
SEVERAL = "; "

CSV, XLSX, JSONL = "csv", "xlsx", "jsonl"
SIGNS = "=+-@"
BLANK = re.compile(
    r"[\s\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]*"
)
"""What spreadsheets and their imports may take away at the beginning of a cell: white space, control characters, and
characters without width."""
PLAIN_NUMBER = re.compile(r"[+\-]?[0-9]+(?:[.,][0-9]+)?\Z")
CLEARED = "--"
"""A cell with this text clears what a contact has when its file is imported; an empty cell changes nothing."""
DASHES = re.compile(r"'*--")
ROWS_OF_SHEET = 1_048_576


@dataclass(frozen=True, slots=True)
class Columns:
    """The header of a sheet, and the row of a record below it."""

    header: Sequence[str]
    row_of: RowOf


@dataclass(frozen=True, slots=True)
class ExportKind:
    """`area` is that of the records. `filters` are parameters of the list that an export may have; `lay_out` reads what
    the columns depend on.
    """

    area: str
    spec: ListSpec
    filters: tuple[str, ...]
    lay_out: Callable[[Transaction, Workspace, Mapping[str, Any]], Columns]


def read_filters(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The filters of an export as they are stored. Raises InvalidInput for one that this kind does not have."""
    known = KINDS[kind].filters
    for name in given:
        if name not in known:
            raise InvalidInput.on(name, f"An export of {kind} has no such filter.")
    return dict(given)


def query_of(tx: Transaction, workspace: Workspace, filters: Mapping[str, Any]) -> ListQuery:
    """The list request of stored filters."""
    values = {name: datetime.fromisoformat(value) if name in TIMES else value for name, value in filters.items()}
    return ListQuery(tx, workspace, values)


def _contacts(tx: Transaction, workspace: Workspace, _filters: Mapping[str, Any]) -> Columns:
    """A column for each field, and as many for each scheme as the contact with most URNs of it needs: such a file
    can be imported again.
    """
    known = select(field.c.key, field.c.name).where(field.c.workspace_id == workspace.id).order_by(field.c.id)
    fields = [(key, name) for key, name in tx.execute(known)]
    schemes = [] if workspace.is_anonymous else _count_schemes(tx, workspace.id)
    header = ["Contact UUID", "Name", "Language", "Status", "Groups", "Created On", "Last Seen On"]
    header += [f"URN:{scheme}" for scheme, most in schemes for _ in range(most)]
    header += [f"Field:{name}" for _, name in fields]

    def row_of(record: Record) -> Cells:
        of_scheme: dict[str, list[str]] = {}
        for urn in record["urns"]:
            scheme, _, path = urn.partition(":")
            of_scheme.setdefault(scheme, []).append(path)
        cells = [record[name] for name in ("uuid", "name", "language", "status")]
        cells += [SEVERAL.join(each["name"] for each in record["groups"]), record["created_on"], record["last_seen_on"]]
        for scheme, most in schemes:
            paths = of_scheme.get(scheme, [])[:most]
            cells += [*paths, *[None] * (most - len(paths))]
        return [*cells, *(record["fields"].get(key) for key, _ in fields)]

    return Columns(header, row_of)


def _messages(_tx: Transaction, _workspace: Workspace, _filters: Mapping[str, Any]) -> Columns:
    header = ["Created On", "Message UUID", "Contact UUID", "Contact Name", "URN", "Direction", "Type", "Text"]
    header += ["Attachments", "Status", "Visibility", "Channel", "Flow", "Labels", "Sent On"]
    header += ["Failed Reason", "Failed Detail"]

    def row_of(record: Record) -> Cells:
        attachments = SEVERAL.join(str(each["url"]) for each in record["attachments"])
        labels = SEVERAL.join(each["name"] for each in record["labels"])
        return [
            record["created_on"],
            record["uuid"],
            record["contact"]["uuid"],
            record["contact"]["name"],
            record["urn"],
            record["direction"],
            record["type"],
            record["text"],
            attachments,
            record["status"],
            record["visibility"],
            _name(record["channel"]),
            _name(record["flow"]),
            labels,
            record["sent_on"],
            record["failed_reason"],
            record["failed_detail"],
        ]

    return Columns(header, row_of)


def _runs(tx: Transaction, workspace: Workspace, filters: Mapping[str, Any]) -> Columns:
    """Two columns for each result of the flows, its value and its category; results that no flow saves any more are in
    the last column.
    """
    mine = flow.c.workspace_id == workspace.id
    named = filters.get("flow")
    if named is not None:
        mine &= flow.c.uuid == named if is_uuid(named) else flow.c.id < 0
    names: dict[str, str] = {}
    for results in tx.execute(select(flow.c.results).where(mine).order_by(flow.c.id)).scalars():
        for each in results:
            names.setdefault(each["key"], each["name"])
    header = ["Run UUID", "Contact UUID", "Contact Name", "URN", "Flow", "Responded", "Exit Type"]
    header += ["Created On", "Modified On", "Exited On"]
    header += [text for name in names.values() for text in (f"Result:{name}", f"Category:{name}")]
    header.append("Other Results")

    def row_of(record: Record) -> Cells:
        values = record["values"]
        cells = [record["uuid"], record["contact"]["uuid"], record["contact"]["name"], record["contact"]["urn"]]
        cells += [_name(record["flow"]), _text(record["responded"]), record["exit_type"]]
        cells += [record["created_on"], record["modified_on"], record["exited_on"]]
        for key in names:
            result = values.get(key) or {}
            cells += [_text(result.get("value")), _text(result.get("category"))]
        others = {key: each.get("value") for key, each in values.items() if key not in names}
        return [*cells, _text(others) if others else None]

    return Columns(header, row_of)


def _tickets(_tx: Transaction, _workspace: Workspace, _filters: Mapping[str, Any]) -> Columns:
    header = ["Ticket UUID", "Contact UUID", "Contact Name", "Status", "Topic", "Assignee", "Opened On", "Opened By"]
    header += ["Opened In", "Modified On", "Closed On"]

    def row_of(record: Record) -> Cells:
        cells = [record["uuid"], record["contact"]["uuid"], record["contact"]["name"], record["status"]]
        cells += [_name(record[name]) for name in ("topic", "assignee")]
        cells += [record["opened_on"], _name(record["opened_by"]), _name(record["opened_in"])]
        return [*cells, record["modified_on"], record["closed_on"]]

    return Columns(header, row_of)


KINDS = {
    "contacts": ExportKind("contacts", CONTACTS, ("query", "group", *TIMES), _contacts),
    "messages": ExportKind("messages", MESSAGES, ("folder", *TIMES), _messages),
    "runs": ExportKind("flows", RUNS, ("flow", *TIMES), _runs),
    "tickets": ExportKind("tickets", TICKETS, (), _tickets),
}


class SheetFull(RuleBroken):
    """A workbook has no room for another row."""


def defuse(text: str) -> str:
    """A text for a CSV file: with an apostrophe before what a spreadsheet would calculate, and before one that
    `restore` would take for ours. Numbers stay as they are."""
    is_formula = _may_calculate(text) and not PLAIN_NUMBER.match(text)
    return f"'{text}" if is_formula or _is_guarded(text) else text


def restore(text: str) -> str:
    """The text that `defuse` was given."""
    return text[1:] if _is_guarded(text) else text


def guard(text: str) -> str:
    """A text for a workbook: with an apostrophe before dashes that would clear when they are imported."""
    return f"'{text}" if DASHES.fullmatch(text) else text


def unguard(text: str) -> str:
    """The text that `guard` was given."""
    return text[1:] if text.startswith("'") and DASHES.fullmatch(text) else text


def restore_cell(text: str) -> str:
    """A cell of a CSV file as that of a workbook: dashes that clear are told from the text by the apostrophe alone."""
    return text if DASHES.fullmatch(text) else restore(text)


def defuse_cell(text: str) -> str:
    """The cell that `restore_cell` was given."""
    return text if DASHES.fullmatch(text) else defuse(text)


class Sheet(ABC):
    """A file of rows, or of JSON records; `close` ends it."""

    @abstractmethod
    def write(self, cells: Cells) -> None: ...

    @abstractmethod
    def close(self) -> None: ...


class CsvSheet(Sheet):
    """UTF-8 with a byte order mark, by which spreadsheets recognize it."""

    def __init__(self, file: BinaryIO, escape: Callable[[str], str] = defuse) -> None:
        self._file = file
        self._escape = escape
        self._line = io.StringIO(newline="")
        self._writer = csv.writer(self._line)
        file.write(codecs.BOM_UTF8)

    def write(self, cells: Cells) -> None:
        self._writer.writerow([self._escape(cell) if isinstance(cell, str) else cell for cell in cells])
        self._file.write(self._line.getvalue().encode())
        self._line.seek(0)
        self._line.truncate()

    def close(self) -> None:
        self._file.flush()


class XlsxSheet(Sheet):
    """Rows go to a temporary file at once, so that memory stays flat. All texts are cells of type text, which nothing
    calculates."""

    def __init__(self, file: BinaryIO) -> None:
        import xlsxwriter  # noqa: PLC0415  # it loads much, and other formats need none of it

        options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
        self._workbook = xlsxwriter.Workbook(file, options)
        self._sheet = self._workbook.add_worksheet()
        self._row = 0

    def write(self, cells: Cells) -> None:
        """Raises SheetFull."""
        if self._row >= ROWS_OF_SHEET:
            raise SheetFull(f"A sheet has {ROWS_OF_SHEET} rows: choose another format, or fewer records.")
        for column, cell in enumerate(cells):
            if isinstance(cell, (int, float)):
                self._sheet.write_number(self._row, column, cell)
            elif cell:
                # XlsxWriter cuts a text to the 32,767 characters that a cell may have.
                self._sheet.write_string(self._row, column, guard(cell))
        self._row += 1

    def close(self) -> None:
        self._workbook.close()


def _text(value: Any) -> str | int | None:
    if value is None or (isinstance(value, (str, int)) and not isinstance(value, bool)):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return orjson.dumps(value).decode()


def _name(reference: Record | None) -> str | None:
    return None if reference is None else reference.get("name") or reference.get("email") or ""


def _count_schemes(tx: Transaction, workspace_id: int) -> list[tuple[str, int]]:
    """The schemes of a workspace, and how many URNs of it one contact has at most."""
    rows = contact_urn.c
    mine = (rows.workspace_id == workspace_id) & rows.contact_id.is_not(None)
    counted = select(rows.scheme, func.count().label("number")).where(mine).group_by(rows.contact_id, rows.scheme)
    each = counted.subquery()
    most = select(each.c.scheme, func.max(each.c.number)).group_by(each.c.scheme).order_by(each.c.scheme)
    return [(scheme, number) for scheme, number in tx.execute(most)]


def _may_calculate(text: str) -> bool:
    """Whether a spreadsheet may take a text for a formula: its first visible character is a sign, in whatever width, or
    the text begins with a tab or a carriage return."""
    if text[:1] in ("\t", "\r"):
        return True
    begin = BLANK.match(text)
    first = text[begin.end() :][:1] if begin is not None else ""
    return first == "\u2212" or unicodedata.normalize("NFKC", first)[:1] in (*SIGNS,)


def _is_guarded(text: str) -> bool:
    return text.startswith("'") and _may_calculate(text.lstrip("'"))
