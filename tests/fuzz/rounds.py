"""One round: a server of its own over a fresh database, and one generator that asks one contract."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from testbed.running import RunningService, running_service
from testbed.servers import postgres_database, postgres_server
from testbed.tokens import make_token
from tests.factories import fill_workspace
from tests.fuzz.contracts import PATHS, gateway_contract
from tests.fuzz.mutating import run_mutating
from tests.fuzz.record import SCHEMATHESIS
from tests.fuzz.reports import Report, errors_in_logs, read_report

DATABASES = ("SQLite", "PostgreSQL")
ROLES = ("administrator", "editor", "viewer", "agent", "surveyor")
ALL_PHASES, LATER_PHASES = "examples,coverage,fuzzing,stateful", "fuzzing,stateful"
ORDER = ("v2", "v1", "v2", "gateway", "v2", "relay")
"""The contracts of successive rounds; v2 has most operations."""
LIMITS = {"REGISTRATION_LIMIT": "100000000/hour", "CALLBACK_LIMIT": "100000000/hour", "STREAM_SECONDS": "0.2"}
"""A fuzzer that is told to wait for an hour finds nothing."""


@dataclass(frozen=True)
class Round:
    """What one round asks; everything follows from its number and the first seed."""

    number: int
    seed: int
    contract: str
    database: str
    role: str
    phases: str
    examples: int
    generator: str = SCHEMATHESIS
    mutations: int = 0

    def __str__(self) -> str:
        role = f" by {self.role}" if self.generator == SCHEMATHESIS else ""
        return f"{self.generator} {self.number}: {self.contract} on {self.database}{role}, seed {self.seed}"


@dataclass
class Result:
    """What a round found. `errors` are what Schemathesis or the logs say besides failed checks."""

    requests: dict[str, int] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    explained: int = 0
    found: list[str] = field(default_factory=list)
    seconds: int = 0


def plan(number: int, first_seed: int, examples: int, generator: str = SCHEMATHESIS, mutations: int = 0) -> Round:
    """The databases alternate after each pass through the contracts, the roles after both. The phases that repeat
    themselves take part only in the first two passes."""
    passes, place = divmod(number, len(ORDER))
    contract, database = ORDER[place], DATABASES[passes % len(DATABASES)]
    is_first = passes < len(DATABASES) and ORDER.index(contract) == place
    role = ROLES[0] if is_first else ROLES[number % len(ROLES)]
    phases = ALL_PHASES if is_first else LATER_PHASES
    return Round(number, first_seed + number, contract, database, role, phases, examples, generator, mutations)


def run_round(
    one: Round,
    folder: Path,
    say_more: tuple[str, ...] = (),
    serve: Callable[..., AbstractContextManager[RunningService]] = running_service,
) -> Result:
    """`folder` is empty and gets the database, the logs and the report; `say_more` are further options."""
    began = time.monotonic()
    with database_of(one.database, folder) as url, serve(url, folder, **LIMITS) as service:
        fill_workspace(service.database, service.workspace)
        if one.generator == SCHEMATHESIS:
            report = run_schemathesis(one, service, folder, say_more)
        else:
            found = run_mutating(service, one.contract, folder, one.seed, one.mutations)
            report = Report(found.requests, found.statuses, found=found.found)
        dead = [name for name, process in service.processes.items() if process.poll() is not None]
        report.found += [f"the process {name} has ended" for name in dead]
    report.found += errors_in_logs(folder)
    return Result(
        dict(report.requests), dict(report.statuses), report.explained, report.found, round(time.monotonic() - began)
    )


def run_schemathesis(one: Round, service: RunningService, folder: Path, say_more: tuple[str, ...]) -> Report:
    report_path = folder / "report.ndjson"
    done = subprocess.run(
        [*command(one, service, folder), "--report-ndjson-path", str(report_path), *say_more],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    report = read_report(report_path) if report_path.exists() else Report()
    if done.returncode not in (0, 1):
        report.found.append(f"schemathesis ended with {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return report


@contextmanager
def database_of(kind: str, folder: Path) -> Iterator[str]:
    if kind == DATABASES[0]:
        yield f"sqlite:///{folder / 'relayboard.db'}"
        return
    with postgres_server() as server, postgres_database(server) as url:
        yield url


def command(one: Round, service: RunningService, folder: Path) -> list[str]:
    """No check is left out; what no schema can express is told apart afterwards."""
    if one.contract == "gateway":
        place = [str(gateway_contract(service, folder)), "--url", service.url]
    else:
        place = [f"{service.url}{PATHS[one.contract]}/openapi.json"]
    if one.contract in ("v1", "v2"):
        token = make_token(service.database, service.workspace, one.role)
        place += ["--header", f"Authorization: Token {token}"]
    options = ["--seed", str(one.seed), "--max-examples", str(one.examples), "--phases", one.phases]
    options += ["--checks", "all", "--continue-on-failure", "--no-shrink", "--report", "ndjson"]
    return [sys.executable, "-W", "ignore", "-m", "schemathesis.cli", "run", *place, *options]
