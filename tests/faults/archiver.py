"""What a process does that does nothing but archive, to be killed."""

from persistence.database import Database
from persistence.secrets.encryption import KeyRing
from relayboard.base.settings import load_settings
from worker.jobs import begin_archiving
from worker.runtime import Runtime, open_http


def main() -> None:
    """Archives all that is due, then ends."""
    settings = load_settings()
    runtime = Runtime(settings, Database(settings.database_url, keys=KeyRing.of(settings)), open_http(settings))
    step = begin_archiving(runtime)
    while step():
        pass
