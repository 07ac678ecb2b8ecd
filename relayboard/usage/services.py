"""How the service, its database and its backups are called."""

from pathlib import Path

import click

from relayboard.usage.parts import Action, OneOf, argument, flag, option
from relayboard.usage.values import PORT, NewFile, WholeNumber

DEFAULT_PORT = 8080
MOST_API_PROCESSES = 256
MOST_THREADS = 1000
MOST_SENDERS = 64
FILE = click.Path(path_type=Path)

SERVE = Action(
    "serve",
    "processes.run_serve",
    "run the API and a worker",
    option("--host", "IP address to listen on, also ::1, or 0.0.0.0 for all; default: 127.0.0.1", default="127.0.0.1"),
    option("--port", f"0 for any free port; default: {DEFAULT_PORT}", kind=PORT, default=DEFAULT_PORT),
    option(
        "--workers",
        "number of API processes; default: 1",
        kind=WholeNumber(1, MOST_API_PROCESSES),
        default=1,
        metavar="N",
    ),
    flag("--no-worker", "run the API alone"),
    examples=("", "--host 0.0.0.0 --workers 2"),
    is_table=False,
)
WORKER = Action(
    "worker",
    "processes.run_worker",
    "run a worker alone",
    option(
        "--workers", "number of worker threads; default: 10", kind=WholeNumber(1, MOST_THREADS), default=10, metavar="N"
    ),
    option(
        "--senders",
        "number of processes for floods, webhooks, broadcasts, flow starts and what else can wait, 0 to have one "
        "process do everything; default: 1, with SQLite 0",
        kind=WholeNumber(0, MOST_SENDERS),
        metavar="N",
    ),
    option(
        "--metrics-port",
        "serve the metrics of this worker there, 0 for any port that is free; without it nowhere",
        kind=PORT,
    ),
    option("--metrics-host", "address for metrics; 0.0.0.0 for all; default: 127.0.0.1", default="127.0.0.1"),
    examples=("", "--workers 20 --senders 2 --metrics-port 9100"),
    is_table=False,
)
MIGRATE = Action(
    "migrate",
    "processes.run_migrate",
    "migrate the schema to the newest revision, or to another one",
    OneOf(
        flag(
            "--distribute",
            "migrate to the newest revision and spread the tables over machines with the extension Citus",
        ),
        option("--to", "name of a revision, head (newest) or base (no tables)", default="head", metavar="REV"),
    ),
    flag("--yes", "go back, to an older revision, without being asked"),
    option("--database", "for --to base: the name of the database whose tables are all to be deleted", metavar="NAME"),
    examples=("", "--to 0001 --yes"),
)
STATUS = Action("status", "status.run_status", "show which workers are alive, and what waits to be done")
DOCTOR = Action(
    "doctor",
    "doctor.run_doctor",
    "look at the installation and say what is wrong and what to do",
    flag("--json", "as JSON; the exit status is 1 when there is a problem"),
)
BACKUP = Action(
    "backup",
    "backups.run_backup",
    "write the database and all files into one file, while the service runs",
    argument("output", "the file to make", metavar="FILE", kind=NewFile()),
    examples=("relayboard-2026-03-02.zip",),
)
RESTORE = Action(
    "restore",
    "backups.run_restore",
    "bring a backup into an empty database and an empty media folder",
    argument("backup", "what `relayboard backup` has written", metavar="FILE"),
    examples=("relayboard-2026-03-02.zip",),
)
COPY_DATABASE = Action(
    "copy-database",
    "backups.run_copy",
    "move an installation from SQLite to PostgreSQL",
    option("--from", "the database to read", into="source", required=True, metavar="URL"),
    option("--to", "an empty one", into="target", required=True, metavar="URL"),
    examples=("--from sqlite:///var/relayboard.db --to postgresql://user:password@host/name",),
)
DEMO = Action(
    "demo",
    "demo.run_demo",
    "serve a sample workspace and show an incoming and an outgoing message",
    option("--port", f"default: {DEFAULT_PORT}, or the next free port", kind=PORT),
    is_table=False,
)
COMPLETION = Action(
    "completion",
    "completion.run_completion",
    "print what makes a shell complete commands and options",
    argument("shell", "the shell; its start-up file evaluates what is printed", choices=("bash", "zsh", "fish")),
    more='For bash, put `eval "$(relayboard completion bash)"` into ~/.bashrc, and the same for zsh into ~/.zshrc; '
    "for fish, write it to ~/.config/fish/completions/relayboard.fish.",
    examples=("bash",),
    is_table=False,
)
ALL = (SERVE, WORKER, MIGRATE, STATUS, DOCTOR, BACKUP, RESTORE, COPY_DATABASE, DEMO, COMPLETION)
