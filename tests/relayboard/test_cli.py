"""The command line as a whole; each command has its tests in `every_command` and `commands`."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from relayboard.cli import main
from relayboard.usage.parts import Action
from testbed.tokens import SECRET_KEY
from tests.console_script import make_environment
from tests.relayboard.every_command.leaves import LEAVES, Leaf

LOADED = """
import sys
from relayboard.cli import main
for call in {calls}:
    try:
        main(call)
    except SystemExit:
        pass
print(*{{name.split(".")[0] for name in sys.modules}})
"""
CALLS = (["--help"], ["--version"], ["token", "create", "--help"], ["nonsense"], ["channel", "create", "--nonsense"])
HEAVY = {"sqlalchemy", "connexion", "alembic", "huey", "handlers", "worker", "requests", "cryptography", "rich"}
EXAMPLES = [
    pytest.param(words, example, id=f"{' '.join(words)} {example}".strip())
    for words, command in LEAVES.items()
    if isinstance(command, Action)
    for example in command.examples
]


def list_loaded(*calls: list[str], **settings: str) -> set[str]:
    """The packages that are loaded once these calls have ended, in one process."""
    program = LOADED.format(calls=calls)
    environment = make_environment(**settings)
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    return set(said.stdout.splitlines()[-1].split())


def test_help_version_and_wrong_usage_load_nothing_that_does_the_work() -> None:
    assert list_loaded(*CALLS) & HEAVY == set()


def test_a_short_command_loads_the_database_and_little_else(sqlite_template: Path, tmp_path: Path) -> None:
    database = shutil.copy(sqlite_template, tmp_path)
    loaded = list_loaded(["workspace", "list"], DATABASE_URL=f"sqlite:///{database}", SECRET_KEY=SECRET_KEY)

    assert loaded & HEAVY == {"sqlalchemy", "cryptography"}


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_the_work_of_every_command_is_there(words: Leaf) -> None:
    command = LEAVES[words]

    assert isinstance(command, Action) and callable(command.load())


@pytest.mark.parametrize(("words", "example"), EXAMPLES)
def test_every_example_of_help_can_be_typed(words: Leaf, example: str) -> None:
    given = shlex.split(example.partition(" < ")[0])

    assert LEAVES[words].make_context(" ".join(words), given).params.keys() >= set()


def test_an_unknown_option_is_refused_with_the_usage_of_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["label", "create", "--workspace", "x", "--name", "Urgent", "--colour", "red"])

    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert said.startswith("usage: relayboard label create")
    assert said.endswith("relayboard label create: error: No such option '--colour'.\n")
