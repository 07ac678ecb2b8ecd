"""Files as organisations bring them: each is imported by the default choices; what differs once it is stored is
exported, and imported into another workspace, with the same people at the end. What each kind is about stands in its
name."""

import io
import re
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from sqlalchemy import select, update

from openapi.bundle import bundle
from persistence.contact_imports.columns import Choice
from persistence.contact_imports.contact_imports import read_again, start_import
from persistence.contact_imports.reading import ENCODINGS
from persistence.database import Database
from persistence.exports.kinds import CSV, XLSX
from persistence.media.store import FolderStore
from persistence.tables.accounts import workspace as workspace_table
from persistence.tables.contacts import contact
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace
from relayboard.usage.data import ENCODINGS as OFFERED
from tests.persistence.contact_imports.test_contact_imports import Desk, csv_of

A, B = "+250788000111", "+250788000222"
PEOPLE = [[A, "Amina"], [B, "Ben"]]
NAMED = {A: "Amina", B: "Ben"}
BOM = b"\xef\xbb\xbf"
Book = Callable[[xlsxwriter.Workbook, xlsxwriter.worksheet.Worksheet], None]


def book(fill: Book, **options: Any) -> bytes:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, options) as made:
        fill(made, made.add_worksheet())
    return file.getvalue()


def with_cells(rows: Sequence[Sequence[Any]], at: int = 0, left: int = 0) -> Book:
    def fill(_book: xlsxwriter.Workbook, sheet: xlsxwriter.worksheet.Worksheet) -> None:
        for number, row in enumerate(rows, at):
            sheet.write_row(number, left, row)

    return fill


def with_times(made: xlsxwriter.Workbook, sheet: xlsxwriter.worksheet.Worksheet) -> None:
    sheet.write_row(0, 0, ["Phone", "Name", "Due"])
    for number, row in enumerate(PEOPLE, 1):
        sheet.write_row(number, 0, row)
        sheet.write_datetime(number, 2, datetime(2027, 3, 25), made.add_format({"num_format": "dd/mm/yyyy"}))


def with_hidden_first(made: xlsxwriter.Workbook, sheet: xlsxwriter.worksheet.Worksheet) -> None:
    sheet.write(0, 0, "Lists")
    people = made.add_worksheet("People")
    with_cells([["Phone", "Name"], *PEOPLE])(made, people)
    people.activate()
    people.set_first_sheet()
    sheet.hide()


def with_merged_title(made: xlsxwriter.Workbook, sheet: xlsxwriter.worksheet.Worksheet) -> None:
    with_cells([["Phone", "Name"], *PEOPLE])(made, sheet)
    sheet.merge_range(5, 0, 5, 1, "", made.add_format({"bold": True}))


def with_rich_text(made: xlsxwriter.Workbook, sheet: xlsxwriter.worksheet.Worksheet) -> None:
    with_cells([["Phone", "Name"], [A, ""], PEOPLE[1]])(made, sheet)
    sheet.write_rich_string(1, 1, made.add_format({"bold": True}), "Ami", "na")


def with_formulas(made: xlsxwriter.Workbook, sheet: xlsxwriter.worksheet.Worksheet) -> None:
    with_cells([["Phone", "Name"], [A, ""], PEOPLE[1]])(made, sheet)
    sheet.write_formula(1, 1, '="Ami"&"na"', None, "Amina")


def as_strict(content: bytes) -> bytes:
    """With prefixes for all names, as some programs write."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            if name == "xl/worksheets/sheet1.xml":
                head, tail = text.split(b"?>", 1)
                text = head + b"?>" + tail.replace(b"</", b"<\0x:").replace(b"<", b"<x:").replace(b"<x:\0x:", b"</x:")
                text = text.replace(b"xmlns=", b"xmlns:x=")
            new.writestr(name, text)
    return made.getvalue()


def lines(*rows: str, encoding: str = "utf-8", end: str = "\n") -> bytes:
    return end.join([*rows, ""]).encode(encoding)


PLAIN = ("Phone,Name", f"{A},Amina", f"{B},Ben")
KINDS: dict[str, tuple[bytes, dict[str, str]]] = {
    "a workbook": (book(with_cells([["Phone", "Name"], *PEOPLE])), NAMED),
    "a workbook that shares no texts": (book(with_cells([["Phone", "Name"], *PEOPLE]), constant_memory=True), NAMED),
    "numbers as numbers": (book(with_cells([["Phone", "Name"], [int(A), "Amina"], [int(B), "Ben"]])), NAMED),
    "local numbers": (lines("Phone,Name", "0788000111,Amina", "0788 000 222,Ben"), NAMED),
    "a title of empty rows": (book(with_cells([["Phone", "Name"], *PEOPLE], at=3)), NAMED),
    "an empty column at the left": (book(with_cells([["Phone", "Name"], *PEOPLE], left=1)), NAMED),
    "gaps between rows": (book(with_cells([["Phone", "Name"], PEOPLE[0], [], [], PEOPLE[1]])), NAMED),
    "a hidden first sheet": (book(with_hidden_first), NAMED),
    "cells that are merged": (book(with_merged_title), NAMED),
    "letters in bold": (book(with_rich_text), NAMED),
    "formulas": (book(with_formulas), NAMED),
    "dates as dates": (book(with_times), NAMED),
    "dates that count from 1904": (book(with_times, date_1904=True), NAMED),
    "names with prefixes": (as_strict(book(with_cells([["Phone", "Name"], *PEOPLE]))), NAMED),
    "a stray cell far away": (book(with_cells([["Phone", "Name"], *PEOPLE, *[[]] * 5000, ["", "", "x"]])), NAMED),
    "CSV": (lines(*PLAIN), NAMED),
    "CSV with a mark": (BOM + lines(*PLAIN), NAMED),
    "CSV with semicolons": (lines(*(each.replace(",", ";") for each in PLAIN)), NAMED),
    "CSV with tabs": (lines(*(each.replace(",", "\t") for each in PLAIN)), NAMED),
    "CSV that names its separator": (lines("sep=;", *(each.replace(",", ";") for each in PLAIN)), NAMED),
    "CSV with old ends of lines": (lines(*PLAIN, end="\r"), NAMED),
    "CSV with both ends of lines": (lines(*PLAIN, end="\r\n"), NAMED),
    "CSV with quotes": (lines('"Phone","Name"', f'"{A}","Am""i""na, the first"', f'"{B}","Ben"'),
                        {A: 'Am"i"na, the first', B: "Ben"}),
    "CSV with lines in cells": (lines("Phone,Name", f'{A},"Amina\nUwase"', f"{B},Ben"), {A: "Amina\nUwase", B: "Ben"}),
    "UTF-16": (lines(*PLAIN, encoding="utf-16"), NAMED),
    "Windows-1252": (lines("Phone;Name", f"{A};Zoë", f"{B};José", encoding="cp1252"), {A: "Zoë", B: "José"}),
    "Cyrillic": (lines("Телефон;Phone;Name", f";{A};Иванов Пётр", f";{B};Ольга", encoding="cp1251"),
                 {A: "Иванов Пётр", B: "Ольга"}),
    "Arabic": (lines("Phone;Name", f"{A};محمد علي", f"{B};فاطمة الزهراء", encoding="cp1256"),
               {A: "محمد علي", B: "فاطمة الزهراء"}),
    "two columns of one name": (csv_of([["Phone", "Name", "Village", "Name"], [A, "Amina", "Gasharu", "Ntare"],
                                        [B, "Ben", "Huye", "Rugero"]]), NAMED),
    "first and last names": (csv_of([["First Name", "Surname", "Mobile"], ["Amina", "Uwase", A], ["Ben", "Mugabo", B]]),
                             {A: "Amina Uwase", B: "Ben Mugabo"}),
    "a number that is no phone": (csv_of([["Number", "URN:Tel", "Name"], ["1", A, "Amina"], ["2", B, "Ben"]]), NAMED),
    "a contact that is a phone": (csv_of([["Contact", "Name"], *PEOPLE]), NAMED),
    "headers that say nothing": (csv_of([["Simu ya mkononi", "Name"], *PEOPLE]), NAMED),
    "UUIDs of nobody": (csv_of([["Contact UUID", "URN:Tel", "Name"],
                                ["0197a6e4-9a01-7c2f-a1d1-2f4c5b6a7081", A, "Amina"],
                                ["0197a6e4-9a01-7c2f-a1d1-2f4c5b6a7082", B, "Ben"]]), NAMED),
    "fields of another workspace": (csv_of([["URN:Tel", "Name", "Field:Due", "Created On"],
                                            [A, "Amina", "25/03/2027", "2026-01-01"], [B, "Ben", "", ""]]), NAMED),
}  # fmt: skip
EXPORTED = [
    *(kind for kind, (_, people) in KINDS.items() if people != NAMED),
    *("a workbook", "dates as dates", "two columns of one name", "a number that is no phone"),
    *("UUIDs of nobody", "fields of another workspace"),
]
"""The kinds that differ in what is stored of people; the others differ only in how they are read."""
READ = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""On one database: a process reads the file, and asks none."""


RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
DAYS = {
    "1899-06-15": date(1899, 6, 15),
    "0001-01-03": date(1, 1, 3),
    "9999-12-31": date(9999, 12, 31),
    "15/06/1899 10:15:30": date(1899, 6, 15),
}


def moment_of(value: str) -> str:
    try:
        return datetime.fromisoformat(value).astimezone(UTC).isoformat()
    except ValueError:
        return value


def people_of(desk: Desk) -> list[tuple[Any, ...]]:
    """What a contact is to people: its name, its language, its addresses, and its values. The workspaces show the same
    moment in different zones."""
    return sorted(
        (
            each["name"],
            each["language"],
            *each["urns"],
            *sorted((key, moment_of(value)) for key, value in each["fields"].items() if value),
        )
        for each in desk.contacts()
    )


@pytest.fixture
def desks(database: Database, workspace: Workspace, other_workspace: Workspace, tmp_path: Path) -> tuple[Desk, Desk]:
    store = FolderStore(f"file://{tmp_path / 'media'}")
    return Desk(database, workspace, store), Desk(database, other_workspace, store)


@pytest.fixture
def make_desk(database: Database, tmp_path: Path) -> Callable[..., Desk]:
    """A desk in a workspace of its own."""
    store = FolderStore(f"file://{tmp_path / 'media'}")

    def make(number_format: str | None = None) -> Desk:
        with database.writing() as tx:
            made = create_workspace(tx, "Clinic", country="RW", timezone="Africa/Kigali", languages=("eng",))
            mine = workspace_table.c.id == made.id
            tx.execute(update(workspace_table).where(mine).values(number_format=number_format))
        return Desk(database, replace(made, number_format=number_format), store)

    return make


@pytest.mark.together
@READ
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_as_organisations_bring_it_is_imported(make_desk: Callable[..., Desk], kind: str) -> None:
    content, expected = KINDS[kind]
    desk = make_desk()

    done = desk.bring(content)

    assert (done["status"], done["created"], done["error"]) == ("completed", 2, None), done
    assert {each["urns"][0].removeprefix("tel:"): each["name"] for each in desk.contacts()} == expected


@pytest.mark.together
@pytest.mark.parametrize("kind", EXPORTED)
def test_what_was_imported_is_equal_after_a_round_trip(make_desk: Callable[..., Desk], kind: str) -> None:
    here, there = make_desk(), make_desk()
    assert here.bring(KINDS[kind][0])["created"] == 2
    for form in (CSV, XLSX):
        assert there.bring(here.export(form), f"export.{form}")["rejected"] == 0
        assert people_of(there) == people_of(here)


@pytest.mark.parametrize(
    ("database_url", "zone"),
    [
        ("sqlite", "Africa/Monrovia"),
        ("sqlite", "Africa/Kigali"),
        ("sqlite", "Pacific/Kiritimati"),
        ("sqlite", "America/Juneau"),
        ("postgresql", "America/Juneau"),
    ],
    indirect=["database_url"],
)
def test_dates_of_every_year_are_equal_after_a_round_trip(desks: tuple[Desk, Desk], zone: str) -> None:
    """Before standard time, clocks differed from UTC by seconds, which RFC 3339 does not have."""
    zones = ("Africa/Monrovia", zone)
    here, there = (
        replace(desk, workspace=replace(desk.workspace, timezone=name)) for desk, name in zip(desks, zones, strict=True)
    )
    with here.database.writing() as tx:
        for desk in (here, there):
            mine = workspace_table.c.id == desk.workspace.id
            tx.execute(update(workspace_table).where(mine).values(timezone=desk.workspace.timezone))
    here.run([["Phone", "Name", "Field:Due"], *([f"+25078800033{n}", text, text] for n, text in enumerate(DAYS))])

    stored = {each["name"]: each["fields"]["due"] for each in here.contacts()}

    assert {text: datetime.fromisoformat(due).date() for text, due in stored.items()} == DAYS
    assert all(map(RFC_3339.fullmatch, stored.values()))
    for form in (CSV, XLSX) if zone == "America/Juneau" else (CSV,):
        done = there.bring(here.export(form), f"export.{form}")
        assert {each["unread"] for each in done["columns"]} == {0}
        assert people_of(there) == people_of(here)
        assert all(RFC_3339.fullmatch(each["fields"]["due"]) for each in there.contacts())


def test_values_that_are_not_understood_are_counted_shown_and_in_the_file_of_rejects(desks: tuple[Desk, Desk]) -> None:
    desk, _ = desks
    rows = [["Phone", "Field:Age", "Field:Due"], [A, "30", "25/03/2027"], [B, "abc", "31/02/2027"]]
    rows += [[f"+2507880003{n:02}", str(n), "24/03/2027"] for n in range(9)]
    uuid = desk.upload(csv_of(rows))
    _, age, due = desk.show(uuid)["columns"]
    assert (age["target"], age["filled"], age["unread"], age["unread_examples"]) == ("new:Age:number", 11, 1, ["abc"])
    assert (due["target"], due["unread"], due["unread_examples"]) == ("new:Due:datetime", 1, ["31/02/2027"])
    desk.start(uuid)
    desk.work()

    done = desk.show(uuid)
    assert (done["created"], done["rejected"]) == (11, 0)
    assert [each["unread"] for each in done["columns"]] == [0, 1, 1]
    assert 'not understood: age: ""abc"", due: ""31/02/2027""' in desk.rejects(done)


def test_years_of_two_digits_are_told_with_the_year_as_which_they_are_read(desks: tuple[Desk, Desk]) -> None:
    desk, _ = desks
    rows = [
        ["Phone", "Field:Due"],
        [A, "13/3/19"],
        [B, "14/03/2027"],
        ["+250788000300", "1.2.69"],
        ["+250788000301", "2027-03-27"],
    ]
    uuid = desk.upload(csv_of(rows))
    due = desk.show(uuid)["columns"][1]
    assert (due["short_years"], due["short_year_examples"]) == (2, ["13/3/19 = 2019", "1.2.69 = 1969"])
    desk.start(uuid)
    desk.work()

    done = desk.show(uuid)["columns"][1]
    values = {each["urns"][0]: (each["fields"]["due"] or "")[:10] for each in desk.contacts()}

    assert (done["short_years"], done["short_year_examples"]) == (2, ["13/3/19 = 2019", "1.2.69 = 1969"])
    assert values == {
        f"tel:{A}": "2019-03-13",
        f"tel:{B}": "2027-03-14",
        "tel:+250788000300": "1969-02-01",
        "tel:+250788000301": "2027-03-27",
    }


@pytest.mark.together
@pytest.mark.parametrize(("unread", "created", "status"), [("reject", 1, "completed"), ("refuse", 0, "failed")])
def test_the_owner_of_a_file_chooses_what_is_done_with_values_that_are_not_understood(
    make_desk: Callable[..., Desk], unread: str, created: int, status: str
) -> None:
    desk = make_desk()
    uuid = desk.upload(csv_of([["Phone", "Age"], [A, "30"], [B, "abc"]]))
    with desk.database.writing() as tx:
        start_import(tx, desk.workspace, uuid, [Choice("new:Age:number", place=2)], None, {"unread": unread})
    desk.work()

    done = desk.show(uuid)
    assert (done["status"], done["created"], len(desk.contacts())) == (status, created, created)
    assert '"abc"' in (done["error"] or desk.rejects(done).replace('""', '"'))


@pytest.mark.together
@pytest.mark.parametrize(
    ("dates", "numbers", "expected"),
    [
        (["03/25/2027", "04/13/2027"], ["27.5", "1,234.5"], ("month_first", ".")),
        (["25/03/2027", "13/04/2027"], ["27,5", "1.234,5"], ("day_first", ",")),
    ],
)
def test_the_values_say_which_order_of_days_and_months_and_which_decimal_sign_they_have(
    desks: tuple[Desk, Desk], dates: list[str], numbers: list[str], expected: tuple[str, str]
) -> None:
    desk, _ = desks
    rows = [["Phone", "Due", "Weight"], *([urn, *each] for urn, *each in zip([A, B], dates, numbers, strict=True))]
    content = "\n".join(";".join(row) for row in rows).encode()
    reading = desk.show(desk.upload(content))["reading"]

    assert (reading["date_style"], reading["decimal_sign"]) == expected


@pytest.mark.together
@pytest.mark.parametrize(
    ("own", "numbers", "read", "unread"),
    [
        ("1 234,5", ["1 234", "27"], ["1234", "27"], 0),
        ("1'234.5", ["1,234.5", "27"], ["1234.5", "27"], 0),
        ("1,234.5", ["1'234'567", "1\u2019234.5"], ["1234567", "1234.5"], 0),
        ("1,234.5", ["1\u202f234,5", "27"], ["1234.5", "27"], 0),
        ("1.234,5", ["1.234", "27"], ["1234", "27"], 0),
        ("1,234.5", ["1.234", "27"], ["1.234", "27"], 0),
        (None, ["1234.5", "27"], ["1234.5", "27"], 0),
        ("1'234.5", ["1,234", "1'234"], [None, "1234"], 1),
    ],
)
def test_numbers_are_read_as_the_file_writes_them_and_otherwise_as_the_workspace_does(
    make_desk: Callable[..., Desk], own: str | None, numbers: list[str], read: list[str | None], unread: int
) -> None:
    desk = make_desk(own)
    rows = [["Phone", "Weight"], [A, numbers[0]], [B, numbers[1]]]
    uuid = desk.upload("\n".join(";".join(row) for row in rows).encode())
    desk.start(uuid, {"Weight": "new:Weight:number"})
    desk.work()
    done = desk.show(uuid)

    assert stored_numbers(desk) == read
    assert sum(each["unread"] for each in done["columns"]) == unread


def stored_numbers(desk: Desk) -> list[str | None]:
    mine = select(contact.c.fields).where(contact.c.workspace_id == desk.workspace.id).order_by(contact.c.id)
    with desk.database.reading() as tx:
        return [next(iter(each.values())).get("number") for each in tx.execute(mine).scalars()]


def test_cells_that_are_numbers_have_their_point_in_every_format(make_desk: Callable[..., Desk]) -> None:
    """As `1.234` typed by people of this workspace would be 1234."""
    desk = make_desk("1.234,5")
    rows = [["Phone", "Weight"], [A, 1.234], [B, "1.234,5"], ["+250788000300", 27.5], ["+250788000301", "abc"]]
    uuid = desk.upload(book(with_cells(rows)), "people.xlsx")
    assert desk.show(uuid)["columns"][1]["suggested"] == "new:Weight:text"
    desk.start(uuid, {"Weight": "new:Weight:number"})
    desk.work()

    assert stored_numbers(desk) == ["1.234", "1234.5", "27.5", None]
    assert sum(each["unread"] for each in desk.show(uuid)["columns"]) == 1


def test_cells_are_read_as_their_format_shows_them(desks: tuple[Desk, Desk]) -> None:
    def fill(made: xlsxwriter.Workbook, sheet: xlsxwriter.worksheet.Worksheet) -> None:
        sheet.write_row(0, 0, ["Phone", "Code", "Hours"])
        for row, hours in enumerate((1.5, 0.25), 1):
            sheet.write_number(row, 0, 788000110 + row, made.add_format({"num_format": "0000000000"}))
            sheet.write_number(row, 1, 7, made.add_format({"num_format": "000"}))
            sheet.write_number(row, 2, hours, made.add_format({"num_format": "[h]:mm"}))

    uuid = desks[0].upload(book(fill), "people.xlsx")

    assert [each["examples"] for each in desks[0].show(uuid)["columns"]] == [
        ["0788000111", "0788000112"],
        ["007", "007"],
        ["36:00:00", "6:00:00"],
    ]


@pytest.mark.together
@READ
@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"<html><table><tr><td>Phone</td></tr></table></html>", "a web page"),
        (b"\xef\xbb\xbf\n<!DOCTYPE html><table>", "a web page"),
        (b'<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"/>', "an XML file"),
        (b"%PDF-1.4\n1 0 obj", "a PDF file"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "a picture"),
    ],
)
def test_a_file_that_is_no_table_is_told_what_it_is(desks: tuple[Desk, Desk], content: bytes, named: str) -> None:
    uuid = desks[0].upload(content, "people.xls")

    shown = desks[0].show(uuid)

    assert shown["status"] == "failed"
    assert shown["error"].startswith(f"This is {named}: ")


@pytest.mark.together
@READ
@pytest.mark.parametrize(
    ("encoding", "known", "names"),
    [
        ("shift_jis", "cp932", ["山田 太郎", "カタカナ"]),
        ("gbk", "gb18030", ["王小明", "张伟"]),
        ("big5", "big5", ["陳大文", "林志玲"]),
        ("euc_kr", "cp949", ["김철수", "이영희"]),
        ("euc_jp", "euc-jp", ["さとう はなこ", "山田タロウ"]),
        ("cp1257", "cp1257", ["Rūta Čepaitė", "Jānis Bērziņš"]),
        ("iso8859_5", "iso-8859-5", ["Иванов Пётр", "Ольга Смирнова"]),
        ("koi8_r", "koi8-r", ["Иванов Пётр", "Ольга Смирнова"]),
        ("utf-32", "utf-32", ["Žofie", "Иван"]),
    ],
)
def test_the_encoding_of_a_file_is_guessed(
    desks: tuple[Desk, Desk], encoding: str, known: str, names: list[str]
) -> None:
    rows = [["Phone", "Name"], [A, names[0]], [B, names[1]]]
    uuid = desks[0].upload("\n".join(";".join(row) for row in rows).encode(encoding))

    shown = desks[0].show(uuid)

    assert shown["reading"]["encoding"] == known
    assert shown["columns"][1]["examples"] == names


def test_a_long_cell_rejects_its_row_unless_its_column_is_left_out(desks: tuple[Desk, Desk]) -> None:
    desk, _ = desks
    content = csv_of([["Phone", "Name", "Notes"], [A, "Amina", "x" * 20_000], [B, "y" * 20_000, ""]])
    uuid = desk.upload(content)
    desk.start(uuid)
    desk.work()

    assert (desk.show(uuid)["created"], desk.show(uuid)["rejected"]) == (1, 1)
    assert "Name: A cell may have 10000 characters" in desk.rejects(desk.show(uuid))


def test_a_number_in_an_old_form_is_rejected_with_its_new_form(desks: tuple[Desk, Desk]) -> None:
    desk, _ = desks
    old = [[number, "Ana"] for number in ("+5215512345678", "52 1 55 1234 5678", "005215512345678")]
    done = desk.bring(csv_of([["URN:Tel", "Name"], *old, [A, "Amina"]]))

    assert (done["created"], done["rejected"]) == (1, 3)
    assert desk.rejects(done).count("an old form (Mexico, before 2019) of +525512345678") == 3


def test_columns_are_told_by_their_place(desks: tuple[Desk, Desk]) -> None:
    desk, _ = desks
    uuid = desk.upload(csv_of([["Phone", "Name", "Village", "Name"], [A, "Amina", "Gasharu", "Chief Ntare"]]))
    chosen = [Choice("ignore", place=2), Choice("name", "Name", 4)]
    with desk.database.writing() as tx:
        start_import(tx, desk.workspace, uuid, chosen, None)
    desk.work()

    assert [each["name"] for each in desk.contacts()] == ["Chief Ntare"]


@pytest.mark.together
@pytest.mark.parametrize(
    ("header", "name", "key"),
    [
        ("Date of birth (dd/mm/yyyy)", "Date of birth dd mm yyyy", "date_of_birth_dd_mm_yyyy"),
        ("Field:Due", "Due", "due"),
        ("Âge", "Âge", "age"),
        ("Деревня", "Деревня", "field"),
        ("2024 visits", "2024 visits", "field_2024_visits"),
        ("Created_On", "Created On", "created_on_field"),
        ("Village/Town: name & number of the household", "Village Town name number of the", None),
    ],
)
def test_the_name_of_a_new_field_is_cleaned_from_its_header(
    make_desk: Callable[..., Desk], header: str, name: str, key: str | None
) -> None:
    desk = make_desk()
    uuid = desk.upload(csv_of([["Phone", header], [A, "some text"]]))
    column = desk.show(uuid)["columns"][1]
    assert column["suggested"].startswith(f"new:{name}")
    desk.start(uuid, {header: column["suggested"]})

    assert (
        desk.show(uuid)["columns"][1]["target"] == f"field:{key or column['target'].partition(':')[2]}" or key is None
    )


@pytest.mark.together
@pytest.mark.parametrize(
    ("encoding", "name"),
    [("cp1250", "Łucja"), ("cp1257", "Agnė"), ("euc-jp", "山田太郎"), ("koi8-u", "Їжак"), ("iso-8859-2", "Łukasz")],
)
def test_a_file_is_read_again_with_the_encoding_that_people_choose(
    desks: tuple[Desk, Desk], encoding: str, name: str
) -> None:
    desk, _ = desks
    uuid = desk.upload(f"Phone;Name\n+250788000111;{name}".encode(encoding))
    with desk.database.writing() as tx:
        read_again(tx, desk.workspace, uuid, [], {"encoding": encoding})
    desk.work()

    shown = desk.show(uuid)
    assert (shown["status"], shown["reading"]["encoding"]) == ("ready", encoding)
    assert shown["columns"][1]["examples"] == [name]


def test_all_encodings_can_be_chosen_everywhere() -> None:
    offered = bundle("v2")["components"]["schemas"]["ContactImportEncoding"]["enum"]
    assert sorted(ENCODINGS) == sorted(OFFERED) == sorted(offered)
