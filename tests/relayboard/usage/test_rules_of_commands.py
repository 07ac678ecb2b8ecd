"""Rules that every command keeps, read from their declarations."""

from collections.abc import Iterator

import click
import pytest
from rich.console import Console

from relayboard.commands.tables import COLUMNS, make_tables
from relayboard.usage.parts import LISTS, NAMES_RECORD, OWN_NAMES, THIS, Action
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
    options = (param for param in action.params if param.metavar != "TEXT")  # a setting of a channel: a text
    named = {param.name for param in options if param.opts[0] in NAMES_RECORD}

    assert named == set(action.records) or action.work in OWN_NAMES


@pytest.mark.parametrize("name", [name for name in TABLES if name.split()[-1] in LISTS])
def test_every_list_has_a_line_for_each_record_unless_all_is_asked_for(name: str) -> None:
    assert any(param.name == "wide" for param in TABLES[name].params)


@pytest.mark.parametrize("name", [name for name in ACTIONS if name.endswith(" show") and name != "phone show"])
def test_show_takes_the_record_as_its_argument(name: str) -> None:
    assert [param for param in ACTIONS[name].params if isinstance(param, click.Argument)]


OWN = {"user": "email", "field": "key", "webhook": "receiver", "resthook": "subscriber", "boundaries": "boundary"}
"""What the option of a command is called that names one record of its noun, where it is not called like the noun."""
OF_THEIR_OWN = {
    **dict.fromkeys(("user create", "user invite"), "somebody who is not there yet"),
    **dict.fromkeys(
        ("flow export", "flow run", "flow draw", "flow texts", "flow translate"), "several flows, or one of a file"
    ),
    **dict.fromkeys(("channel alarms", "channel calls", "delivery list", "webhook list"), "a list"),
    "workspace create": "nothing is there yet",
    **dict.fromkeys(("workspace list", "workspace import"), "no workspace of this service"),
    "workspace export": "the file is its argument",
}
SPEAKING_OF_ONE = {
    name: OWN.get(noun, noun)
    for name, action in ACTIONS.items()
    for noun in [name.split()[0]]
    if name not in OF_THEIR_OWN and any(param.name == OWN.get(noun, noun) for param in action.params)
}


@pytest.mark.parametrize("name", SPEAKING_OF_ONE)
def test_the_one_record_that_a_command_is_about_is_its_argument_and_the_older_option_goes_on(name: str) -> None:
    own, params = SPEAKING_OF_ONE[name], ACTIONS[name].params
    arguments = [param for param in params if isinstance(param, click.Argument)]

    assert [param.name for param in arguments if param.name in (own, f"{THIS}{own}")], name
    assert all(param.name != f"{THIS}{own}" or any(p.opts == [f"--{own}"] for p in params) for param in arguments)


def test_commands_that_act_on_one_record_are_known() -> None:
    """Those whose option were called otherwise would not be found by the rule above."""
    acting = {
        name
        for name, action in ACTIONS.items()
        if " " in name
        and name.split()[1] not in ("create", "open", "list", "import", "imports", "invite", "claim", "subscribe")
        if not any(isinstance(param, click.Argument) for param in action.params)
    }

    assert acting - {name for name in acting if name.startswith("phone ")} == {
        *("secrets renew", "flow export", "channel alarms", "channel calls", "contact renumber", "contact doubles"),
        *("message send", "resthook subscribers", "delivery test", "delivery ledger", "webhook listen"),
    }


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
