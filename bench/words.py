"""`python -m bench.words`: searches for words among many messages of two workspaces, from words that one message in
three has to words that nobody has, and what the index of words adds to storing a message. Milliseconds as a client of
persistence waits for a page, p50 and p99; to store is the ratio of the same transactions with the index and without.
"""

import argparse
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path
from random import Random

from sqlalchemy import insert, text

from bench.__main__ import SECRET_KEY, _database
from persistence.database import Database, Transaction
from persistence.lists import ListQuery, fetch_list
from persistence.messages.records import MESSAGES
from persistence.migrations import upgrade
from persistence.migrations.part_indexes import add_part_indexes
from persistence.migrations.word_index import drop_words
from persistence.secrets.encryption import KeyRing
from persistence.sql.columns import new_uuid
from persistence.tables.contacts import contact
from persistence.tables.messages import message
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace

ROUNDS, PAGE, BATCH = 40, 50, 5_000
WORDS = 20_000
LENGTH = 8
OFTEN, SOMETIMES, SELDOM = "often", "sometimes", "seldom"
SHARES = {OFTEN: 3, SOMETIMES: 200, SELDOM: 50_000}
"""Of so many messages one has this word."""
SEARCHES = {
    OFTEN: {},
    "oft": {},
    SOMETIMES: {},
    SELDOM: {},
    "nobody": {},
    f"{OFTEN} {SOMETIMES}": {},
    f"{OFTEN} {SELDOM}": {},
    "w1": {},
    "w123": {},
    f"{OFTEN} often": {"folder": "inbox"},
    f"{SOMETIMES} sometimes": {"folder": "sent"},
}
WRITES, WRITTEN = 40, 50


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.words", description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--database", choices=("sqlite", "postgresql", "both"), default="both")
    options = parser.parse_args()
    for kind in ("sqlite", "postgresql") if options.database == "both" else (options.database,):
        with tempfile.TemporaryDirectory(prefix="bench") as folder, _database(kind, Path(folder)) as url:
            database = Database(url, keys=KeyRing(SECRET_KEY))
            upgrade(database.engine)
            remove_index(database)
            ours, others = (database.write(partial(make_workspace, name=name)) for name in ("Ours", "Others"))
            for begin in range(0, options.messages, BATCH):
                numbers = range(begin, min(begin + BATCH, options.messages))
                owner = others if begin // BATCH % 10 == 9 else ours
                database.write(partial(add_messages, workspace=owner, numbers=numbers))
            began = time.monotonic()
            add_part_indexes(database.engine)
            took = time.monotonic() - began
            print(f"{kind}: {options.messages:,} messages, the index was made in {took:.0f} s", flush=True)
            if not database.sqlite:
                with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                    connection.execute(text("VACUUM ANALYZE"))
                    size = text("SELECT pg_relation_size('ix_message_words') / greatest(count(*), 1) FROM message")
                    print(f"{connection.execute(size).scalar_one()} bytes for each message")
            find_words(database, ours)
            compare_writes(database, ours)
            database.close()
    return 0


def make_workspace(tx: Transaction, *, name: str) -> Workspace:
    return create_workspace(tx, name, country="RW", timezone="Africa/Kigali")


def remove_index(database: Database) -> None:
    with database.writing() as tx:
        if database.sqlite:
            drop_words(tx.connection)
        else:
            tx.execute(text("DROP INDEX IF EXISTS ix_message_words"))


def add_messages(tx: Transaction, *, workspace: Workspace, numbers: range) -> None:
    row = {"workspace_id": workspace.id, "created_on": tx.now, "modified_on": tx.now}
    one = tx.execute(insert(contact).returning(contact.c.id), [{**row, "name": "One", "fields": {}}]).scalar_one()
    sent = {"direction": "out", "status": "sent", "sent_on": tx.now}
    handled = {"direction": "in", "status": "handled", "sent_on": None}
    rows = [
        {**row, **(handled if number % 2 else sent), "uuid": new_uuid(), "contact_id": one, "text": text_of(number)}
        | {"attachments": [], "quick_replies": []}
        for number in numbers
    ]
    tx.execute(insert(message), rows)


def text_of(number: int) -> str:
    draw = Random(number)
    words = [f"w{int(draw.paretovariate(0.7)) % WORDS}" for _ in range(LENGTH)]
    return " ".join([*words, *(word for word, share in SHARES.items() if draw.randrange(share) == 0)])


def find_words(database: Database, workspace: Workspace) -> None:
    for search, others in SEARCHES.items():
        spent = list[float]()
        for _ in range(ROUNDS):
            began = time.perf_counter()
            with database.reading() as tx:
                values = {"search": search, **others}
                found = len(fetch_list(ListQuery(tx, workspace, values), MESSAGES, None, PAGE).records)
            spent.append((time.perf_counter() - began) * 1000)
        *_, p99 = statistics.quantiles(spent, n=100)
        asked = " ".join([search, *others.values()])
        print(f"| {asked} | {found} | {statistics.median(spent):.1f} | {p99:.1f} |", flush=True)


def compare_writes(database: Database, workspace: Workspace) -> None:
    """The same transactions with the index, and then without it."""
    spent = dict[tuple[bool, int], float]()
    for has_index in (True, False):
        if not has_index:
            remove_index(database)
        for size in (1, WRITTEN):
            times = list[float]()
            for number in range(WRITES):
                began = time.perf_counter()
                database.write(partial(add_messages, workspace=workspace, numbers=range(number, number + size)))
                times.append((time.perf_counter() - began) * 1000)
            spent[has_index, size] = statistics.median(times)
    for size in (1, WRITTEN):
        with_it, without = spent[True, size], spent[False, size]
        print(
            f"| {size} in a transaction | {with_it:.2f} ms | {without:.2f} ms | {with_it / without:.2f} |", flush=True
        )


if __name__ == "__main__":
    raise SystemExit(main())
