"""What people see on a terminal."""

from typing import Any

import pytest
from rich.console import Console

from relayboard.commands import printing
from relayboard.commands.tables import cell, make_tables

GROUPS = [
    {"uuid": "a1", "name": "Mothers", "query": None, "count": 3, "members": [{"name": "Ann", "uuid": "c1"}]},
    {"uuid": "b2", "name": "[red]Fathers", "query": None, "count": 12, "members": []},
]


def shown(value: Any) -> str:
    console = Console(width=200, record=True, force_terminal=False)
    with console.capture() as captured:
        for each in make_tables(value):
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


def test_nothing_is_said_to_be_nothing() -> None:
    assert shown([]) == "There are none.\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "yes"),
        ("2026-03-02T08:10:10.123000Z", "2026-03-02 08:10"),
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
