"""Installations that the doctor examines."""

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import text

from testbed.running import RunningService
from testbed.servers import postgres_database
from tests.console_script import call, call_forked


@dataclass
class Patient:
    """A healthy installation: its service, the settings that the doctor is given, and a folder to break things in."""

    service: RunningService
    folder: Path
    settings: dict[str, str]
    postgres_url: str
    sqlite_template: Path
    postgres_template: str
    ending: ExitStack = field(default_factory=ExitStack)

    def set(self, **settings: str) -> None:
        self.settings |= {f"RELAYBOARD_{name}": value for name, value in settings.items()}


def examine(patient: Patient, *options: str) -> tuple[int, str]:
    run = call if "PYTHONPATH" in patient.settings else call_forked
    done = run("doctor", *options, folder=patient.folder, environment=patient.settings)
    assert done.stderr == "", done.stderr
    return done.returncode, done.stdout


def has_worker(service: RunningService) -> bool:
    marks = service.folder / "media" / ".nodes"
    with service.database.reading() as tx:
        beats = tx.execute(text("select count(*) from worker_heartbeat")).scalar_one()
    return bool(beats) and marks.is_dir() and any(marks.iterdir())


def own_postgres(patient: Patient) -> str:
    """A migrated database in PostgreSQL that nobody works with."""
    own = patient.ending.enter_context(postgres_database(patient.postgres_url, patient.postgres_template))
    patient.set(DATABASE_URL=own)
    return own
