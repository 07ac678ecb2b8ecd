"""Services by their names: they start, answer and stop; what cannot start says why once and ends with status 1."""

import importlib.metadata
import sys
import tomllib
from pathlib import Path

import pytest
import requests
from packaging.requirements import Requirement
from sqlalchemy import func, select

from persistence.database import Database
from persistence.tables.service import worker_heartbeat
from relayboard.processes import listen
from testbed.running import RunningService, forked_service, wait_until
from testbed.servers import postgres_database
from tests.console_script import Started, call_forked, make_environment, started
from tests.relayboard.every_command.cases import SERVICES
from tests.worker.conftest import redis_server

ROOT = Path(__file__).parents[2]
TRAPS = ("worker", "handlers", "flows", "persistence", "openapi", "relayboard", "logging", "json", "uvicorn", "huey")
LISTENING = r"listens on (http://\S+)"


def put_database(folder: Path, template: Path) -> None:
    """Where a service looks for its database there is one with the newest schema, which it need not make."""
    (folder / "var").mkdir(mode=0o700)
    path = folder / "var" / "relayboard.db"
    path.touch(0o600)
    path.write_bytes(template.read_bytes())


@pytest.fixture
def trapped(tmp_path: Path) -> Path:
    """A working directory with files that are called like parts of the program."""
    for name in TRAPS:
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name}.py of the working directory was imported')\n")
    return tmp_path


def wait_until_ready(url: str) -> None:
    def is_ready() -> bool:
        try:
            return requests.get(f"{url}/health/ready", timeout=30).status_code == 200
        except requests.RequestException:
            return False

    wait_until(is_ready, f"{url} to be ready", 300)


def check_calm(running: Started) -> None:
    assert "Traceback" not in running.text
    assert "alembic" not in running.text
    assert "ended with status" not in running.text


def test_a_service_starts_where_files_are_called_like_its_parts(trapped: Path) -> None:
    """Also where there is no database yet, which the first of its processes makes."""
    with started("serve", *["--host", "::1", "--port", "0", "--workers", "2"], folder=trapped) as running:
        url = running.wait_for(LISTENING).group(1)
        wait_until_ready(url)
        assert len(running.text.splitlines()) == 1
        documentation = requests.get(f"{url}/api/v2/docs", timeout=30)
        assert running.stop() == 0

    assert documentation.status_code == 200
    check_calm(running)


def test_a_worker_alone_works_and_stops(trapped: Path, sqlite_template: Path) -> None:
    put_database(trapped, sqlite_template)
    with started(
        "worker", "--workers", "2", folder=trapped, environment=make_environment(LOG_FORMAT="json")
    ) as running:
        wait_until((trapped / "var" / "queue.db").exists, "the queue")
        assert running.stop() == 0

    check_calm(running)


@pytest.mark.parametrize("options", SERVICES["webhook", "listen"])
def test_a_receiver_listens_and_stops(trapped: Path, options: str) -> None:
    (trapped / "secret.txt").write_text("whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQ=\n")
    arguments = options.format(secret_file="secret.txt").split()
    with started("webhook", "listen", *arguments, folder=trapped) as running:
        url = running.wait_for(r"webhooks at (\S+)").group(1)
        answer = requests.post(url, json={"event": "test"}, timeout=30)
        seen = requests.get(url, timeout=30)
        running.wait_for(r'"event":\{"event":"test"\}')
        assert running.stop() == 0

    assert (answer.status_code, seen.status_code) == (200, 200)
    check_calm(running)


@pytest.mark.parametrize("kind", ["redis", "postgresql"])
def test_the_documented_queues_work_with_the_base_install(kind: str, postgres_url: str, tmp_path: Path) -> None:
    servers = {"redis": redis_server, "postgresql": lambda: postgres_database(postgres_url)}
    database_url = f"sqlite:///{tmp_path / 'relayboard.db'}"
    with (
        servers[kind]() as url,
        forked_service(database_url, tmp_path, QUEUE_URL=url.replace("+psycopg2", "")) as service,
    ):
        wait_until(lambda: is_known(service), "the worker to be known in its queue")
        assert [service.stop(name) for name in ("api", "worker")] == [0, 0]

    for log in tmp_path.glob("*.log"):
        assert "Traceback" not in log.read_text()


def is_known(service: RunningService) -> bool:
    ready = requests.get(f"{service.url}/health/ready", timeout=30)
    return ready.status_code == 200 and "warnings" not in ready.json() and has_worker(service.database)


def has_worker(database: Database) -> bool:
    with database.reading() as tx:
        return bool(tx.execute(select(func.count()).select_from(worker_heartbeat)).scalar_one())


def test_the_drivers_of_documented_queues_and_databases_are_in_the_base_install():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {one.name: one.extras for one in map(Requirement, project["dependencies"])}

    assert {"redis", "psycopg", "psycopg2-binary"} <= set(needed)
    assert needed["psycopg"] == {"binary"}  # a machine without libpq has no other
    assert not {"redis", "postgres-queue"} & set(project["optional-dependencies"])
    assert importlib.metadata.version("redis") and importlib.metadata.version("psycopg")


CANNOT_START = [
    (
        "serve --port 0",
        {"DATABASE_URL": "postgresql://localhost:1/x"},
        "the database cannot be used: connection to server",
    ),
    ("serve --port 0", {"QUEUE_URL": "redis://127.0.0.1:1/0"}, "the queue (RELAYBOARD_QUEUE_URL) cannot be used: "),
    (
        "serve --port 0",
        {"QUEUE_URL": "postgresql://127.0.0.1:1/x"},
        "the queue (RELAYBOARD_QUEUE_URL) cannot be used: ",
    ),
    (
        "serve --port 0",
        {"QUEUE_URL": "sqlite://"},
        "RELAYBOARD_QUEUE_URL cannot be used: a queue in SQLite needs a file",
    ),
    ("serve --port 0", {"QUEUE_URL": "redis://127.0.0.1:no/0"}, "the queue (RELAYBOARD_QUEUE_URL) cannot be used: "),
    (
        "serve --port 0",
        {"DATABSE_URL": "x"},
        "RELAYBOARD_DATABSE_URL is not a setting; did you mean RELAYBOARD_DATABASE_URL?",
    ),
    (
        "serve --port 0",
        {"DATABASE_URL": "mysql://localhost/x"},
        "RELAYBOARD_DATABASE_URL cannot be used: expected a URL like",
    ),
    ("serve --host nowhere.invalid", {}, "cannot listen on nowhere.invalid:8080: "),
    ("serve --host 192.0.2.1", {}, "cannot listen on 192.0.2.1:8080: "),
    ("worker", {"SMTP_URL": "nonsense"}, "RELAYBOARD_SMTP_URL cannot be used: "),
    ("demo --port 0", {"QUEUE_URL": "redis://127.0.0.1:1/0"}, "the queue (RELAYBOARD_QUEUE_URL) cannot be used: "),
    ("migrate --to 0099", {}, "there is no migration '0099'; there are base, 0001"),
    ("workspace list", {}, "the database has no tables yet: run `relayboard migrate`"),
    (
        "worker",
        {"DATABASE_URL": "sqlite:////dev/null/x.db", "SECRET_KEY": "a-key-that-only-tests-use"},
        "the file of the database is not there: RELAYBOARD_DATABASE_URL names /dev/null/x.db",
    ),
    ("serve --port 0", {"DATABASE_URL": "sqlite:////dev/null/x.db"}, "/dev/null"),
]
WRONG_USAGE = [
    ("serve --workers 0", "Invalid value for '--workers': '0' is not a whole number between 1 and 256"),
    ("serve --port 99999", "Invalid value for '--port': '99999' is not a whole number between 0 and 65535"),
    ("worker --workers 0", "Invalid value for '--workers': '0' is not a whole number between 1 and 1000"),
    ("webhook listen --port 99999", "Invalid value for '--port': '99999' is not a whole number between 0 and 65535"),
]


@pytest.mark.parametrize(("command", "settings", "sentence"), CANNOT_START)
def test_what_cannot_start_says_why_once_and_ends_with_1(
    tmp_path: Path, sqlite_template: Path, command, settings, sentence
) -> None:
    arguments = [word.strip("'") for word in command.split()]
    if "QUEUE_URL" in settings:
        put_database(tmp_path, sqlite_template)

    ended = call_forked(*arguments, folder=tmp_path, environment=make_environment(**settings))

    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("relayboard: ") and sentence in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize(("command", "sentence"), WRONG_USAGE)
def test_a_number_out_of_bounds_is_wrong_usage(tmp_path: Path, command: str, sentence: str) -> None:
    ended = call_forked(*command.split(), folder=tmp_path)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.splitlines()[-1].endswith(f"error: {sentence}")


def test_a_busy_port_is_named(tmp_path: Path) -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        ended = call_forked("serve", "--port", str(port), folder=tmp_path)

    assert ended.returncode == 1
    assert ended.stderr == f"relayboard: cannot listen on 127.0.0.1:{port}: Address already in use\n"


def test_output_that_nobody_reads_is_no_fault(tmp_path: Path, sqlite_template: Path) -> None:
    put_database(tmp_path, sqlite_template)
    script = f"{Path(sys.executable).parent / 'relayboard'} workspace list | true"
    with started("-c", script, folder=tmp_path, command=["sh"]) as running:
        assert running.process.wait(300) == 0

    assert running.text == ""
