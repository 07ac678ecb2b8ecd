"""`python -m bench.contact_imports`: how long a file of contacts takes, and how much memory: new, and once more with
every contact changed. `--groups` smart groups are kept by queries meanwhile.
"""

import argparse
import csv
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson
import xlsxwriter

from bench.__main__ import SECRET_KEY, _database
from persistence.data_jobs import take_next
from persistence.database import Database
from persistence.field_writes import create_field
from persistence.groups.groups import create_group
from persistence.groups.smart_groups import create_query_group
from persistence.imports.contact_imports import CONTACT_IMPORTS, create_import, start_import
from persistence.lists import read_record
from persistence.media.folder import FolderStore
from persistence.migrations import upgrade
from persistence.performing import Performer
from persistence.secrets.encryption import KeyRing
from persistence.workspace_setup import create_workspace
from persistence.workspaces import Workspace

HEADER = ["URN:Tel", "Name", "Language", "Age", "Born", "Village"]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.contact_imports", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--groups", type=int, default=2)
    parser.add_argument("--format", choices=("csv", "xlsx"), default="csv")
    parser.add_argument("--database", choices=("sqlite", "postgresql", "both"), default="both")
    options = parser.parse_args()
    kinds = ("sqlite", "postgresql") if options.database == "both" else (options.database,)
    for kind in kinds:
        with tempfile.TemporaryDirectory(prefix="bench") as folder, _database(kind, Path(folder)) as url:
            run(kind, url, Path(folder), options)
    return 0


def run(kind: str, url: str, folder: Path, options: argparse.Namespace) -> None:
    database = Database(url, keys=KeyRing(SECRET_KEY))
    upgrade(database.engine)
    with database.writing() as tx:
        workspace = create_workspace(tx, "Bench", country="RW", timezone="Africa/Kigali", languages=("kin",))
        for name, type_ in (("Age", "number"), ("Born", "datetime"), ("Village", "text")):
            create_field(tx, workspace.id, name, type_)
        create_group(tx, workspace.id, "Imported")
        for number in range(options.groups):
            create_query_group(tx, workspace, f"Older than {number}", f"age > {number * 20}")
    store = FolderStore(f"file://{folder / 'media'}")
    for label, offset in (("new", 0), ("changed", 1)):
        path = folder / f"people-{offset}.{options.format}"
        write_file(path, options.rows, offset)
        before = own_megabytes()
        began, used = time.monotonic(), time.process_time()
        shown = import_file(database, workspace, store, path)
        seconds, busy = time.monotonic() - began, time.process_time() - used
        counts = {name: shown[name] for name in ("created", "updated", "rejected")}
        print(
            f"{kind} {options.format} {label}: {options.rows:,} rows in {seconds:.1f} s ({busy:.1f} s of CPU), "
            f"own memory {before:.0f} -> {own_megabytes():.0f} MB, {counts}",
            flush=True,
        )
    database.close()


def import_file(database: Database, workspace: Workspace, store: FolderStore, path: Path) -> dict[str, object]:
    source = f"imports/{path.name}"
    with store.writing(source) as file:
        file.write(path.read_bytes())
    with database.writing() as tx:
        number = create_import(tx, workspace, path.name, source, None)
    performer = Performer(database, store)
    while True:
        held = database.write(lambda tx: take_next(tx, workspace.id))
        if held is not None:
            performer.perform(held)
        with database.reading() as tx:
            shown: dict[str, object] = orjson.loads(read_record(tx, CONTACT_IMPORTS, workspace, number))
        if shown["status"] == "ready":
            with database.writing() as tx:
                start_import(tx, workspace, str(shown["uuid"]), {}, "Imported")
        elif held is None:
            return shown


def write_file(path: Path, count: int, offset: int) -> None:
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(make_rows(count, offset))
        return
    with xlsxwriter.Workbook(path, {"constant_memory": True}) as book:
        sheet = book.add_worksheet()
        for number, row in enumerate(make_rows(count, offset)):
            sheet.write_row(number, 0, row)


def make_rows(count: int, offset: int) -> Iterator[Sequence[object]]:
    yield HEADER
    for number in range(count):
        age = 18 + (number + offset) % 60
        born = f"{1 + number % 28:02d}-{1 + number % 12:02d}-{2000 - age}"
        yield [f"+2507{number:08d}", f"Person {number}", "kin", age, born, f"Village {number % 500}"]


def own_megabytes() -> float:
    """Memory of the process itself, without files that are mapped into it, as SQLite does."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon"))


if __name__ == "__main__":
    raise SystemExit(main())
