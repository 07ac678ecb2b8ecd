"""Commands that read or change a row answer in about 0.3 s of CPU, nearly all of which is loading modules. A time
cannot be tested on a busy machine, so the modules are: what takes long to load is loaded only by what needs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from persistence.workspaces.writes import create_workspace
from testbed.databases import open_database
from testbed.running import RunningService
from testbed.tokens import SECRET_KEY, make_token
from tests.relayboard.every_command.cases import APART, GOOD, SERVICES
from tests.relayboard.every_command.leaves import LEAVES, Leaf
from tests.relayboard.every_command.running import arrange
from tests.relayboard.every_command.world import made_world

HEAVY = (
    "alembic",
    "argon2",
    "babel",
    "connexion",
    "flows.definition",
    "flows.engine",
    "flows.expressions",
    "flows.queries",
    "huey",
    "phonenumbers",
    "prometheus_client",
    "pyotp",
    "sqlalchemy.dialects.postgresql",
    "openapi",
    "persistence.tables.complete",
    "requests",
    "rich",
    "smtplib",
    "starlette",
    "persistence.follow_ups",
    "persistence.contacts.deletion",
    "persistence.exports.exports",
    "persistence.data_requests.requests",
    "worker.jobs",
    "xlsxwriter",
)
READ_DEFINITIONS = {
    ("flow", verb) for verb in ("import", "export", "run", "check", "test", "draw", "texts", "translate")
}
CALL_SERVERS = {words for words in GOOD if words[0] in ("phone", "move")}
DO_JOBS = {("contact", "copy"), ("contact", "erase"), ("export",)}
"""They do at once what a worker does with the same request of the API."""
ALL_TABLES = {"persistence.tables.complete"}
MESSAGES = {"persistence.follow_ups"}
"""What follows from changed messages, broadcasts, channels and subscriptions, and counts of days."""
ENGINE = {"flows.definition", "flows.engine", "flows.expressions", "flows.queries"}
NUMBER = {"phonenumbers"}
COUNTED = {"prometheus_client"}
NEEDS: dict[Leaf, set[str]] = {
    ("broadcast", "create"): ENGINE | NUMBER | MESSAGES,
    ("broadcast", "change"): ENGINE | NUMBER | MESSAGES,
    ("broadcast", "delete"): ENGINE | NUMBER | MESSAGES,
    ("broadcast", "stop"): MESSAGES,
    ("channel", "change"): MESSAGES,
    ("channel", "claim"): NUMBER | MESSAGES,
    ("channel", "create"): MESSAGES,
    ("channel", "release"): MESSAGES,
    ("contact", "create"): NUMBER,
    ("contact", "show"): NUMBER,
    ("contact", "change"): NUMBER,
    ("contact", "answer"): NUMBER,
    ("contact", "take-back-import"): ALL_TABLES | {"persistence.contacts.deletion"},
    ("contact", "delete"): NUMBER | MESSAGES | ALL_TABLES | {"persistence.contacts.deletion"},
    ("message", "send"): NUMBER | MESSAGES,
    ("message", "resend"): NUMBER | MESSAGES,
    ("boundaries", "import"): {"flows.definition", "flows.expressions"},
    ("user", "password"): {"argon2", "pyotp"},
    ("workspace", "change"): NUMBER,
    ("workspace", "create"): {"babel"},
    ("ticket", "create"): MESSAGES | {"flows.queries"},
    ("ticket", "open"): MESSAGES | {"flows.queries"},
    ("ticket", "change"): MESSAGES | {"flows.queries"},
    ("field", "delete"): {"flows.queries"},
    ("delivery", "resend"): COUNTED,
    ("delivery", "test"): COUNTED,
    ("webhook", "subscribe"): MESSAGES,
    ("webhook", "unsubscribe"): MESSAGES,
    ("webhook", "set"): MESSAGES,
    ("secrets", "renew"): ALL_TABLES,
    ("migrate",): ALL_TABLES | {"alembic", "sqlalchemy.dialects.postgresql"},
    ("backup",): ALL_TABLES,
    ("contact", "import"): NUMBER,
    ("workspace", "export"): ALL_TABLES,
    ("workspace", "import"): ALL_TABLES,
    ("archive", "import"): ENGINE | NUMBER | MESSAGES,
    ("export",): {"flows.queries"},
}
"""What a command cannot do without: an expression in a text, a phone number that is typed, the query of a group that
follows tickets or may name the field, the country of a time zone, conversations and times of what was changed, the
bounded reader of files."""
LIGHT = [words for words in GOOD if words not in READ_DEFINITIONS | CALL_SERVERS | DO_JOBS | {("completion",)}]


@pytest.fixture(scope="module")
def loaded(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[Leaf, tuple[int, set[str]]]:
    """For each command its exit status, and the heavy modules that it loaded. Those of one need are called in one
    process: what one of them loads they may all load, or it is found with the first.
    """
    folder = tmp_path_factory.mktemp("light")
    path = folder / "relayboard.db"
    path.write_bytes(sqlite_template.read_bytes())
    url = f"sqlite:///{path}"
    database = open_database(url)
    with database.writing() as tx:
        workspace = create_workspace(tx, "Riverside Health", country="RW", timezone="Africa/Kigali")
    environment = os.environ | {
        "RELAYBOARD_DATABASE_URL": url,
        "RELAYBOARD_QUEUE_URL": f"sqlite:///{folder / 'queue.db'}",
        "RELAYBOARD_SECRET_KEY": SECRET_KEY,
        "RELAYBOARD_MEDIA_URL": f"file://{folder / 'media'}",
        "PYTHONPATH": str(Path(__file__).parents[3]),
    }
    groups = [[words for words in LIGHT if NEEDS.get(words, set()) == needed] for needed in find_needs()]
    token = make_token(database, workspace, "administrator")
    service = RunningService(url, folder, environment, database, workspace, token, are_forked=True)
    try:
        service.start("api")
        service.wait_until_ready()
        with made_world(service, folder) as world:
            lines = [json.dumps([arrange(words, GOOD[words][0], world)[0] for words in each]) + "\n" for each in groups]
    finally:
        service.close()
    said = subprocess.run(
        [sys.executable, "-m", "tests.relayboard.every_command.loaded", *HEAVY],
        input="".join(lines),
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
        check=True,
    )
    told = [json.loads(line) for line in said.stdout.splitlines()]
    called = [words for group in groups for words in group]
    return {words: (each["status"], set(each["heavy"])) for words, each in zip(called, told, strict=True)}


def find_needs() -> list[set[str]]:
    """The sets that commands need, the largest first: a webhook that is set would let later commands load more."""
    needs = dict.fromkeys(frozenset(NEEDS.get(words, set())) for words in LIGHT)
    return [set(each) for each in sorted(needs, key=len, reverse=True)]


def test_every_command_is_light_or_said_to_be_heavy() -> None:
    assert {*LIGHT, *READ_DEFINITIONS, *CALL_SERVERS, *DO_JOBS, *SERVICES, *APART, ("completion",)} == set(LEAVES)


# One test, so that only one of several processes that share the tests calls all commands.
def test_each_command_loads_only_what_it_needs(loaded: dict[Leaf, tuple[int, set[str]]]) -> None:
    extra = {words: sorted(heavy - NEEDS.get(words, set())) for words, (_, heavy) in loaded.items()}

    assert {words: status for words, (status, _) in loaded.items() if status} == {}
    assert [f"{' '.join(words)}: {modules}" for words, modules in extra.items() if modules] == []
