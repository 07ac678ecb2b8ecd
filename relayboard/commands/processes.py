"""`relayboard serve`, `worker`, `migrate` and `demo`."""

import argparse
import contextlib
import logging
import sys
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from persistence.database import Database
from persistence.key_check import confirm_secret_key
from persistence.migrations import current_revision, downgrade, upgrade
from relayboard.commands.output import CommandFailed, print_json
from relayboard.logs import configure_logging
from relayboard.processes import Supervisor, follow_lifeline, listen, service_children, stopped_by_signals
from relayboard.settings import Settings, load_settings

logger = logging.getLogger("relayboard.processes")

DEFAULT_PORT = 8080


def register(commands: Any) -> None:
    serve = commands.add_parser("serve", help="the API and a worker")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=int, default=DEFAULT_PORT)
    serve.add_argument("--workers", type=int, default=1, help="number of API processes")
    serve.add_argument("--no-worker", action="store_true", help="the API alone")
    serve.set_defaults(run=run_serve)
    worker = commands.add_parser("worker", help="a worker alone")
    worker.add_argument("--workers", type=int, default=10, help="number of threads that work")
    worker.set_defaults(run=run_worker)
    migrate = commands.add_parser("migrate", help="bring the schema to the newest revision, or to another one")
    migrate.add_argument("--to", default="head", metavar="REV")
    migrate.set_defaults(run=run_migrate)
    demo = commands.add_parser("demo", help="serve a sample workspace and show a message travel both ways")
    demo.add_argument("--port", type=int, default=DEFAULT_PORT)
    demo.set_defaults(run=run_demo)


def migrate_database(settings: Settings, revision: str = "head") -> str | None:
    """Bring the configured database to a revision; the revision it then has."""
    database = Database(settings.database_url, keys=settings.make_keys())
    try:
        before = current_revision(database.engine)
        go = downgrade if revision == "base" or (before is not None and revision < before) else upgrade
        go(database.engine, revision)
        return current_revision(database.engine)
    finally:
        database.close()


def check_secret_key(settings: Settings) -> None:
    """Raises SecretKeyChanged when the database was begun under another secret key."""
    with contextlib.closing(Database(settings.database_url, keys=settings.make_keys())) as database:
        confirm_secret_key(database)


def run_serve(options: argparse.Namespace) -> int:
    settings = load_settings()
    configure_logging(settings.log_format)
    migrate_database(settings)
    check_secret_key(settings)
    with _bound(options.host, options.port) as listener:
        supervisor = Supervisor(service_children(listener, options.workers, with_worker=not options.no_worker))
        port = listener.getsockname()[1]
        print(f"Relayboard listens on http://{options.host}:{port}", file=sys.stderr)
        with stopped_by_signals(supervisor):
            return supervisor.run()


def _bound(host: str, port: int) -> Any:
    try:
        return contextlib.closing(listen(host, port))
    except OSError as error:
        raise CommandFailed(f"cannot listen on {host}:{port}: {error.strerror}") from error


def run_worker(options: argparse.Namespace) -> int:
    from worker.process import run_worker_process

    settings = load_settings()
    configure_logging(settings.log_format)
    follow_lifeline()
    try:
        check_secret_key(settings)
    except SQLAlchemyError:
        # A worker waits for its database; the API, which migrates it, checks the key too.
        logger.warning("the database cannot be used yet, and the secret key not be checked", exc_info=True)
    return run_worker_process(settings, threads=options.workers)


def run_migrate(options: argparse.Namespace) -> None:
    print_json({"revision": migrate_database(load_settings(), options.to)})


def run_demo(options: argparse.Namespace) -> int:
    from relayboard.demo import run_demo

    return run_demo(options.port)
