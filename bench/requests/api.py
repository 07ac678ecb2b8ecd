"""API processes that benchmarks ask, and one request to them."""

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.cpu import Meter
from bench.servers import wait_for
from relayboard.processes import listen
from testbed.tokens import SECRET_KEY

Body = Callable[[], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    path: str
    body: Body | None = None
    count: int = 60


@dataclass(frozen=True, slots=True)
class Api:
    """An API process of one version of the program."""

    port: int
    meter: Meter

    @classmethod
    @contextmanager
    def running(cls, database_url: str, folder: Path | None = None, name: str | None = None) -> Iterator["Api"]:
        """The program in `folder`, this one by default. `name` tells its connections from those of other processes."""
        folder = folder or Path.cwd()
        name = (name or f"bench_{folder.resolve().name}")[:60]
        with TemporaryDirectory() as data, listen("127.0.0.1", 0) as listener:
            environment = {
                **os.environ,
                "PYTHONPATH": str(folder),
                "PGAPPNAME": name,
                "RELAYBOARD_DATABASE_URL": database_url,
                "RELAYBOARD_QUEUE_URL": f"sqlite:///{data}/queue.db",
                "RELAYBOARD_SECRET_KEY": SECRET_KEY,
                "RELAYBOARD_RATE_LIMIT": "1000000000/hour",
                "RELAYBOARD_MEDIA_URL": f"file://{data}/media",
            }
            log = Path(data) / "api.log"
            descriptor = listener.fileno()
            process = subprocess.Popen(
                [sys.executable, "-m", "relayboard.api_process", str(descriptor)],
                env=environment,
                cwd=folder,
                pass_fds=(descriptor,),
                stdout=log.open("wb"),
                stderr=subprocess.STDOUT,
            )
            try:
                port = listener.getsockname()[1]
                wait_for(f"http://127.0.0.1:{port}/health/ready", log)
                yield cls(port, Meter(process.pid, database_url, name))
            finally:
                process.terminate()
                process.wait(30)


def ask(connection: http.client.HTTPConnection, case: Case, token: str) -> None:
    """Sends a request and reads its response. Raises RuntimeError for one that was refused."""
    headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
    body = None if case.body is None else json.dumps(case.body())
    connection.request("GET" if body is None else "POST", case.path, body, headers)
    response = connection.getresponse()
    content = response.read()
    if response.status >= 300:
        raise RuntimeError(f"{case.name}: {response.status} {content[:300]!r}")
