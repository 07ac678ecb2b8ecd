"""For developers: `python -m persistence.migrations REVISION MESSAGE` writes the next revision from the tables."""

import sys
import tempfile
from pathlib import Path

from persistence.database import Database
from persistence.migrations import upgrade, write_revision


def main(arguments: list[str]) -> int:
    revision, *words = arguments
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{Path(folder) / 'schema.db'}")
        upgrade(database.engine)
        write_revision(database.engine, " ".join(words), revision)
        database.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
