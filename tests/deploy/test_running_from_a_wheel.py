"""What the image, compose.yaml and the documents run is run here, from a wheel in an environment of its own."""

import json
import re
import signal
import subprocess
import tarfile
import time
import tomllib
import zipfile
from pathlib import Path

import pytest
import requests

from persistence.database import Database
from persistence.service.diagnosis import list_heartbeats
from relayboard.processes import listen
from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from tests.console_script import Started, started
from tests.deploy.conftest import DECLARED, HERE, INTERPRETERS, NEWEST, Built, bare_environment, install_tool
from tests.deploy.files import DEPLOY, ROOT, STATE, read_compose, read_image
from tests.relayboard.test_starting import TRAPS, check_calm

PACKAGES = ("openapi", "handlers", "persistence", "worker", "channels", "flows", "relayboard")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def free_port() -> str:
    with listen("127.0.0.1", 0) as listener:
        return str(listener.getsockname()[1])


def elsewhere(words: list[str], ports: dict[str, str]) -> list[str]:
    """A command with other ports than those that the container has for itself."""
    return [re.sub("|".join(ports), lambda found: ports[found[0]], word) for word in words]


def image_settings(state: Path) -> dict[str, str]:
    environment = read_image().environment
    return {name: text.replace(STATE, str(state)) for name, text in environment.items() if name != "PATH"}


def wait_until_healthy(words: list[str], environment: dict[str, str]) -> None:
    """Until what the check asks answers; and then the check itself says so too."""
    (url,) = re.findall(r"http://[^']+", " ".join(words))

    def answers() -> bool:
        try:
            return requests.get(url, timeout=PATIENCE_SECONDS).status_code == 200
        except requests.RequestException:
            return False

    wait_until(answers, f"{url} to answer")
    assert subprocess.run(words, env=environment, capture_output=True, timeout=PATIENCE_SECONDS).returncode == 0


def stop_in_time(running: Started, grace_seconds: float) -> None:
    """Stop it as the image is stopped; it ends by itself before it would be killed."""
    began = time.monotonic()
    assert running.stop(signal.Signals[read_image().stop_signal]) == 0
    assert time.monotonic() - began < grace_seconds


@pytest.mark.benchmark
def test_the_image_runs_from_a_wheel_in_an_empty_environment(program: Path, tmp_path: Path) -> None:
    """When every case is wanted: the other test runs its parts."""
    image = read_image()
    ports = {"8080": free_port()}
    environment = bare_environment(program, **image_settings(tmp_path / "state"))
    (tmp_path / "state").mkdir()
    with started(
        *elsewhere(image.command, ports), folder=tmp_path, environment=environment, command=image.entrypoint
    ) as running:
        wait_until_healthy(elsewhere(image.health, ports), environment)
        stop_in_time(running, 45)

    assert {each.name for each in (tmp_path / "state").iterdir()} >= {"relayboard.db", "queue.db", "secret.key"}


def seconds(text: str) -> float:
    assert text.endswith("s")
    return float(text[:-1])


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_the_services_of_compose_run_from_a_wheel(database_url: str, program: Path, tmp_path: Path) -> None:
    """In their order: migrate, then API and worker, each healthy by its own check; and each stops in its time, also
    where files of the working directory are called like its parts."""
    for name in TRAPS:
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name}.py of the working directory was imported')\n")
    image, services = read_image(), read_compose()["services"]
    ports = {"8080": free_port(), "9464": free_port()}
    settings = image_settings(tmp_path) | {
        "RELAYBOARD_DATABASE_URL": database_url,
        "RELAYBOARD_QUEUE_URL": database_url,
        "RELAYBOARD_SECRET_KEY": "a-key-that-only-tests-use",
    }
    environment = bare_environment(program, **settings)
    version = [*image.entrypoint, "--version"]
    shown = subprocess.run(version, env=environment, capture_output=True, text=True, check=True)
    assert (shown.stdout, interpreter_in(program)) == (f"relayboard {PROJECT['version']}\n", f"python{NEWEST}")
    words = {name: [*elsewhere(services[name]["command"], ports)] for name in ("migrate", "api", "worker")}
    subprocess.run(
        [*image.entrypoint, *words["migrate"]], cwd=tmp_path, env=environment, check=True, capture_output=True
    )
    api = started(*words["api"], folder=tmp_path, environment=environment, command=image.entrypoint)
    worker = started(*words["worker"], folder=tmp_path, environment=environment, command=image.entrypoint)
    with api as one:
        wait_until_healthy(elsewhere(image.health, ports), environment)
        with worker as other:  # begun when nothing is left to compile
            wait_until_healthy(elsewhere(services["worker"]["healthcheck"]["test"][1:], ports), environment)
            wait_until(lambda: len(heartbeats(database_url)) == 1, "the worker to be seen")
            for name, running in (("api", one), ("worker", other)):
                stop_in_time(running, seconds(services[name]["stop_grace_period"]))
                check_calm(running)

    assert heartbeats(database_url) == []


def heartbeats(url: str) -> list[object]:
    database = Database(url)
    try:
        with database.reading() as tx:
            return list(list_heartbeats(tx))
    finally:
        database.close()


@pytest.mark.benchmark
@pytest.mark.parametrize("version", [each for each in INTERPRETERS if each != NEWEST] or [HERE])
def test_a_tool_that_keeps_programs_apart_installs_it_on_each_interpreter_that_is_declared(
    built: Built, version: str, tmp_path: Path
) -> None:
    """When every case is wanted: the other tests run the newest one, and the oldest runs all tests but these."""
    commands = install_tool(str(built.wheel), version, tmp_path)
    environment = bare_environment(commands, **image_settings(tmp_path))
    migrated = subprocess.run(["relayboard", "migrate"], env=environment, capture_output=True, text=True)

    assert json.loads(migrated.stdout)["revision"]
    assert interpreter_in(commands) == f"python{version}"


def interpreter_in(commands: Path) -> str:
    (python,) = commands.parent.glob("lib/python3.*")
    return python.name


def test_versions_of_the_interpreter_are_declared_one_by_one() -> None:
    named = [name.rsplit(" ", 1)[1] for name in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", name)]

    assert PROJECT["requires-python"] == f">={DECLARED[0]}"
    assert tuple(named) == DECLARED
    assert HERE in DECLARED


def test_a_release_brings_every_file_of_the_packages_and_of_this_folder(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    with zipfile.ZipFile(built.wheel) as wheel:
        installed = set(wheel.namelist())
        shared = {name.partition("share/relayboard/")[2] for name in wheel.namelist() if "share/relayboard/" in name}
    files = {path.relative_to(ROOT) for path in DEPLOY.rglob("*") if path.is_file()}

    ours = {
        str(path.relative_to(ROOT))
        for name in PACKAGES
        for path in (ROOT / name).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.name not in (".DS_Store", "README.md")
    }

    assert ours - installed == set()
    assert {str(path) for path in files} <= packed
    assert {"systemd/relayboard.service", "monitoring/alerts.yaml", "docs/deploying.md"} <= shared
