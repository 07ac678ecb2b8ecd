"""`python -m bench.move`: moves a workspace between two Relayboards, kills the move on the way, and compares both.

The other side is a database of contacts, messages and runs behind an API process; the move is the command, killed by
SIGKILL whenever a further share of the records is read, and started again. Afterward both databases are compared by
what they hold of each contact, message and run, and `relayboard move --verify` is run.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import text

from bench.data import build
from bench.servers import wait_for
from persistence.database import Database, Transaction
from persistence.definitions.importing import import_definitions
from persistence.fields import create_field
from persistence.groups.groups import create_group
from persistence.groups.smart_groups import create_query_group
from persistence.migrations import upgrade
from persistence.move.moves import find_move
from persistence.secrets.encryption import KeyRing
from persistence.workspaces.records import Workspace, find_workspace
from persistence.workspaces.writes import create_workspace
from relayboard.processes import listen
from testbed.flow_rows import node, say, uuid_of
from testbed.servers import postgres_database, postgres_server

SECRET_KEY = "used-by-benchmarks-only"
POLL_SECONDS = 0.2
KIB = 1024

FIELDS = """UPDATE contact SET language = (ARRAY['eng', 'kin', NULL])[id % 3 + 1], fields = jsonb_build_object(
 CAST(:age AS text), jsonb_build_object('text', (id % 90)::text, 'number', (id % 90)::text),
 CAST(:place AS text), jsonb_build_object('text', 'District ' || id % 30))"""
MEMBERS = """INSERT INTO group_membership (workspace_id, group_id, contact_id)
 SELECT workspace_id, :group_id, id FROM contact WHERE id % 5 = 0"""
RUNS = """INSERT INTO flow_run (workspace_id, uuid, flow_id, contact_id, status, responded, results, path, visits,
 created_on, modified_on, exited_on)
 SELECT :workspace_id, gen_random_uuid(), :flow_id, 1 + r % :contacts,
 (ARRAY['completed', 'expired', 'completed'])[r % 3 + 1], r % 2 = 0, results::json, path::json, visits::json,
 t, t + interval '9 minutes', t + interval '9 minutes'
 FROM (SELECT r, timestamptz '2026-01-01' + r * interval '30 seconds' AS t,
 '{"color": {"name": "Color", "value": "blue", "category": "Blue", "node": "' || :node
 || '", "time": "2026-01-01T00:00:00.000000Z", "input": "it is blue ' || r || '"}}' AS results,
 '[{"node": "' || :node || '", "time": "2026-01-01T00:00:00.000000Z"}]' AS path,
 '[{"type": "A", "left_on": null, "results": []}]' AS visits
 FROM generate_series(1, :runs) AS r) AS numbered"""

DIGESTS = {
    "contacts": """SELECT count(*), sum(hashtextextended(concat_ws('|', c.uuid, c.name, c.language, c.status,
 c.created_on, c.last_seen_on, (SELECT string_agg(u.scheme || u.path, ' ' ORDER BY u.priority) FROM contact_urn u
 WHERE u.contact_id = c.id), (SELECT string_agg(g.name, ' ' ORDER BY g.name) FROM group_membership m
 JOIN contact_group g ON g.id = m.group_id WHERE m.contact_id = c.id),
 (SELECT string_agg(f.key || (c.fields -> f.uuid::text ->> 'text'), ' ' ORDER BY f.key)
  FROM contact_field f)), 0)::numeric)
 FROM contact c""",
    "messages": """SELECT count(*), sum(hashtextextended(concat_ws('|', c.uuid, m.uuid, m.urn, m.direction, m.status,
 m.visibility, m.text, m.attachments, m.created_on, m.sent_on, (SELECT string_agg(l.name, ' ' ORDER BY l.name)
 FROM message_label x JOIN label l ON l.id = x.label_id WHERE x.message_id = m.id)), 0)::numeric)
 FROM message m JOIN contact c ON c.id = m.contact_id""",
    "runs": """SELECT count(*), sum(hashtextextended(concat_ws('|', r.uuid, c.uuid, f.uuid, r.status, r.responded,
 r.results::jsonb, r.path::jsonb, r.created_on, r.modified_on, r.exited_on), 0)::numeric)
 FROM flow_run r JOIN contact c ON c.id = r.contact_id JOIN flow f ON f.id = r.flow_id""",
}
"""The number of records, and a sum of a hash of each."""


@dataclass(slots=True)
class Spent:
    """What the moves took, those that were killed included."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    memory_mib: float = 0.0
    kills: int = 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.move", description=__doc__)
    parser.add_argument("--contacts", type=int, default=100_000)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=200_000)
    parser.add_argument("--kills", type=int, default=10)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="bench") as name,
        postgres_server(is_durable=True) as server,
        postgres_database(server) as there,
        postgres_database(server) as here,
    ):
        return run(there, here, Path(name), options)


def run(there: str, here: str, folder: Path, options: argparse.Namespace) -> int:
    source, target = (Database(url, keys=KeyRing(SECRET_KEY)) for url in (there, here))
    for database in (source, target):
        upgrade(database.engine)
    token = _fill(source, options)
    with target.writing() as tx:
        workspace = create_workspace(tx, "Here", country="RW", timezone="Africa/Kigali", languages=("eng", "kin"))
    with _serving(there, folder) as url:
        environment = _environment(here, folder) | {"RELAYBOARD_MOVE_TOKEN": token}
        command = [sys.executable, "-m", "relayboard", "move", "--workspace", workspace.uuid, "--from", url]
        spent = _move(target, workspace, command, environment, folder, options)
        began = time.monotonic()
        verified = subprocess.run([*command, "--verify"], env=environment, stdout=subprocess.PIPE, check=False)
        verifying = time.monotonic() - began
        again = time.monotonic()
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
        last_pass = time.monotonic() - again
    report = json.loads(verified.stdout)
    is_same = _compare(source, target)
    samples = sum(each["samples"] or 0 for each in report["kinds"])
    print(f"move: {spent.seconds:.0f} s, {spent.cpu_seconds:.0f} s of CPU, at most {spent.memory_mib:.0f} MiB")
    print(f"killed {spent.kills} times; equal by hash: {is_same}; verified: {report['is_equal']} ({samples:,} samples)")
    print(f"verification: {verifying:.0f} s; a further pass: {last_pass:.1f} s")
    source.close()
    target.close()
    return 0 if is_same and report["is_equal"] else 1


def _fill(database: Database, options: argparse.Namespace) -> str:
    """Fill the other side; returns a token for it."""
    facts = build(database, SECRET_KEY, options.messages, options.contacts)
    with database.writing() as tx:
        tx.connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
        workspace = find_workspace(tx, facts["workspace_id"])
        assert workspace is not None
        for name, kind in (("Age", "number"), ("Place", "text")):
            create_field(tx, workspace.id, name, kind)
        uuids = dict(tx.execute(text("SELECT key, uuid::text FROM contact_field")).all())
        tx.execute(text(FIELDS), {"age": uuids["age"], "place": uuids["place"]})
        group_id = create_group(tx, workspace.id, "Fifth")
        tx.execute(text(MEMBERS), {"group_id": group_id})
        tx.execute(
            text("UPDATE contact_group SET member_count = :n WHERE id = :id"),
            {"n": options.contacts // 5, "id": group_id},
        )
        _add_runs(tx, workspace, options)
    with database.writing() as tx:
        create_query_group(tx, workspace, "Old", "age > 80")
        tx.execute(
            text(
                "INSERT INTO group_membership (workspace_id, group_id, contact_id) SELECT c.workspace_id, g.id, c.id"
                " FROM contact c, contact_group g WHERE g.name = 'Old' AND c.id % 90 > 80"
            )
        )
        tx.execute(text("UPDATE contact_group SET status = 'ready' WHERE name = 'Old'"))
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("SET statement_timeout = 0")
        connection.exec_driver_sql("VACUUM ANALYZE")
    return str(facts["token"])


def _add_runs(tx: Transaction, workspace: Workspace, options: argparse.Namespace) -> None:
    definition = {
        "uuid": uuid_of("bench flow"),
        "name": "Registration",
        "spec_version": "13.6.1",
        "language": "eng",
        "type": "messaging",
        "nodes": [node("start", [say("Hello")])],
    }
    import_definitions(tx, workspace, {"version": "13", "site": "https://example.org", "flows": [definition]})
    flow_id = tx.execute(text("SELECT id FROM flow")).scalar_one()
    values = {"flow_id": flow_id, "contacts": options.contacts, "runs": options.runs, "node": uuid_of("start")}
    tx.execute(text(RUNS), {"workspace_id": workspace.id, **values})


def _environment(database_url: str, folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "RELAYBOARD_DATABASE_URL": database_url,
        "RELAYBOARD_QUEUE_URL": f"sqlite:///{folder / 'queue.db'}",
        "RELAYBOARD_SECRET_KEY": SECRET_KEY,
        "RELAYBOARD_MEDIA_URL": f"file://{folder / 'media'}",
        "RELAYBOARD_RATE_LIMIT": "100000000/hour",
    }


@contextmanager
def _serving(database_url: str, folder: Path) -> Iterator[str]:
    listener = listen("127.0.0.1", 0)
    descriptor, log = listener.fileno(), (folder / "api.log").open("wb")
    command = [sys.executable, "-m", "relayboard.api_process", str(descriptor)]
    process = subprocess.Popen(
        command, env=_environment(database_url, folder), pass_fds=(descriptor,), stdout=log, stderr=log
    )
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        wait_for(f"{url}/health/ready", folder / "api.log")
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        log.close()
        listener.close()


def _move(
    database: Database,
    workspace: Workspace,
    command: list[str],
    environment: dict[str, str],
    folder: Path,
    options: argparse.Namespace,
) -> Spent:
    spent, everything = Spent(), options.contacts + options.messages + options.runs
    while True:
        limit = everything * (spent.kills + 1) // (options.kills + 1) if spent.kills < options.kills else None
        began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        with (folder / "move.log").open("ab") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            is_killed = _kill_at(process, database, workspace, limit)
            status = process.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.seconds += time.monotonic() - began
        spent.cpu_seconds += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        spent.memory_mib = max(spent.memory_mib, after.ru_maxrss / KIB)
        if not is_killed:
            if status:
                raise RuntimeError((folder / "move.log").read_text()[-2000:])
            return spent
        spent.kills += 1
        print(f"killed at {_read_so_far(database, workspace):,} records after {spent.seconds:.0f} s", flush=True)


def _kill_at(process: Any, database: Database, workspace: Workspace, limit: int | None) -> bool:
    """Kill the move when so many records were read; returns whether it was killed."""
    while limit is not None:
        try:
            process.wait(POLL_SECONDS)
        except subprocess.TimeoutExpired:
            if _read_so_far(database, workspace) < limit:
                continue
            process.kill()
            return True
        return False
    return False


def _read_so_far(database: Database, workspace: Workspace) -> int:
    with database.reading() as tx:
        move = find_move(tx, workspace)
    kinds = {} if move is None else move.state.get("kinds", {})
    return sum(each.get("total_read", 0) for each in kinds.values())


def _compare(source: Database, target: Database) -> bool:
    is_same = True
    for name, statement in DIGESTS.items():
        found = []
        for database in (source, target):
            with database.engine.connect() as connection:
                connection.exec_driver_sql("SET statement_timeout = 0")
                found.append(tuple(connection.execute(text(statement)).one()))
        print(
            f"{name}: {found[0][0]:,} there, {found[1][0]:,} here, {'equal' if found[0] == found[1] else 'DIFFERENT'}"
        )
        is_same &= found[0] == found[1]
    return is_same


if __name__ == "__main__":
    sys.exit(main())
