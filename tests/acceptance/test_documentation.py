"""Every command and every example of README and docs/ works as described."""

import doctest
import gzip
import importlib.util
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from uuid import uuid4

import click
import pytest
import requests
import yaml
from markdown_it import MarkdownIt

from persistence.migrations import list_revisions
from relayboard.flow_tools.files import write_folder
from testbed.running import wait_until
from testbed.servers import postgres_database
from testbed.tokens import SECRET_KEY
from tests.console_script import PATIENCE_SECONDS, Started, call_forked, make_environment, started
from tests.definition_files import tested
from tests.documentation import PAGES, ROOT, Block, expand, read_blocks, read_inline_commands
from tests.relayboard.every_command.cases import SERVICES as SERVICE_CASES
from tests.relayboard.every_command.leaves import LEAVES
from tests.relayboard.every_command.running import Run
from tests.relayboard.every_command.world import World
from tests.thinned import EVERY_CASE
from worker.webhooks.dispatcher import Reply, read_answer

BLOCKS = [pytest.param(block, id=block.name) for page in PAGES for block in read_blocks(page)]
COMMANDS = [
    pytest.param(command, id=f"{block.name} {command[:60]}")
    for page in PAGES[1:]
    for block in read_blocks(page)
    if block.kind == "shell" and block.reason is None
    for line in block.text.splitlines()
    for command in expand(line)
]
SENTENCES = [
    pytest.param(command, id=f"{page.name} {command[:60]}")
    for command, page in {command: page for page in PAGES for command in read_inline_commands(page)}.items()
]
SERVICES = ("serve", "worker", "demo", "listen")
MOST_EXCEPTIONS = 4
APART_COMMANDS = ("restore", "copy-database")
FOLDERS = ("bench", "channels", "console", "flows", "handlers", "openapi", "persistence", "relayboard", "testbed")
FOLDERS += ("tests", "tools", "worker")


def read_words(command: str) -> tuple[str, ...]:
    return tuple(shlex.split(command, comments=True))


def is_process(command: str) -> bool:
    """Whether a command needs a database of its own, or runs until it is stopped."""
    words = read_words(command)
    return words[1] in APART_COMMANDS or (any(word in SERVICES for word in words[1:3]) and "--help" not in words)


def by_kind(*kinds: str) -> list[pytest.ParameterSet]:
    return [each for each in BLOCKS if block_of(each).kind in kinds and block_of(each).reason is None]


def add_nothing(words: tuple[str, ...], others: Iterable[tuple[str, ...]]) -> bool:
    """Whether another command starts the same with these options and more."""
    return any(len(other) > len(words) and set(words) <= set(other) for other in others)


def is_started_elsewhere(words: tuple[str, ...]) -> bool:
    """Whether other tests start such a process with each of these options."""
    known = STARTED_ELSEWHERE.get(words[1:2], STARTED_ELSEWHERE.get(words[1:3]))
    return known is not None and {word for word in words if word.startswith("--")} <= known and not EVERY_CASE


STARTED_ELSEWHERE: dict[tuple[str, ...], set[str]] = {
    **{leaf: set(shlex.split(" ".join(SERVICE_CASES[leaf]))) for leaf in (("serve",), ("webhook", "listen"))},
    ("demo",): {"--port"},
    ("worker",): {"--metrics-port", "--senders"},
    ("restore",): set(),
    ("copy-database",): {"--from", "--to"},
}
"""By tests/relayboard/test_starting.py, test_demo.py, tests/worker/test_senders.py, and test_backups.py and
test_copying.py in tests/persistence/backups."""
_PROCESSES = {read_words(each.values[0]) for each in COMMANDS if is_process(each.values[0])}
PROCESSES = sorted(words for words in _PROCESSES if not (add_nothing(words, _PROCESSES) or is_started_elsewhere(words)))


def block_of(case: pytest.ParameterSet) -> Block:
    block = case.values[0]
    assert isinstance(block, Block)
    return block


def test_every_block_is_run_or_says_why_not_and_few_are_not():
    blocks = [block_of(each) for each in BLOCKS]

    assert [block.name for block in blocks if not block.kind and block.reason is None] == []
    reasons = [block.reason for block in blocks if block.reason]
    not_run = [reason for reason in reasons if not (ROOT / reason.split()[0]).is_file()]
    assert len(not_run) <= MOST_EXCEPTIONS, "a reason may begin with the test that runs the block instead"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_line_of_a_paragraph_is_read_as_a_list(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    lists = [token.map[0] for token in MarkdownIt().parse(text) if token.type.endswith("list_open") and token.map]

    assert [line + 1 for line in lists if line and text.splitlines()[line - 1].strip()] == []


@pytest.mark.parametrize("block", by_kind("json"))
def test_json_is_json(block: Block) -> None:
    for line in [block.text] if "\n" in block.text else block.text.splitlines():
        json.loads(line)


@pytest.mark.parametrize("block", by_kind("yaml"))
def test_yaml_is_yaml_and_names_settings_that_there_are(block: Block) -> None:
    assert yaml.safe_load(block.text)
    known = (ROOT / "docs" / "settings.md").read_text()
    assert [name for name in re.findall(r"RELAYBOARD_\w+", block.text) if f"| `{name}` |" not in known] == []


def test_the_reply_that_receivers_may_give_is_one():
    (block,) = (block for block in read_blocks(ROOT / "docs" / "webhooks.md") if block.kind == "json")

    assert isinstance(read_answer(block.text.encode()), Reply)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_answers_as_printed_from_the_top_of_its_page_to_the_end(page: Path, tmp_path: Path, monkeypatch) -> None:
    blocks = [block for block in read_blocks(page) if block.kind == "python" and block.reason is None]
    source = "\n\n".join(block.text for block in blocks)
    shutil.copy(ROOT / "tests" / "flows" / "exports" / "registration.json", tmp_path / "export.json")
    monkeypatch.chdir(tmp_path)
    examples = doctest.DocTestParser().get_doctest(source + "\n", {}, page.name, str(page), 0)
    told: list[str] = []

    outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=told.append)

    assert outcome.failed == 0, "".join(told)
    assert outcome.attempted >= len(blocks)


LAST_FILE = "secret.txt"
TYPED = {"user password": "the river is wide in march\n"}
"""What is typed into a command; others get an answer to a question of a flow."""


def fill(command: str, world: World) -> list[str]:
    """The words of a command with the world's names instead of UUID and other placeholders."""
    names = world.names
    words = shlex.split(command, comments=True)
    values = {"workspace": "workspace", "flow": "flow", "campaign": "campaign", "trigger": "trigger", "group": "group"}
    values |= {"channel": "gateway" if words[1:3] in (["channel", "limit"], ["channel", "secret"]) else "channel"}
    values |= {"flow": "spare_flow"} if words[1:3] == ["flow", "archive"] else {}
    given = {
        "UUID": "workspace",
        "MEDIA_UUID": "media",
        "C": "claim_code",
        "FILE.geojson": "boundaries",
        "ID": "subscriber",
        "IMPORT": "past_import" if words[1:3] == ["contact", "take-back-import"] else "import",
    }
    if words[1:3] == ["migrate", "--to"] and len(words) > 3:  # tests/persistence/test_migrations.py goes all the way
        words[3] = list_revisions()[-2]
    filled = []
    for before, word in zip(["", *words], words, strict=False):
        name = values.get(before.removeprefix("--")) if word == "UUID" else given.get(word)
        filled.append(names[name] if name else word)
    return ["https://example.org/hook" if word == "U" else "+250788123123" if word == "P" else word for word in filled]


@pytest.fixture
def filled_folder(world: World) -> Path:
    return fill_folder(Path(world.names["folder"]))


@pytest.fixture
def once_filled_folder(world: World) -> Path:
    """The same as those before left it."""
    folder = Path(world.names["folder"])
    return folder if (folder / LAST_FILE).exists() else fill_folder(folder)


def fill_folder(folder: Path) -> Path:
    """A folder with the files that commands of the guides name."""
    for name in ("registration.json", "export.json"):
        shutil.copy(ROOT / "tests" / "flows" / "exports" / "registration.json", folder / name)
    (folder / "tested.json").write_text(json.dumps(tested()))
    write_folder(folder / "flows", tested())
    (folder / "docs").mkdir(exist_ok=True)
    for place in (folder, folder / "docs"):
        shutil.copy(ROOT / "docs" / "clinic.json", place / "clinic.json")
    (folder / "2025-11-message.jsonl.gz").write_bytes(gzip.compress(b""))
    (folder / "people.csv").write_text("Phone,Name\n+250788000777,Amina\n")
    (folder / LAST_FILE).write_text("whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQ=\n")
    return folder


@pytest.mark.parametrize("command", [each for each in COMMANDS if not is_process(each.values[0])])
def test_a_command_of_the_guides_runs(run: Run, world: World, filled_folder: Path, command: str) -> None:
    words = fill(command, world)

    said = run(words[1:], TYPED.get(" ".join(words[1:3]), "Bob\n"))

    may_find = words[1:2] == ["doctor"] or words[1:3] == ["flow", "check"]
    is_found = may_find and said.status == 1 and said.err == ""
    assert words[0] == "relayboard"
    assert said.status == 0 or is_found, said
    if words[1:3] == ["migrate", "--to"]:  # the other commands need the newest revision
        assert run(["migrate"]).status == 0


@pytest.mark.parametrize("command", PROCESSES)
def test_a_process_of_the_guides_starts_and_ends(
    command: tuple[str, ...], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Each is started once, on whatever page it stands, and with it those that have some of its options."""
    fill_folder(tmp_path)
    if command[1] in APART_COMMANDS:
        run_apart(list(command[1:]), tmp_path, request)
    else:
        run_service(list(command[1:]), tmp_path)


def run_apart(arguments: list[str], place: Path, request: pytest.FixtureRequest) -> None:
    """Runs a command that needs an empty database, with what it needs in a folder of its own."""
    environment = make_environment(SECRET_KEY=SECRET_KEY)
    assert call_forked("migrate", folder=place, environment=environment).returncode == 0
    if arguments[0] == "restore":
        assert call_forked("backup", *arguments[1:], folder=place, environment=environment).returncode == 0
        done = call_forked(*arguments, folder=place, environment=environment)
    else:
        with postgres_database(request.getfixturevalue("postgres_url")) as target:
            done = call_forked(*arguments[:-1], target, folder=place, environment=environment)
    assert (done.returncode, done.stderr) == (0, ""), arguments


def run_service(arguments: list[str], folder: Path) -> None:
    """Starts a service on a free port, and stops it when it works."""
    words = [
        "0" if before.endswith("-port") else word for before, word in zip(["", *arguments], arguments, strict=False)
    ]
    if words[0] == "serve" and "--workers" in words:
        words[words.index("--workers") + 1] = "2"  # each more takes two seconds to start and shows nothing else
    is_free = "--port" in words or words[0] == "worker"
    more = [] if is_free else ["--port", "0"]
    if words[0] == "worker":
        assert call_forked("migrate", folder=folder).returncode == 0
    queue = folder / "var" / f"{uuid4()}.db"
    environment = make_environment(QUEUE_URL=f"sqlite:///{queue}")
    with started(*words, *more, folder=folder, environment=environment) as running:
        if words[0] == "serve":
            check_ready(running)
        elif words[0] == "worker":
            wait_until(queue.exists, "the queue", PATIENCE_SECONDS)
        else:
            running.wait_for("Everything works" if words[0] == "demo" else "Waiting for webhooks")
        assert running.stop() == 0


def check_ready(running: Started) -> str:
    url = running.wait_for(r"listens on (http://\S+)").group(1).replace("0.0.0.0", "127.0.0.1")

    def is_ready() -> bool:
        try:
            return requests.get(f"{url}/health/ready", timeout=30).status_code == 200
        except requests.RequestException:
            return False

    wait_until(is_ready, "the service to be ready", PATIENCE_SECONDS)
    return url


@pytest.mark.parametrize("command", SENTENCES)
def test_a_command_in_a_sentence_is_one(command: str, world: World, once_filled_folder: Path, run: Run) -> None:
    for given in expand(command):
        words = fill(given, world)[1:]
        leaf = next((words[:length] for length in (2, 1) if tuple(words[:length]) in LEAVES), None)
        assert leaf is not None or words == ["--help"] or run([*words, "--help"]).status == 0
        if leaf is None:
            continue
        params = LEAVES[tuple(leaf)].params
        options = {name for param in params for name in (*param.opts, "--help")}
        assert [word for word in words if word.startswith("--") and word not in options] == []
        needed = [[param] for param in params if param.required]
        needed += [group.params for group in getattr(LEAVES[tuple(leaf)], "groups", ()) if group.required]
        names_record = len(words) > len(leaf) and not words[len(leaf)].startswith("--")
        is_whole = all(
            any(isinstance(param, click.Argument) and (param.required or names_record) for param in one_of)
            or {name for param in one_of for name in param.opts} & set(words)
            for one_of in needed
        )
        if is_whole and len(words) > len(leaf) and leaf[0] not in ("serve", "worker", "demo"):
            assert run(words, "Bob\n").status in (0, 1)


@pytest.fixture
def shell(installed: Path) -> list[str]:
    """The commands of README in a shell that has activated what `make serve` installed."""
    return ["bash", "-c", 'source .venv/bin/activate && exec "$@"', "bash"]


def test_readme_works_as_printed(installed: Path, shell: list[str]) -> None:
    (block,) = (block for block in read_blocks(ROOT / "README.md") if block.text.startswith("relayboard serve"))
    names: dict[str, str] = {}
    with started("relayboard", "serve", "--port", "0", folder=installed, command=shell) as running:
        url = check_ready(running)
        for line in block.text.splitlines()[1:]:
            words = [names.get(word, word) for word in shlex.split(line, comments=True)]
            if words[0] == "curl":
                check_curl(words, url, names["TOKEN"])
                continue
            typed = TYPED.get(" ".join(words[1:3]), "Bob\n")
            done = call_forked(*words[1:], folder=installed, environment=make_environment(), typed=typed)
            assert (done.returncode, done.stderr) == (0, ""), line
            if words[1] == "workspace":
                names["UUID"] = json.loads(done.stdout)["uuid"]
            if words[1] == "token":
                names["TOKEN"] = json.loads(done.stdout)["token"]
        assert running.stop() == 0


def check_curl(words: list[str], url: str, token: str) -> None:
    """What curl does with `-H HEADER URL`, for machines that have none."""
    assert words[:2] == ["curl", "-H"] and len(words) == 4
    name, value = words[2].replace("TOKEN", token).split(": ", 1)
    answer = requests.get(words[3].replace("http://127.0.0.1:8080", url), headers={name: value}, timeout=60)
    assert answer.status_code == 200


def test_the_makefile_has_the_goals_that_readme_names():
    goals = re.findall(r"^    make (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE)

    for goal in goals:
        planned = subprocess.run(["make", "-n", goal], cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert planned.returncode == 0
    assert goals == ["serve", "test"]


def test_python_modules_that_pages_name_can_be_run():
    modules = {name for page in PAGES for name in re.findall(r"python -m ([\w.]+)", page.read_text())}

    assert [name for name in modules if importlib.util.find_spec(name) is None] == []


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_files_that_pages_name_are_there(page: Path) -> None:
    places = "|".join((*FOLDERS, "deploy", "docs"))
    named = re.findall(rf"`((?:{places})/[\w/.-]+\.\w+)`", page.read_text(encoding="utf-8"))

    assert [name for name in named if "NAME" not in name and not (ROOT / name).exists()] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_folder_says_in_ten_lines_what_lives_there_and_names_only_what_there_is(folder: str) -> None:
    text = (ROOT / folder / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/.]+(?:/|\.py|\.js|\.md|\.yaml))`", text.replace("NAME.yaml", ""))

    assert len(text.splitlines()) <= 12
    assert "**Imports**" in text and "**Begin**" in text
    assert [name for name in named if not (ROOT / folder / name).exists() and not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("decisions-*.md")), ids=lambda page: page.name)
def test_a_page_of_decisions_is_one_that_a_reader_finishes(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    decisions = re.findall(r"^\* .*(?:\n  .*)*", text, re.MULTILINE)

    assert f"]({page.name})" in (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 130
    assert [each for each in decisions if each.count("\n") > 2 or not each.startswith("* **")] == []
    assert [line for line in text.splitlines() if line and not line.startswith(("#", "* ", "  "))] == []
