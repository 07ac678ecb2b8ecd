"""The nodes: API processes and workers, each with metrics of its own, which are killed and started again."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import requests
from prometheus_client.parser import text_string_to_metric_families

from relayboard.processes import listen, url_of

LOCAL = "127.0.0.1"
ANSWER_SECONDS = 5.0


@dataclass(slots=True)
class Node:
    """A process of its own; an API process keeps its address when it is started again, as behind a balancer."""

    name: str
    environment: Mapping[str, str]
    log: Path
    listener: socket.socket | None
    metrics_url: str
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "relayboard", "worker", "--metrics-port", self.metrics_url.split(":")[2][:-8]]
        passed: tuple[int, ...] = ()
        if self.listener is not None:
            passed = (self.listener.fileno(),)
            command = [sys.executable, "-m", "relayboard.api_process", str(passed[0])]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, env=self.environment, pass_fds=passed, stdout=log, stderr=log, start_new_session=True
            )

    def kill(self) -> None:
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def read_metrics(self) -> dict[str, float] | None:
        """The counters of the process; None if it does not answer."""
        try:
            page = requests.get(self.metrics_url, timeout=ANSWER_SECONDS)
        except requests.RequestException:
            return None
        counters: dict[str, float] = {}
        for family in text_string_to_metric_families(page.text):
            if family.type == "counter":
                for sample in family.samples:
                    counters[f"{sample.name}{sorted(sample.labels.items())}"] = sample.value
        return counters


@dataclass(slots=True)
class Totals:
    """The sums of counters over all nodes and their restarts, as Prometheus makes them: a counter that is smaller than
    before began anew. What a process counted after the last look before its death is lost.
    """

    increase: dict[str, float] = field(default_factory=dict)
    _last: dict[str, dict[str, float]] = field(default_factory=dict)

    def look(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            found = node.read_metrics()
            if found is None:
                continue
            before = self._last.get(node.name, {})
            for name, value in found.items():
                had = before.get(name, 0.0)
                self.increase[name] = self.increase.get(name, 0.0) + (value - had if value >= had else value)
            self._last[node.name] = found

    def total(self, name: str, *parts: str) -> int:
        """The sum of the series of a counter whose labels contain these texts."""
        return round(
            sum(
                value
                for series, value in self.increase.items()
                if series.startswith(f"{name}[") and all(part in series for part in parts)
            )
        )


@contextmanager
def running_nodes(environment: Mapping[str, str], folder: Path, apis: int, workers: int) -> Iterator[list[Node]]:
    nodes = []
    for number in range(apis):
        listener = listen(LOCAL, 0)
        url = url_of(LOCAL, listener.getsockname()[1])
        nodes.append(Node(f"api {number + 1}", environment, folder / f"api{number}.log", listener, f"{url}/metrics"))
    for number in range(workers):
        with socket.socket() as free:
            free.bind((LOCAL, 0))
            url = url_of(LOCAL, free.getsockname()[1])
        nodes.append(Node(f"worker {number + 1}", environment, folder / f"worker{number}.log", None, f"{url}/metrics"))
    try:
        for node in nodes:
            node.start()
        yield nodes
    finally:
        for node in nodes:
            node.kill()
            if node.listener is not None:
                node.listener.close()
