"""A running service of real processes, which tests and benchmarks kill and start again."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

from persistence.database import Database
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace
from relayboard.processes import listen
from relayboard.webhook_listener import WebhookListener
from testbed.databases import migrate, open_database
from testbed.forked import ForkedProcess, fork, run_api, run_worker
from testbed.patience import PATIENCE_SECONDS
from testbed.tokens import SECRET_KEY, make_token

SHOWN_LINES = 20
"""Of each log, when a test fails."""


def wait_until(
    is_true: Callable[[], bool],
    what: str,
    seconds: float = PATIENCE_SECONDS,
    *,
    found: Callable[[], object] = str,
    pause_seconds: float = 0.05,
) -> None:
    """Poll until something is true; the failure names what did not happen, and what was `found` instead."""
    pause = threading.Event()
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, f"waited in vain for {what} {found()}"
        pause.wait(pause_seconds)


@dataclass(slots=True)
class RunningService:
    """An API process and a worker process on one database, which tests kill and start again."""

    database_url: str
    folder: Path
    environment: dict[str, str]
    database: Database
    workspace: Workspace
    token: str
    are_forked: bool = False
    processes: dict[str, subprocess.Popen[bytes] | ForkedProcess] = field(default_factory=dict)
    _listener: Any = None

    def __post_init__(self) -> None:
        self._listener = self._listener or listen("127.0.0.1", 0)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def start(self, name: str) -> None:
        """Start the `api` or a `worker` process (`worker two` is another one)."""
        if self.are_forked:
            main, arguments = (run_api, (self._listener,)) if name == "api" else (run_worker, ())
            log_path = self.folder / f"{name}.log"
            self.processes[name] = fork(main, *arguments, environment=self.environment, log=log_path)
            return
        descriptor = self._listener.fileno()
        commands = {
            "api": [sys.executable, "-m", "relayboard.api_process", str(descriptor)],
            "worker": [sys.executable, "-m", "relayboard", "worker"],
        }
        log = (self.folder / f"{name}.log").open("ab")
        self.processes[name] = subprocess.Popen(
            commands[name.split()[0]],
            env=self.environment,
            pass_fds=(descriptor,) if name == "api" else (),
            stderr=log,
            stdout=log,
            start_new_session=True,
        )
        log.close()

    def let_go(self) -> str:
        """Its URL, where from now on nobody listens but the API process: without one, connections are refused."""
        url = self.url
        self._listener.close()
        return url

    def kill(self, name: str) -> None:
        """End a process by SIGKILL, with everything it started."""
        process = self.processes.pop(name)
        if isinstance(process, ForkedProcess):
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self, name: str) -> int:
        """End a process by SIGTERM; its exit status."""
        process = self.processes.pop(name)
        process.terminate()
        return process.wait(PATIENCE_SECONDS)

    def describe(self) -> str:
        """Whether the processes run, and what they said last."""
        said = []
        for name, process in self.processes.items():
            log = self.folder / f"{name}.log"
            lines = log.read_text(errors="replace").splitlines()[-SHOWN_LINES:] if log.exists() else []
            status = process.poll()
            state = "runs" if status is None else f"has ended with {status}"
            said.append("\n".join([f"{name} {state} and said last:", *lines]))
        return "\n\n".join(said)

    def with_new_workspace(self) -> "RunningService":
        """The same processes for another workspace, as if they ran for it alone."""
        mine = copy(self)
        mine.workspace, mine.token = _make_workspace(self.database)
        return mine

    def close(self) -> None:
        for name in list(self.processes):
            self.kill(name)
        self._listener.close()
        self.database.close()

    def wait_until_ready(self) -> None:
        def is_ready() -> bool:
            try:
                return requests.get(f"{self.url}/health/ready", timeout=PATIENCE_SECONDS).status_code == 200
            except requests.RequestException:
                return False

        wait_until(is_ready, "the API to be ready")

    def get(self, path: str, **query: Any) -> Any:
        response = requests.get(self.url + path, params=query, headers=self._headers(), timeout=PATIENCE_SECONDS)
        assert response.status_code == 200, response.text
        return response.json()

    def post(self, path: str, body: Any, **headers: str) -> Any:
        response = requests.post(
            self.url + path, json=body, headers={**self._headers(), **headers}, timeout=PATIENCE_SECONDS
        )
        assert response.status_code in (200, 201), response.text
        return response.json()

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Token {self.token}"}


def running_service(
    database_url: str, folder: Path, processes: Sequence[str] = ("api", "worker"), **settings: str
) -> AbstractContextManager[RunningService]:
    """A migrated database with a workspace, and the processes running on it; killed at the end."""
    return _run_service(database_url, folder, processes, settings, are_forked=False)


def forked_service(
    database_url: str,
    folder: Path,
    processes: Sequence[str] = ("api", "worker"),
    made: tuple[Workspace, str] | None = None,
    listener: socket.socket | None = None,
    **settings: str,
) -> AbstractContextManager[RunningService]:
    """The same with processes that start faster (`testbed.forked`), on a new database or on one that has the workspace
    and its token that were made before, and at a new address or at that of a `listener`, which is closed at the end.
    """
    return _run_service(database_url, folder, processes, settings, are_forked=True, made=made, listener=listener)


@contextmanager
def _run_service(
    database_url: str,
    folder: Path,
    processes: Sequence[str],
    settings: Mapping[str, str],
    *,
    are_forked: bool,
    made: tuple[Workspace, str] | None = None,
    listener: socket.socket | None = None,
) -> Iterator[RunningService]:
    environment = {
        **os.environ,
        "RELAYBOARD_DATABASE_URL": database_url,
        "RELAYBOARD_QUEUE_URL": f"sqlite:///{folder / 'queue.db'}",
        "RELAYBOARD_SECRET_KEY": SECRET_KEY,
        "RELAYBOARD_MEDIA_URL": f"file://{folder / 'media'}",
        "RELAYBOARD_RATE_LIMIT": "100000000/hour",
        "RELAYBOARD_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
        "RELAYBOARD_WEBHOOK_RETRY_DELAYS_SECONDS": "0.1,0.2,0.4",
        **{f"RELAYBOARD_{name}": value for name, value in settings.items()},
    }
    if made is None:
        migrate(database_url)
    database = open_database(database_url)
    workspace, token = made or _make_workspace(database)
    service = RunningService(
        database_url, folder, environment, database, workspace, token, are_forked, _listener=listener
    )
    try:
        for name in processes:
            service.start(name)
        service.wait_until_ready()
        yield service
    except BaseException as error:
        error.add_note(service.describe())
        raise
    finally:
        service.close()


def _make_workspace(database: Database) -> tuple[Workspace, str]:
    with database.writing() as tx:
        workspace = create_workspace(tx, "Riverside Health", country="RW", timezone="Africa/Kigali")
    return workspace, make_token(database, workspace, "administrator")


class Receiver:
    """A real webhook receiver that counts what it gets by event id."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.ids: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.listener = WebhookListener(0, self._note)
        self.listener.start()

    @property
    def url(self) -> str:
        return f"{self.listener.url}hook?clinic=7"

    def _note(self, shown: dict[str, Any]) -> None:
        with self._lock:
            self.ids[shown["webhook_id"]] += 1
            if self.ids[shown["webhook_id"]] == 1:
                self.events.append(shown["event"])

    def names(self) -> list[str]:
        with self._lock:
            return [event["event"] for event in self.events]

    def close(self) -> None:
        self.listener.stop()
