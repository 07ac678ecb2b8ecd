"""Texts of a flow for translators as a spreadsheet: the rows of `flows.translation_files`, as CSV or as a workbook."""

from collections.abc import Iterator, Sequence
from typing import BinaryIO

from flows.translation_files import MOST_CHARACTERS, Row, TranslationFileError
from persistence.contact_imports.plain_files import BadFile
from persistence.contact_imports.reading import ReaderDied, opened_rows
from persistence.exports.kinds import CsvSheet, XlsxSheet, unguard

KEY, TEXT, TRANSLATION = "key", "text", "translation"
COLUMNS = (KEY, "where", TEXT, TRANSLATION)
SHEETS = {".csv": CsvSheet, ".xlsx": XlsxSheet}


def write_sheet(file: BinaryIO, rows: Sequence[Row], suffix: str) -> None:
    """Writes rows as a file with this suffix. Nothing in it is calculated by spreadsheets."""
    sheet = SHEETS[suffix](file)
    sheet.write(COLUMNS)
    for row in rows:
        sheet.write((row.key, row.where, row.text, row.translation))
    sheet.close()


def read_sheet(file: BinaryIO) -> list[Row]:
    """The rows of a CSV file or workbook, by the names of its columns; raises TranslationFileError."""
    try:
        with opened_rows(file) as rows:
            return list(_read(rows))
    except BadFile as error:
        raise TranslationFileError(str(error)) from error
    except ReaderDied as error:
        raise TranslationFileError("the file cannot be read") from error


def _read(rows: Iterator[list[str]]) -> Iterator[Row]:
    names = [name.strip().lower() for name in next((row for row in rows if row), [])]
    missing = [name for name in (KEY, TEXT, TRANSLATION) if name not in names]
    if missing:
        raise TranslationFileError(f"the file has no column {missing[0]}")
    read = 0
    for row in rows:
        cells = dict(zip(names, row, strict=False))
        read += sum(len(cell) for cell in row)
        if read > MOST_CHARACTERS:
            raise TranslationFileError(f"a file has at most {MOST_CHARACTERS} characters")
        if cells.get(KEY, "").strip():
            yield Row(cells[KEY].strip(), "", unguard(cells.get(TEXT, "")), unguard(cells.get(TRANSLATION, "")))
