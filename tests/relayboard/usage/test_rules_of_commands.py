"""Rules that every command keeps, read from their declarations."""

from collections.abc import Iterator

import click
import pytest
from rich.console import Console

from relayboard.commands.tables import COLUMNS, make_tables
from relayboard.usage.parts import LISTS, NAMES_RECORD, OWN_NAMES, Action
from relayboard.usage.program import build_program
from relayboard.usage.values import FileOrOutput, NewFile


def actions() -> Iterator[tuple[str, Action]]:
    for name, command in build_program().commands.items():
        if isinstance(command, Action):
            yield name, command
        else:
            assert isinstance(command, click.Group)
            for verb, action in command.commands.items():
                assert isinstance(action, Action)
                yield f"{name} {verb}", action


ACTIONS = dict(actions())
TABLES = {name: action for name, action in ACTIONS.items() if any(param.name == "json" for param in action.params)}


@pytest.mark.parametrize("name", ACTIONS)
def test_every_option_that_names_a_record_takes_its_name(name: str) -> None:
    action = ACTIONS[name]
    named = {param.name for param in action.params if param.opts[0] in NAMES_RECORD}

    assert named == set(action.records) or action.work in OWN_NAMES


@pytest.mark.parametrize("name", [name for name in TABLES if name.split()[-1] in LISTS])
def test_every_list_has_a_line_for_each_record_unless_all_is_asked_for(name: str) -> None:
    assert any(param.name == "wide" for param in TABLES[name].params)


@pytest.mark.parametrize("name", [name for name in ACTIONS if name.endswith(" show")])
def test_show_takes_the_record_as_its_argument(name: str) -> None:
    arguments = [param for param in ACTIONS[name].params if isinstance(param, click.Argument)]

    assert arguments or name in ("workspace show", "user show", "phone show")


def test_records_are_made_by_create() -> None:
    assert [name for name in ACTIONS if name.split()[-1] in ("open", "new", "add", "make")] == ["ticket open"]
    assert ACTIONS["ticket create"].work == ACTIONS["ticket open"].work


@pytest.mark.parametrize(
    "name", [name for name, each in ACTIONS.items() if any(p.name == "output" for p in each.params)]
)
def test_a_file_to_make_is_never_called_like_standard_output(name: str) -> None:
    param = next(param for param in ACTIONS[name].params if param.name == "output")

    if isinstance(param.type, FileOrOutput):
        assert param.type.convert("-", param, None) is None
        return
    assert isinstance(param.type, NewFile)
    with pytest.raises(click.BadParameter, match="standard output"):
        param.type.convert("-", param, None)


RECORD = {
    "uuid": "6f1b0d6e-4f36-4d0b-9d5c-2f5f1f3c8a11",
    "created_on": "2026-03-04T09:30:00.123456Z",
    "name": "Antenatal care of the hill clinics",
    "direction": "in",
    "contact": {"uuid": "6f1b0d6e-4f36-4d0b-9d5c-2f5f1f3c8a11", "name": "Amina Wanjiru Kamau"},
    "status": "handled",
    "text": "I have not received\nmy card yet, and " * 5,
    **{f"more_{number}": "x" * 30 for number in range(10)},
}


@pytest.mark.parametrize("noun", [*COLUMNS, "something new"])
@pytest.mark.parametrize("width", [80, 120, 200])
def test_a_list_has_one_line_for_each_record_at_any_width(noun: str, width: int) -> None:
    console = Console(width=width)
    (table,) = make_tables([RECORD | dict.fromkeys(COLUMNS.get(noun, ()), "value " * 9)] * 3, width, noun)
    with console.capture() as shown:
        console.print(table)
    lines = [line for line in shown.get().splitlines() if line.strip()]

    assert len(lines) == 2 + 3
    assert max(map(len, lines)) <= width


def test_times_of_tables_carry_their_zone() -> None:
    console = Console(width=80)
    with console.capture() as shown:
        for table in make_tables([RECORD], 80, "message"):
            console.print(table)
    assert "2026-03-04 09:30Z" in shown.get()
