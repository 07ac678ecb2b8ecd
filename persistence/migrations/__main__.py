"""For developers: `python -m persistence.migrations REVISION MESSAGE` writes the next revision from the tables."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from alembic import command
from alembic.operations.ops import CreateTableOp
from alembic.script import Script

from persistence.database import Database
from persistence.migrations import configuration, upgrade
from persistence.migrations.part_indexes import taking_turns


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m persistence.migrations", description="Writes the next revision.")
    parser.add_argument("revision", help="its number, such as 0053")
    parser.add_argument("message", nargs="+", help="what it does, in a few words")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{Path(folder) / 'schema.db'}")
        upgrade(database.engine)
        path = write_revision(database, " ".join(options.message), options.revision)
        database.close()
    for step in (["check", "--fix"], ["format"]):
        subprocess.run([sys.executable, "-m", "ruff", *step, "--quiet", str(path)], check=True)
    return 0


def write_revision(database: Database, message: str, revision: str) -> Path:
    """Writes a revision with the difference between the tables in code and a database at the newest revision."""
    with taking_turns(database.engine) as connection:
        made = command.revision(
            configuration(connection),
            message=message,
            autogenerate=True,
            rev_id=revision,
            process_revision_directives=_leave_policies,
        )
    assert isinstance(made, Script)
    return Path(made.path)


def _leave_policies(_context: Any, _revision: Any, directives: list[Any]) -> None:
    """What tables say of their rows stands in code."""
    for each in directives[0].upgrade_ops.ops:
        if isinstance(each, CreateTableOp):
            each.info = {}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
