"""Smart groups: what changes of contacts wait while a large one is evaluated, and what fifty of them cost a change."""

import argparse
import time
from typing import Any

from sqlalchemy import insert, select

from bench.fairness.tenants import Tenant, compare, service
from bench.gateways import Gateway
from persistence.database import Database
from persistence.groups.smart_groups import create_query_group, refresh_contacts
from persistence.sql.columns import new_uuid
from persistence.tables.contacts import READY, contact, field, group
from persistence.workspaces import Workspace

LONGEST_EVALUATION_SECONDS = 600.0
FIELDS = 10


def measure_evaluation(options: argparse.Namespace) -> dict[str, Any]:
    """Half of all contacts come into a new smart group; contacts of the workspace are changed meanwhile."""
    with service(options.database) as running:
        a = Tenant.begin(running, "A", Gateway(0.0).url)
        uuids = _add_contacts(running.database, a.workspace, options.contacts_of_group)
        _change(a, uuids, 20)
        alone = _change(a, uuids, options.count)
        began = time.monotonic()
        with running.database.writing() as tx:
            group_id = create_query_group(tx, a.workspace, "Half", "language = eng")
        beside: list[float] = []
        while not _is_ready(running.database, group_id) and time.monotonic() - began < LONGEST_EVALUATION_SECONDS:
            beside += _change(a, uuids, 1)
        seconds = round(time.monotonic() - began, 1)
        result = compare("evaluation", alone, beside, contacts=options.contacts_of_group, evaluation_seconds=seconds)
        return result | {"is_ready": _is_ready(running.database, group_id)}


def measure_smart_groups(options: argparse.Namespace) -> dict[str, Any]:
    """The processor time of this process for one contact that changed, in workspaces with one and with fifty groups."""
    with service(options.database) as running:
        costs = {}
        for count in (1, 50):
            tenant = Tenant.begin(running, f"{count} groups", "http://127.0.0.1:9/")
            _add_contacts(running.database, tenant.workspace, 100)
            _add_groups(running.database, tenant.workspace, count)
            costs[str(count)] = _time_refreshing(running.database, tenant.workspace, options.count)
        return {"experiment": "smart-groups", "cpu_ms": costs, "ratio": round(costs["50"] / costs["1"], 2)}


def _add_contacts(database: Database, workspace: Workspace, count: int) -> list[str]:
    with database.writing() as tx:
        rows: list[dict[str, Any]] = [
            {
                "uuid": new_uuid(),
                "workspace_id": workspace.id,
                "name": f"Contact {number}",
                "language": "eng" if number % 2 else "fra",
                "fields": {},
                "created_on": tx.now,
                "modified_on": tx.now,
            }
            for number in range(count)
        ]
        tx.execute(insert(contact), rows)
    return [str(row["uuid"]) for row in rows]


def _change(tenant: Tenant, uuids: list[str], count: int) -> list[float]:
    waits = []
    for number in range(count):
        began = time.monotonic()
        answer = tenant.session.post(
            f"{tenant.running.url}/api/v2/contacts.json",
            params={"uuid": uuids[(number * 7919 + int(began * 1000)) % len(uuids)]},
            json={"name": f"Changed {number}", "language": "eng" if number % 2 else "fra"},
            headers={"Authorization": f"Token {tenant.token}"},
            timeout=120,
        )
        answer.raise_for_status()
        waits.append(time.monotonic() - began)
        time.sleep(0.02)
    return waits


def _is_ready(database: Database, group_id: int) -> bool:
    with database.reading() as tx:
        return bool(tx.execute(select(group.c.status).where(group.c.id == group_id)).scalar_one() == READY)


def _add_groups(database: Database, workspace: Workspace, count: int) -> None:
    with database.writing() as tx:
        for number in range(FIELDS):
            kind = "number" if number % 2 else "text"
            named = {"key": f"f{number}", "name": f"F{number}", "name_key": f"f{number}"}
            tx.execute(insert(field).values(workspace_id=workspace.id, type=kind, created_on=tx.now, **named))
        for number in range(count):
            query = (
                f"f{number % FIELDS | 1} > {number}",
                f'f{number % 5 * 2} = "x{number}"',
                f'name ~ "n{number}"',
                f"f{number % FIELDS | 1} > {number} AND language = eng",
                f"tel ~ 07{number}",
            )[number % 5]
            create_query_group(tx, workspace, f"Group {number}", query)


def _time_refreshing(database: Database, workspace: Workspace, count: int) -> float:
    with database.reading() as tx:
        mine = contact.c.workspace_id == workspace.id
        ids = list(tx.execute(select(contact.c.id).where(mine).order_by(contact.c.id)).scalars())
    for number in range(10):
        with database.writing() as tx:
            refresh_contacts(tx, workspace, [ids[number]])
    began = time.process_time()
    for number in range(count):
        with database.writing() as tx:
            refresh_contacts(tx, workspace, [ids[number % len(ids)]])
    return round((time.process_time() - began) / count * 1000, 2)
