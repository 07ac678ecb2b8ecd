"""A clinic in whose workspace one person is named everywhere."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson
from sqlalchemy import insert, text

from persistence.archives.writing import archive_next_day, trim_archived
from persistence.data_jobs import Performer, take_next
from persistence.data_requests.person import find_contact_of_person
from persistence.data_requests.requests import DATA_REQUESTS, create_request
from persistence.database import Database
from persistence.lists import ListQuery, read_list
from persistence.media.store import FolderStore, add_media
from persistence.sql.columns import new_uuid
from persistence.tables.data_jobs import (
    contact_import,
    export,
    imported_contact,
    moved_record,
    rejected_row,
    workspace_move,
)
from persistence.tables.deliveries import delivery, delivery_attempt, resthook, resthook_event
from persistence.tables.flows import flow as flow_table
from persistence.tables.flows import flow_session
from persistence.tables.service import audit_event
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_channel
from tests.factories import id_of, make_messages
from tests.run_rows import add_flow, add_run, uuid_of
from tests.ticket_rows import add_ticket

NUMBER = "+250788314159"
WORDS = ("Amina Nyirahabimana", "my test was positive", "Tuesday at the river", "please call her mother")
SPELLINGS = ("0788314159", "0788 314 159", "+250-788-314-159")
MARKS = [each.encode() for each in (NUMBER, NUMBER[1:], *SPELLINGS, *WORDS)]
NAME, HEARD, SENT, NOTED = WORDS
OLD = datetime(2025, 11, 29, 10, tzinfo=UTC)


@dataclass
class Clinic:
    """A workspace in which one person is named everywhere."""

    api: Api
    database: Database
    workspace: Workspace
    store: FolderStore
    amina: str
    bosco: str

    def perform(self, kind: str, contact: str = "") -> dict[str, Any]:
        with self.database.writing() as tx:
            contact_id = find_contact_of_person(tx, self.workspace, contact or self.amina)
            create_request(tx, self.workspace, kind, contact_id, None, "ann@example.org")
        while (held := self.database.write(lambda tx: take_next(tx, self.workspace.id))) is not None:
            Performer(self.database, self.store).perform(held)
        with self.database.reading() as tx:
            shown: dict[str, Any] = orjson.loads(read_list(ListQuery(tx, self.workspace), DATA_REQUESTS)[0])
        return shown


def fill(clinic: Clinic) -> None:
    """Names the person in every kind of record."""
    talk(clinic)
    start_flows(clinic)
    write_records(clinic)
    write_jobs(clinic)
    write_archive(clinic)


def talk(clinic: Clinic) -> None:
    """Over the API, so that answers are kept for keys: a message to her, a broadcast to her alone and one to both."""
    api, key = clinic.api, {"Idempotency-Key": "a key"}
    add_channel(clinic.database, clinic.workspace)
    api.post("/api/v2/messages.json", {"contact": clinic.amina, "text": SENT}, key)
    api.post("/api/v2/broadcasts.json", {"urns": [f"tel:{NUMBER}"], "text": SENT}, key)
    api.post("/api/v2/broadcasts.json", {"contacts": [clinic.amina, clinic.bosco], "text": "Good morning"})
    api.post("/api/v2/contact_notes.json", {"contact": clinic.amina, "text": NOTED}, key)
    url = f"http://localhost/media/{clinic.workspace.uuid}/{(uuid := new_uuid())}.txt"
    with clinic.store.writing(url.partition("/media/")[2]) as file:
        file.write(HEARD.encode())
    with clinic.database.writing() as tx:
        about = {"content_type": "image/png", "filename": NAME, "size": 20, "url": url, "quota_bytes": 1000}
        add_media(tx, clinic.workspace.id, uuid, **about)
    attachments = [{"content_type": "image/png", "url": url}]
    make_messages(
        clinic.database, clinic.workspace, clinic.amina, 2, text=HEARD, urn=f"tel:{NUMBER}", attachments=attachments
    )


def start_flows(clinic: Clinic) -> None:
    """For her alone, for somebody else with her number in every form, and for both."""
    flow = uuid_of(clinic.database, flow_table, add_flow(clinic.database, clinic.workspace, "Visits"))
    mother = {"numbers": ["call " + each for each in SPELLINGS], "figure": int(NUMBER[1:])}
    for contacts, params in (
        ([clinic.amina], {"words": HEARD}),
        ([clinic.bosco], {"mother": mother}),
        ([clinic.amina, clinic.bosco], {"place": "Kigali"}),
    ):
        made = clinic.api.post("/api/v2/flow_starts.json", {"flow": flow, "contacts": contacts, "params": params})
        assert made.status_code == 201


def write_records(clinic: Clinic) -> None:
    database, workspace = clinic.database, clinic.workspace
    amina, bosco = id_of(database, clinic.amina), id_of(database, clinic.bosco)
    add_ticket(database, workspace, amina)
    flow_id = add_flow(database, workspace)
    results = {"test": {"value": HEARD, "category": "Positive", "name": "Test"}}
    add_run(database, workspace, flow_id, amina, results=results)
    about = {"uuid": clinic.amina, "name": NAME, "urns": [f"tel:{NUMBER}"]}
    with database.writing() as tx:
        owned = {"workspace_id": workspace.id}
        parent = {"parent": {"contact": about, "results": results, "uuid": new_uuid()}}
        times = {"created_on": tx.now, "modified_on": tx.now}
        session = {"contact_id": bosco, "session_type": "message", "status": "waiting", "sprint_count": 1}
        tx.insert(flow_session, **owned, **session, **times, state={"trigger": parent}, timeout_on=None)
        planned = {"created_on": tx.now, "scheduled_on": tx.now, "due_on": tx.now}
        body = json.dumps({"contact": about, "text": HEARD})
        sent = {"event": "flow", "receiver": "http://x", "url": "http://x/", "content_type": "application/json"}
        number = tx.insert(delivery, **owned, **sent, **planned, body=body)
        tried = {"number": 1, "scheduled_on": tx.now, "finished_on": tx.now, "duration_ms": 1, "answer": NUMBER}
        tx.insert(delivery_attempt, **owned, delivery_id=number, **tried)
        hook = tx.insert(resthook, **owned, slug="new-case", **times)
        tx.insert(resthook_event, **owned, resthook_id=hook, data={"contact": about}, created_on=tx.now)
        moved = tx.insert(workspace_move, **owned, source="https://old.example.org", state={}, **times)
        lost = {"kind": "message", "reference": "1", "name": clinic.amina, "note": f"no channel for {NUMBER}"}
        tx.execute(insert(moved_record), [{**owned, **lost, "move_id": moved}])
        told = {"resource": "x", "action": "changed", "record_name": "", "via": "token", "created_on": tx.now}
        tx.insert(audit_event, **owned, **told, changes={"address": [None, NUMBER]})


def write_jobs(clinic: Clinic) -> None:
    with clinic.database.writing() as tx:
        owned = {"workspace_id": clinic.workspace.id, "created_on": tx.now}
        columns = [{"header": "Phone", "examples": [NUMBER], "target": "urn:tel"}]
        done = {"status": "completed", "finished_on": tx.now, "location": "private/imports/rejected.csv"}
        number = tx.insert(contact_import, **owned, **done, filename="people.csv", columns=columns)
        row = {"import_id": number, "workspace_id": clinic.workspace.id, "number": 2, "cells": [NUMBER, NAME]}
        tx.execute(insert(rejected_row), [{**row, "reason": f"{NUMBER}: no"}])
        for uuid, before in ((clinic.amina, NAME), (clinic.bosco, NUMBER)):
            which = text("SELECT id FROM contact WHERE uuid = :uuid")
            contact_id = tx.execute(which, {"uuid": uuid}).scalar_one()
            kept = {"import_id": number, "contact_id": contact_id, "is_new": False}
            changes = {"values": {"name": [before, "New"]}, "urns": [], "joined": False}
            tx.insert(imported_contact, workspace_id=clinic.workspace.id, changes=changes, **kept)
        made = {"type": "contacts", "format": "csv", "filters": {"query": f"tel = {NUMBER}"}}
        tx.insert(export, **owned, **made, **{**done, "location": "private/exports/people.csv"})
    for name in ("private/imports/rejected.csv", "private/exports/people.csv"):
        with clinic.store.writing(name) as file:
            file.write(f"{NUMBER},{NAME}\n".encode())


def write_archive(clinic: Clinic) -> None:
    """A day of November with a message of each."""
    for uuid, words in ((clinic.amina, HEARD), (clinic.bosco, "Good evening")):
        stored = {"created_on": OLD, "modified_on": OLD, "stored_on": OLD}
        make_messages(clinic.database, clinic.workspace, uuid, 1, text=words, urn=f"tel:{NUMBER}", **stored)
    with clinic.database.writing() as tx:
        tx.execute(text("UPDATE message SET urn = NULL WHERE text = 'Good evening'"))
    while archive_next_day(clinic.database, clinic.store):
        while trim_archived(clinic.database):
            pass
