"""The command line as a whole; each command has its tests in `every_command` and `commands`."""

import io
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
from tests.each_case import holds_for_each
from tests.relayboard.every_command.leaves import LEAVES, Leaf
from tests.thinned import EVERY_CASE

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
SECRETS = ("--token", "--password", "--api-token", "--secret")
EXAMPLES = [
    (words, example) for words, command in LEAVES.items() if isinstance(command, Action) for example in command.examples
]


def list_loaded(*calls: list[str], **settings: str) -> set[str]:
    """The packages that are loaded once these calls have ended, in one process."""
    program = LOADED.format(calls=calls)
    environment = make_environment(**settings)
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    return set(said.stdout.splitlines()[-1].split())


def test_help_version_and_wrong_usage_load_nothing_that_does_the_work() -> None:
    assert list_loaded(*CALLS) & HEAVY == set()
    assert list_loaded(*CALLS[:-1]) & {"channels", "flows", "regex", "ssl"} == set(), (
        "only commands of channels need them"
    )


def test_a_short_command_loads_the_database_and_little_else(sqlite_template: Path, tmp_path: Path) -> None:
    database = shutil.copy(sqlite_template, tmp_path)
    loaded = list_loaded(["workspace", "list"], DATABASE_URL=f"sqlite:///{database}", SECRET_KEY=SECRET_KEY)

    assert loaded & HEAVY == {"sqlalchemy", "cryptography"}


@holds_for_each([*LEAVES])
def test_the_work_of_every_command_is_there(words: Leaf) -> None:
    command = LEAVES[words]

    assert isinstance(command, Action) and callable(command.load())


@holds_for_each(EXAMPLES)
def test_every_example_of_help_can_be_typed(case: tuple[Leaf, str]) -> None:
    words, example = case
    given = shlex.split(example.partition(" < ")[0])

    assert LEAVES[words].make_context(" ".join(words), given).params.keys() >= set()


def test_an_unknown_option_is_refused_with_the_usage_of_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["label", "create", "--workspace", "x", "--name", "Urgent", "--colour", "red"])

    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert said.startswith("usage: relayboard label create")
    assert said.endswith("relayboard label create: error: No such option '--colour'.\n")


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_as_an_argument_is_not_shown(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    def is_refused(words: Leaf) -> None:
        for given in ([name, "hunter2"], [f"{name}=hunter2"]):
            with pytest.raises(SystemExit) as ended:
                main([*words, *given])

            said = capsys.readouterr().err
            assert ended.value.code == 2
            assert f"a {name.rpartition('-')[2]} is a secret and no argument: " in said
            assert "hunter2" not in said

    strangers = [words for words in LEAVES if not any(name in param.opts for param in LEAVES[words].params)]
    strangers = strangers if EVERY_CASE else strangers[SECRETS.index(name) :: len(SECRETS)]
    holds_for_each(strangers)(is_refused)()


@pytest.mark.parametrize("given", [("user", "password"), ("move",), ("webhook", "listen")], ids=" ".join)
def test_a_secret_as_a_word_too_many_is_not_shown(given: Leaf, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*given, "--email=ann@example.org", "hunter2"] if given[0] == "user" else [*given, "hunter2"])

    said = capsys.readouterr().err
    assert "hunter2" not in said


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["tokn", "list"], "No such command 'tokn'. Did you mean 'token'?"),
        (["workspace", "lits"], "No such command 'lits'. Did you mean 'list'?"),
        (["label", "create", "--nmae", "x"], "No such option '--nmae'. Did you mean '--name'?"),
        (["label", "create", "--na", "x"], "No such option '--na'. Did you mean '--name'?"),
        (["move", "--token", "x"], "a token is a secret and no argument: use --token-file or RELAYBOARD_MOVE_TOKEN"),
        (["migrate", "--distribute", "--to", "head"], "--distribute and --to cannot be given together"),
        (["channel", "limit", "--channel", "x"], "one of --messages-per-second, --off is required"),
    ],
)
def test_wrong_usage_says_what_was_meant(given: list[str], meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(given)

    assert (ended.value.code, capsys.readouterr().err.splitlines()[-1].partition(": error: ")[2]) == (2, meant)


def test_a_noun_alone_shows_its_commands_as_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["token"])

    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (2, "")
    assert "revoke" in said.err


class TestWorkspace:
    """RELAYBOARD_WORKSPACE is the default of --workspace."""

    COMMAND = LEAVES["label", "list"]

    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)

    def named(self, *given: str) -> object:
        return self.COMMAND.make_context("list", list(given)).params["workspace"]

    def test_it_comes_from_the_environment_then_from_the_file(self, monkeypatch: pytest.MonkeyPatch) -> None:
        Path(".env").write_text("RELAYBOARD_WORKSPACE=filed\n")
        assert self.named() == "filed"

        monkeypatch.setenv("RELAYBOARD_WORKSPACE", "set")
        assert self.named() == "set"
        assert self.named("--workspace", "given") == "given"

    def test_a_file_that_is_not_utf8_is_refused_in_a_sentence(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path(".env").write_text("RELAYBOARD_WORKSPACE=filed\n", encoding="utf-16")

        for words in (["label", "list"], ["status"], ["doctor"], ["serve"]):
            assert main(words) == 1
            assert capsys.readouterr().err == "relayboard: the file .env is not UTF-8: save it as UTF-8\n"

    @pytest.mark.parametrize("where", ["environment", "file"])
    def test_a_variable_with_a_typing_error_is_named_where_the_option_is_missing(
        self, where: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        if where == "file":
            Path(".env").write_text("RELAYBOARD_WORKSPCE=filed\n")
        else:
            monkeypatch.setenv("RELAYBOARD_WORKSPCE", "set")
        with pytest.raises(SystemExit):
            main(["label", "list"])

        said = capsys.readouterr().err
        assert "Missing option '--workspace'. RELAYBOARD_WORKSPCE is not a setting; did you mean " in said
        assert said.endswith("did you mean RELAYBOARD_WORKSPACE?\n")

    def test_without_it_the_option_is_required(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            main(["label", "list"])

        assert "Missing option '--workspace'" in capsys.readouterr().err


class TestConfirmation:
    """What destroys asks on a terminal; in a pipe a new command needs --yes, one of version 0.2 goes on as before."""

    @pytest.fixture
    def done(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        done: list[str] = []
        monkeypatch.setattr(Action, "load", lambda self: lambda options: done.append(str(self.name)))
        return done

    def test_a_new_command_refuses_in_a_pipe(self, done: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["label", "delete", "--workspace", "x", "y"]) == 1
        assert capsys.readouterr().err.endswith("which cannot be undone: say --yes\n")
        assert main(["label", "delete", "--workspace", "x", "y", "--yes"]) == 0
        assert done == ["delete"]

    def test_a_command_of_published_scripts_does_not(self, done: list[str]) -> None:
        assert main(["token", "revoke", "--workspace", "x", "y"]) == 0
        assert done == ["revoke"]

    def test_a_command_that_destroys_only_with_a_flag_asks_only_with_it(
        self, done: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for stream in ("stdin", "stderr"):
            monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True)
        monkeypatch.setattr("click.confirm", lambda sentence, err: False)

        assert main(["secrets", "renew"]) == 0
        assert main(["secrets", "renew", "--drop-unreadable"]) == 1
        assert main(["secrets", "renew", "--drop-unreadable", "--yes"]) == 0
        assert done == ["renew", "renew"]

    @pytest.mark.parametrize(("typed", "status"), [("y\n", 0), ("n\n", 1), ("", 130)])
    @pytest.mark.parametrize("words", [["label", "delete"], ["token", "revoke"]])
    def test_a_terminal_is_asked(
        self, done: list[str], monkeypatch: pytest.MonkeyPatch, words: list[str], typed: str, status: int
    ) -> None:
        terminal = io.StringIO(typed)
        terminal.isatty = lambda: True
        monkeypatch.setattr("sys.stdin", terminal)
        monkeypatch.setattr("sys.stderr.isatty", lambda: True)

        assert main([*words, "--workspace", "x", "y"]) == status
        assert bool(done) is (status == 0)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] if EVERY_CASE else [">&-", "<&- >&- 2>&-"])
def test_a_process_without_standard_streams_says_nothing(closed: str, database_url: str, tmp_path: Path) -> None:
    call = f"{shlex.quote(sys.executable)} -m relayboard workspace list"
    environment = make_environment(DATABASE_URL=database_url, SECRET_KEY=SECRET_KEY)

    done = subprocess.run(["sh", "-c", f"{call} {closed}"], capture_output=True, cwd=tmp_path, env=environment)

    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, b"" if ">&-" in closed.split() else b"[]", b"")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands_options_and_words(
    shell: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def complete(line: str) -> str:
        words = line.split(" ")
        given = {"COMP_WORDS": line, "COMP_CWORD": words[-1] if shell == "fish" else str(len(words) - 1)}
        for name, value in {**given, "_RELAYBOARD_COMPLETE": f"{shell}_complete"}.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit):
            main([])
        return capsys.readouterr().out

    assert "workspace" in complete("relayboard work")
    assert "--timezone" in complete("relayboard workspace create --time")
    assert "surveyor" in complete("relayboard user create --role surv")
