"""A workspace with a million messages, written in bulk."""

import io
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from sqlalchemy import Table, insert, select, text

from channels.types import DEFAULT_GATEWAY
from persistence.channels.channels import create_gateway
from persistence.channels.settings import new_gateway_secret
from persistence.database import Database, Transaction
from persistence.labels import create_label
from persistence.sql.columns import new_uuid, time_text
from persistence.tables.contacts import contact, contact_urn
from persistence.tables.messages import label, message, message_label
from persistence.tokens import create_token
from persistence.users import add_member, find_member
from persistence.workspaces.writes import create_workspace

CHUNK = 20_000
LABELED_EVERY = 50
START = datetime(2026, 1, 1, tzinfo=UTC)
SPACING = timedelta(seconds=7)
WORDS = ("clinic", "monday", "open", "card", "result", "ready", "thank", "question", "when", "bring", "school", "water")

Row = dict[str, Any]


def build(database: Database, secret_key: str, messages: int, contacts: int) -> dict[str, Any]:
    """Fill an empty database; returns the token, a contact and a label for requests."""
    with database.writing() as tx:
        workspace = create_workspace(tx, "Benchmark", country="RW", timezone="Africa/Kigali")
        add_member(tx, workspace.id, "bench@example.org", "administrator")
        user_id = find_member(tx, workspace.id, "bench@example.org") or 0
        token = create_token(tx, workspace.id, user_id, secret_key)
        options = {"schemes": ["tel"], "country": "RW", "secret": new_gateway_secret(), "config": {}}
        create_gateway(tx, workspace.id, DEFAULT_GATEWAY, name="Gateway", address="+250788000000", **options)
        label_id = create_label(tx, workspace.id, "Question")
        first_label = tx.execute(select(label.c.uuid).where(label.c.id == label_id)).scalar_one()
    name = TextColumn("[progress.description]{task.description}")
    shown = (name, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # What the commands of bench print is JSON.
    with Progress(*shown, console=Console(stderr=True)) as progress:
        write_rows(database, contact, contact_rows(workspace.id, contacts), contacts, progress, "contacts")
        write_rows(database, contact_urn, urn_rows(workspace.id, contacts), contacts, progress, "URNs")
        write_rows(database, message, message_rows(workspace.id, messages, contacts), messages, progress, "messages")
        labeled = messages // LABELED_EVERY
        write_rows(database, message_label, _labels(workspace.id, label_id, labeled), labeled, progress, "labels")
    with database.writing() as tx:
        tx.execute(text("ANALYZE"))
        one = tx.execute(select(contact.c.uuid).where(contact.c.id == contacts // 2)).scalar_one()
    return {"token": token, "contact": one, "label": first_label, "workspace_id": workspace.id, "label_id": label_id}


def write_rows(
    database: Database, table: Table, rows: Iterator[Row], total: int, progress: Progress, name: str
) -> None:
    task = progress.add_task(name, total=total)
    chunk: list[Row] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == CHUNK:
            _write_chunk(database, table, chunk)
            progress.advance(task, len(chunk))
            chunk = []
    if chunk:
        _write_chunk(database, table, chunk)
        progress.advance(task, len(chunk))


def _write_chunk(database: Database, table: Table, rows: list[Row]) -> None:
    with database.writing() as tx:
        if tx.sqlite:
            tx.execute(insert(table), rows)
        else:
            _copy(tx, table, rows)


def _copy(tx: Transaction, table: Table, rows: list[Row]) -> None:
    names = list(rows[0])
    buffer = io.StringIO()
    for row in rows:
        buffer.write("\t".join(_field(row[name]) for name in names) + "\n")
    buffer.seek(0)
    cursor = tx.connection.connection.cursor()
    cursor.copy_expert(f"COPY {table.name} ({', '.join(names)}) FROM STDIN", buffer)


def _field(value: Any) -> str:
    if value is None:
        return r"\N"
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, (list, dict)):
        return "[]" if isinstance(value, list) else "{}"
    return str(value)


def contact_rows(workspace_id: int, count: int) -> Iterator[Row]:
    for number in range(count):
        moment = START + number * SPACING
        yield {
            "uuid": new_uuid(),
            "workspace_id": workspace_id,
            "name": f"Person {number}",
            "status": "active",
            "is_deleted": False,
            "fields": {},
            "open_ticket_count": 0,
            "created_on": moment,
            "modified_on": moment,
        }


def urn_rows(workspace_id: int, count: int) -> Iterator[Row]:
    for number in range(count):
        yield {
            "workspace_id": workspace_id,
            "contact_id": number + 1,
            "scheme": "tel",
            "path": f"+2507{number:08}",
            "priority": 0,
            "channel_id": 1,
        }


def message_rows(workspace_id: int, count: int, contacts: int, start: datetime = START) -> Iterator[Row]:
    chance = random.Random(1)
    for number in range(count):
        moment = start + number * SPACING
        is_incoming = number % 2 == 0
        person = number % contacts
        yield {
            "uuid": new_uuid(),
            "workspace_id": workspace_id,
            "contact_id": person + 1,
            "urn": f"tel:+2507{person:08}",
            "channel_id": 1,
            "direction": "in" if is_incoming else "out",
            "type": "text",
            "status": "handled" if is_incoming else "delivered",
            "visibility": "visible",
            "text": " ".join(chance.choices(WORDS, k=12)),
            "attachments": [],
            "quick_replies": [],
            "error_count": 0,
            "created_on": moment,
            "sent_on": None if is_incoming else moment + timedelta(seconds=30),
            "modified_on": moment,
        }


def _labels(workspace_id: int, label_id: int, count: int) -> Iterator[Row]:
    for number in range(count):
        index = number * LABELED_EVERY
        link = {"workspace_id": workspace_id, "message_id": index + 1, "label_id": label_id}
        yield {**link, "created_on": START + index * SPACING}
