"""Files that are written row by row: CSV, XLSX and JSON Lines. A text that a spreadsheet would take for a formula is
written so that it is only a text (docs/decisions-data.md)."""

import codecs
import csv
import io
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import BinaryIO

from persistence.errors import RuleBroken

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

Cells = Sequence[str | int | None]


class SheetFull(RuleBroken):
    """A workbook has no room for another row."""


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
            if isinstance(cell, int):
                self._sheet.write_number(self._row, column, cell)
            elif cell:
                # XlsxWriter cuts a text to the 32,767 characters that a cell may have.
                self._sheet.write_string(self._row, column, guard(cell))
        self._row += 1

    def close(self) -> None:
        self._workbook.close()
