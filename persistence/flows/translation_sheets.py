"""Texts of a flow for translators as files: the rows of `flows.translation_files` as PO, as CSV or as a workbook."""

import io
from collections.abc import Iterator, Sequence
from threading import BoundedSemaphore

from flows.definition import Flow
from flows.translation_files import MOST_CHARACTERS, MOST_ROWS, Row, TranslationFileError, read_po, write_po
from persistence.contact_imports.plain_files import BadFile
from persistence.contact_imports.reading import ReaderDied, opened_rows
from persistence.errors import LimitReached
from persistence.exports.kinds import CsvSheet, XlsxSheet, unguard

KEY, TEXT, TRANSLATION = "key", "text", "translation"
COLUMNS = (KEY, "where", TEXT, TRANSLATION)
PO, CSV, XLSX = FORMATS = ("po", "csv", "xlsx")
_SHEETS = {CSV: CsvSheet, XLSX: XlsxSheet}
_CPU_SECONDS = 5
_places = BoundedSemaphore(2)
"""Of workbooks that this process has read at the same time: each may take as much memory as an import of contacts."""
_PATIENCE_SECONDS = 10.0


def write_texts(flow: Flow, language: str, rows: Sequence[Row], kind: str) -> bytes:
    """Texts of a flow as a file of one of FORMATS. Nothing in it is calculated by spreadsheets."""
    if kind == PO:
        return write_po(flow, language, rows).encode()
    file = io.BytesIO()
    sheet = _SHEETS[kind](file)
    sheet.write(COLUMNS)
    for row in rows:
        sheet.write((row.key, row.where, row.text, row.translation))
    sheet.close()
    return file.getvalue()


def read_texts(content: bytes, kind: str) -> list[Row]:
    """The rows of a file of one of FORMATS; those of a CSV file or workbook by the names of their columns. Raises
    TranslationFileError, and LimitReached while too many files are read.
    """
    if kind == PO:
        try:
            return read_po(content.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise TranslationFileError("the file is not in UTF-8") from error
    if not _places.acquire(timeout=_PATIENCE_SECONDS):
        raise LimitReached("Other files are being read at the moment: try again.")
    try:
        with opened_rows(io.BytesIO(content), cpu_seconds=_CPU_SECONDS) as rows:
            return list(_read(rows))
    except BadFile as error:
        raise TranslationFileError(str(error)) from error
    except ReaderDied as error:
        raise TranslationFileError("the file cannot be read, or takes too long") from error
    finally:
        _places.release()


def _read(rows: Iterator[list[str]]) -> Iterator[Row]:
    names = [name.strip().lower() for name in next((row for row in rows if row), [])]
    missing = [name for name in (KEY, TEXT, TRANSLATION) if name not in names]
    if missing:
        raise TranslationFileError(f"the file has no column {missing[0]}")
    read = found = 0
    for row in rows:
        cells = dict(zip(names, row, strict=False))
        read += sum(len(cell) for cell in row)
        found += bool(cells.get(KEY, "").strip())
        if read > MOST_CHARACTERS or found > MOST_ROWS:
            raise TranslationFileError(f"a file has at most {MOST_ROWS} texts with {MOST_CHARACTERS} characters")
        if cells.get(KEY, "").strip():
            yield Row(cells[KEY].strip(), "", unguard(cells.get(TEXT, "")), unguard(cells.get(TRANSLATION, "")))
