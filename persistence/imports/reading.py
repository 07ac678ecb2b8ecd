"""The rows of a file: a workbook, of which the first sheet counts, or a CSV file. Cells are texts; `--` clears, and
`'--` is the text with these dashes."""

import contextlib
import csv
import io
import zipfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from typing import BinaryIO

from python_calamine import CalamineError, CalamineWorkbook

from persistence.exports.sheets import restore_cell

ZIP = b"PK\x03\x04"
WORKBOOKS = (ZIP, b"\xd0\xcf\x11\xe0")
"""How XLSX and ODS files begin, and how XLS files do."""
LARGEST_UNPACKED_BYTES = 500 * 1024 * 1024
COLUMNS_LIMIT = 500
CELL_LENGTH = 10_000
SAMPLE_BYTES = 64 * 1024
ENCODINGS = ("utf-8-sig", "cp1252")
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
DELIMITERS = ",;\t|"

Row = list[str]


class BadFile(ValueError):
    """A file that cannot be read; the text is for people."""


@contextmanager
def opened_rows(file: BinaryIO) -> Iterator[Iterator[Row]]:
    """The rows of a file in their order, with the header first; empty rows are empty lists. CSV is read piece by piece;
    of a workbook the sheet is in memory. Raises BadFile.
    """
    beginning = file.read(4)
    file.seek(0)
    rows = _sheet_rows(file) if beginning in WORKBOOKS else _csv_rows(file)
    try:
        with contextlib.closing(rows):
            yield rows
    except csv.Error as error:
        raise BadFile(f"This is not a CSV file: {error}.") from error
    except UnicodeDecodeError as error:
        raise BadFile("This CSV file is not in UTF-8, UTF-16 or Windows-1252.") from error
    except (CalamineError, zipfile.BadZipFile) as error:
        raise BadFile("This is not a workbook that can be read.") from error


def _csv_rows(file: BinaryIO) -> Generator[Row, None, None]:
    sample = file.read(SAMPLE_BYTES)
    file.seek(0)
    encoding = _encoding_of(file, sample)
    file.seek(0)
    text = io.TextIOWrapper(file, encoding, newline="")
    delimiter = _delimiter_of(sample.decode(encoding, "replace"))
    try:
        for row in csv.reader(text, delimiter=delimiter):
            yield _trimmed([restore_cell(cell.strip()) for cell in row])
    finally:
        text.detach()


def _encoding_of(file: BinaryIO, sample: bytes) -> str:
    """UTF-16 with a mark, otherwise UTF-8, otherwise what old spreadsheets write. The whole file decides, in pieces."""
    if sample.startswith(UTF_16_MARKS):
        return "utf-16"
    reader = io.TextIOWrapper(file, ENCODINGS[0], newline="")
    try:
        while reader.read(1 << 20):
            pass
    except UnicodeDecodeError:
        return ENCODINGS[1]
    finally:
        reader.detach()
    return ENCODINGS[0]


def _delimiter_of(sample: str) -> str:
    """The delimiter that the first line has most often outside of quotes."""
    line = next((each for each in sample.splitlines() if each.strip()), "")
    bare = "".join(line.split('"')[::2])
    return max(DELIMITERS, key=bare.count)


def _sheet_rows(file: BinaryIO) -> Generator[Row, None, None]:
    if file.read(4) == ZIP:
        with zipfile.ZipFile(file) as packed:
            if sum(each.file_size for each in packed.infolist()) > LARGEST_UNPACKED_BYTES:
                raise BadFile(f"Unpacked, a workbook may have {LARGEST_UNPACKED_BYTES // 1024**2} MiB.")
    file.seek(0)
    with CalamineWorkbook.from_filelike(file) as workbook:
        sheet = workbook.get_sheet_by_index(0)
        skipped = 0 if sheet.start is None else sheet.start[0]
        for _ in range(skipped):
            yield []
        for row in sheet.iter_rows():
            yield _trimmed([_text_of(cell) for cell in row])


def _text_of(cell: object) -> str:
    """A cell as people would have typed it: whole numbers without a decimal point, dates in ISO 8601."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell)
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(sep=" ")
    if isinstance(cell, (date, time, timedelta)):
        return str(cell)
    return str(cell).strip()


def _trimmed(row: Row) -> Row:
    """Without empty cells at the end. Raises BadFile for a row or a cell that is too long."""
    while row and not row[-1]:
        row.pop()
    if len(row) > COLUMNS_LIMIT:
        raise BadFile(f"A file may have {COLUMNS_LIMIT} columns.")
    if any(len(cell) > CELL_LENGTH for cell in row):
        raise BadFile(f"A cell may have {CELL_LENGTH} characters.")
    return row
