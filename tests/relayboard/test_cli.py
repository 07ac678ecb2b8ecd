"""The command line as a whole; each command has its tests in `every_command` and `commands`."""

import subprocess
import sys

import pytest

from relayboard.cli import build_parser, main
from relayboard.commands import MODULES
from tests.relayboard.every_command.leaves import list_parsers

ALL = {words for words, _ in list_parsers(build_parser())}
HEAVY = (
    "import sys; from relayboard.cli import build_parser; build_parser('token'); print('flows.engine' in sys.modules)"
)


@pytest.mark.parametrize("noun", MODULES)
def test_a_noun_alone_offers_what_it_offers_among_all(noun: str) -> None:
    alone = {words for words, _ in list_parsers(build_parser(noun)) if words[:1] == (noun,)}

    assert alone == {words for words in ALL if words[:1] == (noun,)} != set()


def test_a_command_does_not_import_what_only_others_need() -> None:
    said = subprocess.run([sys.executable, "-c", HEAVY], capture_output=True, text=True, check=True)

    assert said.stdout == "False\n"


def test_an_unknown_option_is_refused_with_the_usage_of_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["label", "create", "--workspace", "x", "--name", "Urgent", "--colour", "red"])

    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert said.startswith("usage: relayboard label create")
    assert said.endswith("relayboard label create: error: unrecognized arguments: --colour red\n")
