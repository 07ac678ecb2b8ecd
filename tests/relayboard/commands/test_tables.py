"""What people see on a terminal."""

import io
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from openapi.bundle import bundle
from relayboard.commands import printing
from relayboard.commands.tables import cell, make_tables

GROUPS = [
    {"uuid": "a1", "name": "Mothers", "query": None, "count": 3, "members": [{"name": "Ann", "uuid": "c1"}]},
    {"uuid": "b2", "name": "[red]Fathers", "query": None, "count": 12, "members": []},
]


UUID = "9b1f0c52-5a4e-4c1b-8a7e-2d6f3c1b0a99"
MOMENT = "2026-03-02T08:10:10.123000Z"
CONTACTS = [
    {
        "uuid": UUID[:-2] + f"{number:02}",
        "name": "Amina Uwimana Mukandayisenga" if number else None,
        "status": "active",
        "language": "eng",
        "urns": ["tel:+250788000111", "mailto:amina.uwimana@clinic.example.org"],
        "groups": [{"uuid": UUID, "name": "Expecting mothers", "query": None}],
        "notes": [],
        "fields": {"age": "27", "district": "Nyamasheke"},
        "flow": None,
        "created_on": MOMENT,
        "modified_on": MOMENT,
        "last_seen_on": MOMENT if number else None,
    }
    for number in range(2)
]
MESSAGES = [
    {
        "id": 4021 + number,
        "uuid": UUID[:-2] + f"{number:02}",
        "contact": {"uuid": UUID, "name": "Amina Uwimana"},
        "urn": "tel:+250788000111",
        "channel": {"uuid": UUID, "name": "Front desk"},
        "direction": "in",
        "type": "text",
        "status": "handled",
        "visibility": "visible",
        "text": "Is the clinic at Nyamasheke open on Monday, and until what time?\nThank you",
        "labels": [{"uuid": UUID, "name": "Opening hours"}],
        "attachments": [],
        "flow": None,
        "created_on": MOMENT,
        "sent_on": None,
        "modified_on": MOMENT,
    }
    for number in range(2)
]
WORKSPACES = [
    {
        "uuid": UUID[:-2] + f"{number:02}",
        "name": "Riverside Health",
        "country": "RW",
        "timezone": "Africa/Kigali",
        "languages": ["eng", "kin"],
        "date_style": "day_first",
        "anon": False,
        "created_on": MOMENT,
        "users": 12,
    }
    for number in range(2)
]


def shown(value: Any, width: int = 200) -> str:
    console = Console(width=width, record=True, force_terminal=False)
    with console.capture() as captured:
        for each in make_tables(value, width):
            console.print(each)
    return captured.get()


def test_a_list_of_records_is_a_table_without_empty_columns() -> None:
    text = shown(GROUPS)

    assert [word in text for word in ("uuid", "name", "count", "members", "Ann", "[red]Fathers", "12")] == [True] * 7
    assert "query" not in text and "c1" not in text


def test_a_record_is_a_line_for_each_value_and_a_table_for_each_list_of_records() -> None:
    text = shown({"used_bytes": 12, "is_full": False, "last_seen_on": None, "media": GROUPS})

    assert "used bytes" in text and "12" in text and "no" in text
    assert text.index("used bytes") < text.index("media") < text.index("Mothers")


@pytest.mark.parametrize("width", [80, 60])
@pytest.mark.parametrize("records", [CONTACTS, MESSAGES, WORKSPACES], ids=["contacts", "messages", "workspaces"])
def test_every_value_can_be_read_on_a_narrow_terminal(records: list[dict[str, Any]], width: int) -> None:
    text = shown(records, width)

    assert max(map(len, text.splitlines())) <= width
    parts = text.split("\n\n")
    assert len(parts) == len(records)
    for part, record in zip(parts, records, strict=True):
        words = set(part.split())
        for key, value in record.items():
            assert {*cell(value).split()} <= words
            assert not cell(value) or {*key.split("_")} <= words


def test_a_list_that_fits_is_a_table_also_on_a_narrow_terminal() -> None:
    groups = [{"uuid": UUID, "name": "Mothers of the district of Nyamasheke", "count": 3}]

    text = shown(groups, 80)

    assert text.index("count") < text.index(UUID)
    assert {"Mothers", "district", "Nyamasheke"} <= {*text.split()}


@pytest.mark.parametrize(("width", "is_table"), [(32, True), (31, False)])
def test_columns_are_as_wide_as_a_date_or_as_their_cells(width: int, is_table: bool) -> None:
    text = shown([{"name": "Amina Uwimana", "at": MOMENT, "is": 1}] * 3, width)

    assert ("┳" in text) is is_table
    assert {"Amina", "Uwimana", "2026-03-02"} <= {*text.split()}


def test_a_list_in_a_record_keeps_its_heading_where_its_columns_have_no_room() -> None:
    text = shown({"count": 2, "people": CONTACTS}, 60)

    assert text.index("count") < text.index("people") < text.index(CONTACTS[0]["uuid"])
    assert text.count("people") == 1


def test_nothing_is_said_to_be_nothing() -> None:
    assert shown([]) == "There are none.\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "yes"),
        ("2026-03-02T08:10:10.123000Z", "2026-03-02 08:10Z"),
        ({"active": 3, "waiting": 0, "none": None}, "active 3, waiting 0"),
        (["tel:+1", "tel:+2"], "tel:+1, tel:+2"),
        ("a\x1b[2Jb\u202e", "a\\u001b[2Jb\\u202e"),
        ({"uuid": "c1", "name": "a\x1b[2Jb"}, "a\\u001b[2Jb"),
        ({"a\x1b[2Jb": 3}, "a\\u001b[2Jb 3"),
    ],
)
def test_a_value_is_a_few_words_that_no_terminal_obeys(value: Any, text: str) -> None:
    assert cell(value) == text


@pytest.mark.parametrize("value", [{"a\x1b[2Jb": 1}, [{"a\x1b[2Jb": 1}], {"a\x1b[2Jb": [{"name": "Ann Mukamana"}]}])
def test_no_terminal_obeys_a_heading(value: Any) -> None:
    assert "a\\u001b[2Jb" in shown(value)


def test_json_is_for_pipes_and_tables_for_terminals(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    printing.print_json(GROUPS)
    assert capsys.readouterr().out.startswith('[{"uuid":"a1"')

    monkeypatch.setattr(printing, "shows_tables", lambda: True)
    printing.print_json(GROUPS)
    assert "Mothers" in capsys.readouterr().out


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_line_of_a_list_keeps_times_with_their_zone_and_whole_words(width: int) -> None:
    tokens = [
        {
            "public": "e729234203f8",
            "email": "administrator.of.the.clinic@example.org",
            "scope": "write",
            "last_used_on": "2026-11-27T03:40:05.123456Z",
            "expires_on": "2027-11-27T03:40:05Z",
            "name": "the nightly copy to the office of the district",
        }
    ]
    console = Console(width=width, file=io.StringIO())
    for each in make_tables(tokens, width, "token"):
        console.print(each)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    (line,) = [each for each in lines if "e729234203f8" in each]

    assert cell_len(line.rstrip()) <= width
    assert line.split()[0] == "e729234203f8"
    days = ("2026-11-27", "2027-11-27")
    assert [day for day in days if day in line] == [day for day in days if f"{day} 03:40Z" in line]
    assert ("2027-11-27 03:40Z" in line) == (width >= 80)


@pytest.mark.parametrize(
    ("noun", "path", "headings"),
    [
        ("audit", "/audit_events.json", ["created on", "user", "action", "resource", "record"]),
        ("session", "/sessions.json", ["last seen on", "user agent", "uuid"]),
        ("channel alarms", "/channel_alarms.json", ["opened on", "channel", "kind"]),
        ("channel calls", "/channel_calls.json", ["created on", "outcome", "message", "response or error"]),
        ("contact imports", "/contact_imports.json", ["filename", "status", "uuid", "done"]),
        ("invitation", "/invitations.json", ["email", "role", "uuid"]),
    ],
)
def test_a_line_of_80_columns_says_what_people_look_for_and_what_the_next_command_needs(
    noun: str, path: str, headings: list[str]
) -> None:
    """With the examples of the contract; `session end` and others take the UUID, which is whole."""
    answer = bundle("v2")["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]
    (example, *_) = answer["examples"].values()
    records = example["value"]["results"]
    console = Console(width=80, file=io.StringIO())
    (table,) = make_tables(records, 80, noun)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()

    assert [str(column.header) for column in table.columns] == headings  # type: ignore[union-attr]
    assert max(map(cell_len, lines)) <= 80
    assert "uuid" not in headings or all(each["uuid"] in console.file.getvalue() for each in records)


def test_a_line_of_a_call_says_why_it_failed() -> None:
    call = {"id": 1, "message": 4021, "part": 1, "request": {"method": "POST"}, "created_on": MOMENT}
    refused = {"outcome": "refused", "response": {"status": 400, "body": '{"error": "no such number"}'}, "error": None}
    silent = {"outcome": "unanswered", "response": None, "error": "no answer within 10 seconds"}
    console = Console(width=80, file=io.StringIO())
    (table,) = make_tables([call | refused, call | silent], 80, "channel calls")
    console.print(table)
    text = console.file.getvalue()  # type: ignore[attr-defined]

    assert "status 400" in text and '"error": "no' in text
    assert "no answer within 10 seconds" in text
