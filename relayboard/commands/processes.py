"""`relayboard serve`, `worker`, `migrate` and `secrets renew`."""

import contextlib
import logging
import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from functools import partial

from persistence.media.store import check_store_package
from persistence.migrations import BASE, goes_back, move_to
from persistence.secrets.encryption import KeyRing
from persistence.secrets.renewal import confirm_secret_key, renew_secrets
from persistence.sql.engines import database_name
from relayboard.base.collection import loading
from relayboard.base.logs import configure_logging
from relayboard.base.settings import Settings, load_settings
from relayboard.commands.output import CommandFailed, opened_database, print_json
from relayboard.commands.progress import show_progress
from relayboard.processes import (
    METRICS_FOLDER,
    Supervisor,
    listen,
    service_children,
    stopped_by_signals,
    url_of,
)
from relayboard.startup import check_database, configured_database, migrate_database
from relayboard.usage.parts import Options

logger = logging.getLogger("relayboard.processes")


def prepare(settings: Settings) -> None:
    """Checks what a service needs before it starts: the newest schema, the right secret key, a queue. Raises an
    error if something is wrong."""
    with loading():
        from worker.app import check_queue  # loads Huey, which `migrate` does not need

    check_store_package(settings)
    migrate_database(settings)
    check_database(settings)
    check_queue(settings.queue_url)


def run_serve(options: Options) -> int:
    settings = load_settings()
    configure_logging(settings.log_format, level=settings.log_level)
    with bound(options.host, options.port) as listener:
        supervisor = Supervisor(service_children(listener, options.workers, with_worker=not options.no_worker))
        url = url_of(options.host, listener.getsockname()[1])
        with supervisor.opened():
            supervisor.begin(partial(prepare, settings))
            with stopped_by_signals(supervisor):
                print(f"Relayboard listens on {url} (console: {url}/ API: {url}/api/v2/docs)", file=sys.stderr)
                return supervisor.run()


def bound(host: str, port: int) -> contextlib.closing[socket.socket]:
    """A listening socket. Raises CommandFailed if that is not possible."""
    try:
        return contextlib.closing(listen(host, port))
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a host name"
        raise CommandFailed(f"cannot listen on {url_of(host, port).removeprefix('http://')}: {reason}") from error


def run_worker(options: Options) -> int:
    settings = load_settings()
    configure_logging(settings.log_format, level=settings.log_level)
    with shared_counts(options.metrics_port):
        # It loads the whole engine, which would stay in the memory of `serve`, which only supervises its processes.
        with loading():
            from relayboard.worker_processes import run_worker_processes

        shown = partial(shown_metrics, options.metrics_host, options.metrics_port)
        return run_worker_processes(settings, options.workers, options.senders, shown)


@contextlib.contextmanager
def shared_counts(port: int | None) -> Iterator[None]:
    """A folder in which the processes of a worker count, if its metrics are requested; to be entered before the
    library of metrics is imported, which looks for it then.
    """
    if port is None or METRICS_FOLDER in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="relayboard-metrics-") as folder:
        os.environ[METRICS_FOLDER] = folder
        yield


def shown_metrics(host: str, port: int | None) -> contextlib.AbstractContextManager[object]:
    """Serves the metrics of a worker, if requested. Raises CommandFailed if the port cannot be used."""
    from worker.metrics import serving_metrics  # the whole engine would stay in the memory of `serve`

    if port is None:
        return contextlib.nullcontext()
    stack = contextlib.ExitStack()
    try:
        stack.enter_context(serving_metrics(host, port))
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a host name"
        raise CommandFailed(f"cannot show metrics at {url_of(host, port).removeprefix('http://')}: {reason}") from error
    return stack


def run_migrate(options: Options) -> None:
    settings = load_settings()
    configure_logging(settings.log_format, level=settings.log_level)
    with configured_database(settings) as database:
        if goes_back(database.engine, options.to):
            _confirm_way_back(options, database_name(database.engine))
        with show_progress("Migrating the schema"):
            done: dict[str, object] = {"revision": move_to(database.engine, options.to)}
        if options.distribute:
            from persistence.migrations.large_tables import distribute  # it loads Alembic

            spread = distribute(database.engine)
            done |= {"copied": spread.copied, "spread": spread.spread}
    print_json(done)


def run_renew(options: Options) -> None:
    settings = load_settings()
    with opened_database(settings, confirms_key=False) as database:
        done = renew_secrets(database, KeyRing.of(settings), drops_unreadable=options.drop_unreadable)
        confirm_secret_key(database)
    print_json({"renewed": done.renewed, "dropped": done.dropped})


def _confirm_way_back(options: Options, name: str) -> None:
    """Raises CommandFailed unless the operator has confirmed what will be deleted."""
    if options.to != BASE:
        if not options.yes:
            raise CommandFailed(
                f"going back to {options.to} takes away what later revisions brought into {name}: "
                "make a backup, then say --yes"
            )
        return
    given = options.database
    if given is None and sys.stdin.isatty():
        print(f"All tables of {name} will be deleted. Type the name of the database:", file=sys.stderr, flush=True)
        given = sys.stdin.readline().strip()
    if given is None:
        raise CommandFailed(f"going back to base deletes all tables of {name}: say so with --database {name}")
    if given != name:
        raise CommandFailed(f"nothing was deleted: the database is called {name}, not {given}")
