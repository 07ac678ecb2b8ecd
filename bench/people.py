"""`python -m bench.people`: searches for a part of a name in scripts with and without spaces, and the list of probable
doubles, with many contacts of two numbers each. Each script has as many people as each other, and as many of each given
name, of two letters or of five. CPU time is that of this process and of its server process, the median of five
rounds, and beside it stands what PostgreSQL or SQLite reads. `--plans` prints the plans.
"""

import argparse
import os
import re
import statistics
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from sqlalchemy import event, insert, select, text

from bench.__main__ import SECRET_KEY, _database
from bench.machine import spent_ms
from flows.phones import OLD_FORMS
from persistence.contacts.merging import DOUBLES, OLD_NUMBER, TWO_SCHEMES, count_doubles
from persistence.contacts.queries import match_query
from persistence.database import Database, Transaction
from persistence.lists import ListQuery, fetch_list
from persistence.migrations import upgrade
from persistence.secrets.encryption import KeyRing
from persistence.tables.contacts import contact, contact_urn
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace

ROUNDS, PAGE, BATCH = 5, 50, 5_000
NAMES = 250
LETTERS = {
    "Latin": "abdefgiklmnoprstuvxyz",
    "Thai": "กขคงจชดตทนบปพมยรลวสห",
    "Lao": "ກຂຄງຈຊດຕທນບປພມຍຣລວສຫ",
    "Khmer": "កខគងចឆជដតថទនបផពមយរលវ",
    "Burmese": "ကခဂဃငစဆဇညတထဒနပဖဗမယရလ",
    "Han": "王小明張偉芳娜敏靜麗強磊軍洋勇艷杰濤超秀",
}
READ = re.compile(r"(?:Seq Scan|SCAN|Index Scan|Bitmap Index Scan|SEARCH)[^(\n]*?(?:on|using|USING) (?:INDEX )?\w+")


def names_of(script: str, length: int) -> list[str]:
    draw, names = Random(f"{script}{length}"), dict[str, None]()
    while len(names) < NAMES:
        names["".join(draw.choices(LETTERS[script][:-1], k=length))] = None
    return list(names)


NAMES_OF = {(script, length): names_of(script, length) for script in LETTERS for length in (2, 4, 5)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.people", description=__doc__)
    parser.add_argument("--contacts", type=int, default=100_000)
    parser.add_argument("--database", choices=("sqlite", "postgresql", "both"), default="both")
    parser.add_argument("--plans", action="store_true")
    options = parser.parse_args()
    for kind in ("sqlite", "postgresql") if options.database == "both" else (options.database,):
        with tempfile.TemporaryDirectory(prefix="bench") as folder, _database(kind, Path(folder)) as url:
            database = Database(url, keys=KeyRing(SECRET_KEY))
            upgrade(database.engine)
            workspace = database.write(lambda tx: create_workspace(tx, "Bench", country="RW", timezone="Africa/Kigali"))
            for begin in range(0, options.contacts, BATCH):
                some = range(begin, min(begin + BATCH, options.contacts))
                database.write(partial(add_people, workspace=workspace, numbers=some))
            if not database.sqlite:
                with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                    connection.execute(text("VACUUM ANALYZE"))
            print(f"{kind}: {options.contacts:,} contacts", flush=True)
            find_names(database, workspace, with_plans=options.plans)
            list_doubles(database, workspace, with_plans=options.plans)
            database.close()
    return 0


def add_people(tx: Transaction, *, workspace: Workspace, numbers: range) -> None:
    row = {"workspace_id": workspace.id, "created_on": tx.now, "modified_on": tx.now, "fields": {}}
    tx.execute(insert(contact), [{**row, "name": name_of(number)} for number in numbers])
    mine = select(contact.c.id).where(contact.c.workspace_id == workspace.id).order_by(contact.c.id.desc())
    ids = sorted(tx.execute(mine.limit(len(numbers))).scalars())
    tx.execute(
        insert(contact_urn),
        [
            {"workspace_id": workspace.id, "contact_id": one, "priority": place, "scheme": scheme, "path": path}
            for one, number in zip(ids, numbers, strict=True)
            for place, (scheme, path) in enumerate(urns_of(number))
        ],
    )


def name_of(number: int) -> str:
    script, place = list(LETTERS)[number % len(LETTERS)], number // len(LETTERS)
    given = NAMES_OF[script, (2, 5)[place % 2]][place // 2 % NAMES]
    return f"{NAMES_OF[script, 4][place // (2 * NAMES) % NAMES]} {given}"


def urns_of(number: int) -> Iterator[tuple[str, str]]:
    """Of a hundred contacts two have one number in its old and its new form, and two have one under two schemes."""
    group, form = number // 100, OLD_FORMS[number // 100 % len(OLD_FORMS)]
    digits = form.length - len(form.begins)
    old = f"{form.begins}{9 * 10 ** (digits - 1) + group}"
    paths = {
        0: ("tel", old),
        1: ("tel", old[: form.kept] + form.added + old[form.rest :]),
        2: ("tel", f"+25078{group:07}"),
        3: ("whatsapp", f"25078{group:07}"),
    }
    yield paths.get(number % 100, ("tel", f"+2567{number:08}"))
    yield "whatsapp", f"2547{number:08}"


def find_names(database: Database, workspace: Workspace, *, with_plans: bool) -> None:
    for length, is_found in ((5, True), (5, False), (2, True), (2, False)):
        latin = 0.0
        for script, letters in LETTERS.items():
            part = NAMES_OF[script, length][17] if is_found else letters[-1] * length
            search = partial(find_part, workspace=workspace, part=part)
            found, ms, read = measure(database, search, with_plans=with_plans)
            latin = latin or ms
            print(f"| {length} letters, {script} | {found} | {ms:.1f} ms | {ms / latin:.2f} | {read} |", flush=True)


def find_part(tx: Transaction, *, workspace: Workspace, part: str) -> int:
    matches = match_query(tx, workspace, f"name ~ {part}", "query")
    page = select(contact.c.id).where(matches).order_by(contact.c.modified_on.desc(), contact.c.id.desc())
    return len(tx.execute(page.limit(PAGE)).all())


def list_doubles(database: Database, workspace: Workspace, *, with_plans: bool) -> None:
    for kind in (None, OLD_NUMBER, TWO_SCHEMES):
        page = partial(list_some, workspace=workspace, values={} if kind is None else {"kind": kind})
        for label, work in (("a page", page), ("all", partial(count_doubles, workspace=workspace, kind=kind))):
            found, ms, read = measure(database, work, with_plans=with_plans)
            print(f"| doubles, {kind or 'any kind'}, {label} | {found} | {ms:.1f} ms | | {read} |", flush=True)


def list_some(tx: Transaction, *, workspace: Workspace, values: dict[str, str]) -> int:
    return len(fetch_list(ListQuery(tx, workspace, values), DOUBLES, None, PAGE).records)


def measure(database: Database, work: Callable[[Transaction], int], *, with_plans: bool) -> tuple[int, float, str]:
    """What was found, milliseconds of CPU, and how many statements read what."""
    spent, kept = list[float](), list[tuple[str, Any]]()

    def note(_connection: object, _cursor: object, statement: str, values: Any, *_rest: object) -> None:
        kept.append((statement, values))

    for _ in range(ROUNDS):
        with database.reading() as tx:
            own = [os.getpid()]
            pids = own if database.sqlite else [*own, tx.execute(text("SELECT pg_backend_pid()")).scalar_one()]
            began = sum(map(spent_ms, pids))
            found = work(tx)
            spent.append(sum(map(spent_ms, pids)) - began)
    event.listen(database.engine, "before_cursor_execute", note)
    with database.reading() as tx:
        work(tx)
    event.remove(database.engine, "before_cursor_execute", note)
    plans = []
    with database.engine.connect() as connection:
        asked = [each for each in kept if "contact" in each[0]]
        for statement, values in asked:
            word = "EXPLAIN QUERY PLAN " if database.sqlite else "EXPLAIN "
            plans += [str(row[-1]) for row in connection.exec_driver_sql(word + statement, values)]
    if with_plans:
        print("\n".join(plans))
    read = dict.fromkeys(READ.findall("\n".join(plans)))
    return found, statistics.median(spent), f"{len(asked)}: {', '.join(read)}"


if __name__ == "__main__":
    raise SystemExit(main())
