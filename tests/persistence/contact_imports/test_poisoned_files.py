"""Files that were made to end or to stop who reads them: each is refused, or read in bounded memory, in a short time,
and whatever happens to the process that reads one, the others go on."""

import io
import random
import signal
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import xlsxwriter

from persistence.contact_imports import reader, reading
from persistence.contact_imports.contact_imports import create_import
from persistence.contact_imports.reading import COLUMNS_LIMIT, BadFile, ReaderDied, opened_rows
from persistence.data_jobs import Performer, take_next
from persistence.database import Database
from persistence.leases import MOST_ATTEMPTS
from persistence.media.store import FolderStore
from persistence.tables.data_jobs import contact_import
from persistence.workspaces.records import Workspace
from tests.thinned import EVERY_CASE

SHEET = "xl/worksheets/sheet1.xml"
TEXTS = "xl/sharedStrings.xml"
BOMB = (
    b'<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    b'<worksheet><sheetData><row r="1"><c r="A1" t="str"><v>&b;</v></c></row></sheetData></worksheet>'
)
MEGABYTE = 1024 * 1024
NOISE = random.Random(7).randbytes(4000)


@pytest.fixture
def replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a program in place of the one that reads files."""

    def replace(text: str) -> None:
        (tmp_path / "program.py").write_text(text)
        monkeypatch.setattr(reading, "PROGRAM", tmp_path / "program.py")

    return replace


def make_book(fill: Callable[[xlsxwriter.worksheet.Worksheet], None] | None = None) -> bytes:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["Phone", "Name"])
        sheet.write_row(1, 0, ["+250788000111", "Amina"])
        if fill is not None:
            fill(sheet)
    return file.getvalue()


def with_part(name: str, content: bytes, whole: bytes | None = None) -> bytes:
    """A workbook of which one part is another."""
    made = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(whole or make_book())) as book,
        zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as changed,
    ):
        for each in book.namelist():
            changed.writestr(each, content if each == name else book.read(each))
    return made.getvalue()


def rows_of(sheet: str) -> bytes:
    return f"<worksheet><sheetData>{sheet}</sheetData></worksheet>".encode()


REFUSED: dict[str, Callable[[], bytes]] = {
    "entities": lambda: with_part(SHEET, BOMB),
    "entities in texts": lambda: with_part(TEXTS, BOMB),
    "entities in the workbook": lambda: with_part("xl/workbook.xml", BOMB),
    "entities in styles": lambda: with_part("xl/styles.xml", BOMB),
    "a row behind the last": lambda: with_part(SHEET, rows_of('<row r="99999999999"><c r="A1"><v>1</v></c></row>')),
    "a row that goes back": lambda: with_part(SHEET, rows_of('<row r="9"/><row r="2"/>')),
    "a row that is no number": lambda: with_part(SHEET, rows_of('<row r="x"/>')),
    "a cell at no place": lambda: with_part(SHEET, rows_of('<row r="1"><c r="12"><v>1</v></c></row>')),
    "a text that is not there": lambda: with_part(
        SHEET, rows_of('<row r="1"><c r="A1" t="s"><v>12345678</v></c></row>')
    ),
    "a tag that never ends": lambda: with_part(SHEET, b'<worksheet a="' + b"x" * 60 * MEGABYTE),
    "tags in tags": lambda: with_part(SHEET, b"<a>" * 1_000_000),
    "no XML": lambda: with_part(SHEET, NOISE),
    "an empty sheet": lambda: with_part(SHEET, b""),
    "no workbook": lambda: b"PK\x03\x04 nothing",
    "an old workbook that is none": lambda: b"\xd0\xcf\x11\xe0" + NOISE,
    "an endless line": lambda: b"x" * 20 * MEGABYTE,
    "a quotation mark that never ends": lambda: b'Phone,Name\n1,"Amina\n2,Ben\n3,Cy\n',
    "a broken encoding": lambda: "Phone;Name\n1;é".encode("utf-16")[:-1],
}
"""Made when they are read: some are large."""


@pytest.mark.parametrize("name", REFUSED)
def test_a_poisoned_file_is_refused_with_a_sentence(name: str) -> None:
    with pytest.raises(BadFile, match=r"\w.*[.:]"), opened_rows(io.BytesIO(REFUSED[name]())) as rows:
        list(rows)


def test_a_directory_with_another_byte_gives_rows_or_a_sentence() -> None:
    book = make_book()
    first = book.find(b"PK\x01\x02")
    refused = 0
    for place in range(first, len(book), 23 if EVERY_CASE else 41):
        spoiled = bytearray(book)
        spoiled[place] ^= 0x20
        try:
            with opened_rows(io.BytesIO(bytes(spoiled))) as rows:
                assert [row[:1] for row in rows] == [["Phone"], ["+250788000111"]]
        except BadFile:
            refused += 1
    assert refused > 3


@pytest.mark.parametrize("number", ["\u00b2", "\U0001ccf0"])
def test_a_number_in_signs_that_are_no_digits_is_a_text(number: str) -> None:
    styles = (
        "<styleSheet><numFmts><numFmt numFmtId='170' formatCode='000'/></numFmts><cellXfs>"
        f"<xf numFmtId='{number}'/><xf numFmtId='{'9' * 5000}'/><xf numFmtId='170'/></cellXfs></styleSheet>"
    )
    cells = "".join(f'<c r="{letter}1" s="{style}"><v>{number}</v></c>' for style, letter in enumerate("ABC"))
    book = with_part("xl/styles.xml", styles.encode(), with_part(SHEET, rows_of(f'<row r="1">{cells}</row>')))

    with opened_rows(io.BytesIO(book)) as rows:
        assert list(rows) == [[number] * 3]


def test_a_stray_cell_costs_nothing_and_refuses_only_its_row() -> None:
    book = make_book(lambda sheet: sheet.write(1_048_575, 16_383, "stray"))

    with opened_rows(io.BytesIO(book)) as rows:
        count, filled = 0, []
        for row in rows:
            count += 1
            filled += [row] if row else []
    assert count == 1_048_576
    assert filled[:2] == [["Phone", "Name"], ["+250788000111", "Amina"]]
    assert len(filled[2]) == COLUMNS_LIMIT + 1


def test_texts_of_a_hundred_megabytes_are_not_kept_in_memory(replaced: Callable[[str], None]) -> None:
    """The limit of memory is below what they take."""
    texts = b"<sst>" + b"".join(b"<si><t>%d%s</t></si>" % (n, b"x" * 5000) for n in range(25_000)) + b"</sst>"
    assert len(texts) > 115 * MEGABYTE
    sheet = rows_of('<row r="1"><c r="A1" t="s"><v>24999</v></c></row>')
    book = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(make_book())) as old,
        zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new,
    ):
        for each in old.namelist():
            new.writestr(each, texts if each == TEXTS else sheet if each == SHEET else old.read(each))
    program = Path(reader.__file__).read_text()
    assert program.count("MEMORY_BYTES = 512 *") == 1
    replaced(program.replace("MEMORY_BYTES = 512 *", "MEMORY_BYTES = 100 *"))
    with opened_rows(book) as rows:
        assert [row[0][:7] for row in rows] == ["24999xx"]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV])
def test_a_file_that_ends_its_reader_fails_after_three_attempts_and_the_next_is_read(
    database: Database, workspace: Workspace, tmp_path: Path, replaced: Callable[[str], None], how: signal.Signals
) -> None:
    poison = f"import os, sys\nif sys.stdin.read(6) == 'poison': os.kill(os.getpid(), {int(how)})\nos.lseek(0, 0, 0)\n"
    replaced(poison + Path(reader.__file__).read_text())
    store = FolderStore(f"file://{tmp_path / 'media'}")
    ids = []
    for name, content in (("bad.csv", b"poison,Name\n1,2\n"), ("good.csv", b"Phone,Name\n+250788000111,Amina\n")):
        with store.writing(f"imports/{name}") as file:
            file.write(content)
        with database.writing() as tx:
            ids.append(create_import(tx, workspace, name, f"imports/{name}", None))
    attempts = []
    while (held := database.write(lambda tx: take_next(tx, workspace.id))) is not None:
        attempts.append(held.row.id)
        Performer(database, store).perform(held)

    assert attempts == [ids[0]] * MOST_ATTEMPTS + [ids[1]]
    with database.reading() as tx:
        rows = tx.execute(contact_import.select().order_by(contact_import.c.id)).all()
    assert [row.status for row in rows] == ["failed", "ready"]
    assert how.name in rows[0].error


def test_a_reader_that_does_nothing_is_ended(replaced: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    replaced("import signal\nsignal.pause()\n")
    monkeypatch.setattr(reading, "SILENCE_SECONDS", 0.5)
    with pytest.raises(ReaderDied, match="did nothing"), opened_rows(io.BytesIO(b"a,b\n")):
        pass


def test_a_reader_knows_no_secret(replaced: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAYBOARD_SECRET_KEY", "very secret")
    program = "import json, os, sys\nd = json.dumps({'kind': 'csv', 'encoding': ' '.join(os.environ)}).encode()\n"
    program += "sys.stdout.buffer.write(len(d).to_bytes(4, 'big') + d)\n"
    replaced(program)
    with opened_rows(io.BytesIO(b"a,b\n")) as rows:
        assert "PATH" in str(rows.encoding) and "SECRET" not in str(rows.encoding)
