"""`python -m bench.contact_imports`: how long a file of contacts takes, and how much memory: new, and once more with
every contact changed; then both are taken back, with the count before. `--groups` smart groups are kept by queries
meanwhile. Memory is the highest sum of all processes that take part: this one, which does a worker's work, and the one
that reads the file. `--most MB` fails above it.
"""

import argparse
import csv
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import orjson
import xlsxwriter

from bench.__main__ import SECRET_KEY, _database
from persistence.contact_imports.contact_imports import CONTACT_IMPORTS, create_import, start_import
from persistence.contact_imports.taking_back import count_taking_back, take_back
from persistence.contacts.queries import check_query
from persistence.data_jobs import Performer, take_next
from persistence.database import Database
from persistence.fields import create_field
from persistence.groups.groups import create_group
from persistence.groups.smart_groups import create_query_group
from persistence.lists import read_record
from persistence.media.store import FolderStore
from persistence.migrations import upgrade
from persistence.secrets.encryption import KeyRing
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace

HEADER = ["URN:Tel", "Name", "Language", "Age", "Born", "Village", "District", "Crop", "Visits", "Notes"]
FURTHER = (("District", "text"), ("Crop", "text"), ("Visits", "number"), ("Notes", "text"))
NAMES = ("สมชาย ใจดี", "王\u3000小明")
LOOK_SECONDS = 0.2

Result = TypeVar("Result")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.contact_imports", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--groups", type=int, default=2)
    parser.add_argument("--format", choices=("csv", "xlsx"), default="csv")
    parser.add_argument("--once", action="store_true", help="only new contacts")
    parser.add_argument("--most", type=float, help="megabytes")
    parser.add_argument("--database", choices=("sqlite", "postgresql", "both"), default="both")
    options = parser.parse_args()
    highest = 0.0
    kinds = ("sqlite", "postgresql") if options.database == "both" else (options.database,)
    for kind in kinds:
        with tempfile.TemporaryDirectory(prefix="bench") as folder, _database(kind, Path(folder)) as url:
            highest = max(highest, run(kind, url, Path(folder), options))
    return int(options.most is not None and highest > options.most)


def run(kind: str, url: str, folder: Path, options: argparse.Namespace) -> float:
    """The highest memory, in megabytes."""
    database = Database(url, keys=KeyRing(SECRET_KEY))
    upgrade(database.engine)
    with database.writing() as tx:
        workspace = create_workspace(tx, "Bench", country="RW", timezone="Africa/Kigali", languages=("kin",))
        for name, type_ in (("Age", "number"), ("Born", "datetime"), ("Village", "text"), *FURTHER):
            create_field(tx, workspace.id, name, type_)
        create_group(tx, workspace.id, "Imported")
        for number in range(options.groups):
            create_query_group(tx, workspace, f"Older than {number}", f"age > {number * 20}")
    store = FolderStore(f"file://{folder / 'media'}")
    highest, done = 0.0, []
    for label, offset in (("new", 0), ("changed", 1))[: 1 if options.once else 2]:
        path = folder / f"people-{offset}.{options.format}"
        write_file(path, options.rows, offset)
        began, used = time.monotonic(), time.process_time()
        with measured() as peak:
            shown = import_file(database, workspace, store, path)
        done.append(str(shown["uuid"]))
        highest = max(highest, peak["own"])
        seconds, busy = time.monotonic() - began, time.process_time() - used
        counts = {name: shown[name] for name in ("created", "updated", "rejected")}
        print(
            f"{kind} {options.format} {label}: {options.rows:,} rows in {seconds:.1f} s ({busy:.1f} s of CPU), "
            f"at most {peak['own']:.0f} MB in sum ({peak['shared']:.0f} MB with what is mapped), {counts}",
            flush=True,
        )
    find_names(kind, database, workspace)
    for uuid in reversed(done):
        take_one_back(kind, database, workspace, store, uuid)
    database.close()
    return highest


def find_names(kind: str, database: Database, workspace: Workspace) -> None:
    """How long a search for a part of a name takes that is written without spaces."""
    for part in ("สมชาย", "王小明"):
        with database.reading() as tx:
            found, seconds, busy = timed(partial(check_query, tx, workspace, f"name ~ {part}", for_agent=False))
        print(f"{kind} name ~ {part}: {found['count']:,} in {seconds:.1f} s ({busy:.1f} s of CPU)", flush=True)


def take_one_back(kind: str, database: Database, workspace: Workspace, store: FolderStore, uuid: str) -> None:
    with database.reading() as tx:
        (_, counts), *counting = timed(lambda: count_taking_back(tx, workspace, uuid))
    with database.writing() as tx:
        take_back(tx, workspace, uuid)
    performer = Performer(database, store)

    def perform() -> None:
        while (held := database.write(lambda tx: take_next(tx, workspace.id))) is not None:
            performer.perform(held)

    _, *deed = timed(perform)
    for label, (seconds, busy) in (("counted", counting), ("taken back", deed)):
        print(f"{kind} {label}: {counts} in {seconds:.1f} s ({busy:.1f} s of CPU)", flush=True)


def timed(work: Callable[[], Result]) -> tuple[Result, float, float]:
    """The result, with seconds, and seconds of CPU of this process."""
    began, used = time.monotonic(), time.process_time()
    result = work()
    return result, time.monotonic() - began, time.process_time() - used


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
                start_import(tx, workspace, str(shown["uuid"]), (), "Imported")
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
        more = [f"District {number % 30}", "maize", number % 7, f"Note number {number}"]
        name = f"Person {number}" if number % 100 else NAMES[number // 100 % len(NAMES)]
        yield [f"+2507{number:08d}", name, "kin", age, born, f"Village {number % 500}", *more]


@contextmanager
def measured() -> Iterator[dict[str, float]]:
    """The highest memory of this process and its children: their own, and with what is mapped into them."""
    peak = {"own": 0.0, "shared": 0.0}
    is_done = threading.Event()

    def look() -> None:
        while not is_done.wait(LOOK_SECONDS):
            sums = [read_memory(pid) for pid in (os.getpid(), *list_children())]
            for place, name in enumerate(peak):
                peak[name] = max(peak[name], sum(each[place] for each in sums))

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield peak
    finally:
        is_done.set()
        looking.join()


def list_children() -> list[int]:
    return [int(each) for path in Path("/proc/self/task").glob("*/children") for each in path.read_text().split()]


def read_memory(pid: int) -> tuple[float, float]:
    """Megabytes of a process: anonymous ones, and its proportional share of all. None of one that has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0, 0.0
    sizes = {line.split()[0]: int(line.split()[1]) / 1024 for line in lines if line.endswith("kB")}
    return sizes.get("Pss_Anon:", 0.0), sizes.get("Pss:", 0.0)


if __name__ == "__main__":
    raise SystemExit(main())
