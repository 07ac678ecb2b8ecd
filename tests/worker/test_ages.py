"""Every table has an age at which its rows are deleted, or a reason why they are kept."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import ColumnElement, func, insert, select, update

from persistence.accounts.mail import post
from persistence.diagnosis import Worker, record_heartbeat
from persistence.limits.rate_limits import Origin, claim_key
from persistence.relayers.relayers import PhoneIdentity, register_phone
from persistence.tables.audit import audit_event
from persistence.tables.campaigns import campaign_fire
from persistence.tables.changes import deletion
from persistence.tables.channels import (
    channel,
    channel_alarm,
    forgotten_report,
    gateway_call,
    registration_window,
    sync_record,
    waiting_registration,
)
from persistence.tables.complete import metadata
from persistence.tables.data_jobs import contact_import, export
from persistence.tables.deliveries import delivery, resthook_event
from persistence.tables.service import kept_answer, worker_heartbeat
from persistence.tables.sign_ins import account_mail, invitation, sign_in, sign_in_link, sign_in_window
from tests.contract.filled_workspace import fill_workspace
from worker.jobs import begin_trimming

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
MARGIN = timedelta(minutes=1)


@dataclass(frozen=True)
class Age:
    """How old rows get, by which column; those that `stays` chooses get older."""

    age: timedelta
    column: ColumnElement[datetime]
    stays: ColumnElement[bool] | None = None
    prepare: Callable[[Any, Any], None] = lambda tx, workspace: None


def put_on_one_phone(tx: Any, workspace: Any) -> None:
    mine = select(func.min(channel.c.id)).where(channel.c.workspace_id == workspace.id).scalar_subquery()
    tx.execute(update(sync_record).values(channel_id=mine))


def register(tx: Any, workspace: Any) -> None:
    """A phone that nobody has claimed, and a registration that waits beside it."""
    for token in ("one", "another"):
        phone = PhoneIdentity("3f0c1a52-8b7e-4d19-9a60-5c2f7be0d411", token, "RW", None, None)
        register_phone(tx, phone, Origin("192.0.2.1", 10, HOUR))


def beat(tx: Any, workspace: Any) -> None:
    record_heartbeat(tx, Worker("here", 1, 10, "0.1.0", "0001"))


def write_letter(tx: Any, workspace: Any) -> None:
    post(tx, "sign_in", "amina@example.org", {}, HOUR)


def try_to_sign_in(tx: Any, workspace: Any) -> None:
    values = {"subject": "account:amina@example.org", "began_on": tx.now, "taken": 1}
    tx.execute(insert(sign_in_window).values(**values))


TRIMMED = {
    "account_mail": Age(7 * DAY, account_mail.c.created_on, None, write_letter),
    "audit_event": Age(365 * DAY, audit_event.c.created_on),
    "deletion": Age(90 * DAY, deletion.c.modified_on),
    "campaign_fire": Age(90 * DAY, campaign_fire.c.fired_on),
    "channel": Age(90 * DAY, channel.c.last_seen, channel.c.workspace_id.is_not(None), register),
    "channel_alarm": Age(90 * DAY, channel_alarm.c.closed_on),
    "contact_import": Age(7 * DAY, contact_import.c.created_on),
    "delivery": Age(7 * DAY, delivery.c.finished_on),
    "export": Age(7 * DAY, export.c.created_on),
    "forgotten_report": Age(90 * DAY, forgotten_report.c.forgotten_on),
    "gateway_call": Age(7 * DAY, gateway_call.c.created_on),
    "idempotency_answer": Age(
        DAY, kept_answer.c.created_on, None, lambda tx, workspace: void(claim_key(tx, workspace.id, "post", "key", b""))
    ),
    "registration_window": Age(HOUR, registration_window.c.began_on, None, register),
    "invitation": Age(7 * DAY, invitation.c.created_on),
    "resthook_event": Age(2 * DAY, resthook_event.c.created_on),
    "sign_in": Age(DAY, sign_in.c.seen_on),
    "sign_in_link": Age(timedelta(minutes=15), sign_in_link.c.created_on),
    "sign_in_window": Age(HOUR, sign_in_window.c.began_on, None, try_to_sign_in),
    "sync_record": Age(
        7 * DAY,
        sync_record.c.created_on,
        sync_record.c.id == select(func.max(sync_record.c.id)).scalar_subquery(),
        put_on_one_phone,
    ),
    "waiting_registration": Age(90 * DAY, waiting_registration.c.last_seen, None, register),
    "worker_heartbeat": Age(DAY, worker_heartbeat.c.seen_on, None, beat),
}
"""What the worker's trimming deletes; `channel` holds registrations that nobody has claimed."""

WITH_OTHERS = {
    "conversation": "goes with its last message or contact",
    "delivery_attempt": "goes with its delivery",
    "flow_session": "goes with the last of its runs",
    "flow_start_batch": "goes when its start is finished",
    "imported_contact": "goes with its import",
    "gateway_send": "goes when its message is accepted or given up",
    "message_label": "goes with its message or label",
    "record_stamp": "goes with its record",
    "rejected_row": "goes with its import",
    "parked_sprint": "goes when a worker takes its contact",
    "trigger_contact": "goes with its trigger or contact",
    "trigger_group": "goes with its trigger or group",
}
ARCHIVED = {
    "flow_run": "90 days after its end (test_run_archiving)",
    "message": "90 days after it was stored (test_archiving)",
}
BOUNDED = {
    "account": "a row for each user",
    "write_mark": "a row for each token",
    "former_channel": "a row for each workspace that a phone has left",
    "media_usage": "a row for each workspace",
    "membership": "a row for each user of a workspace",
    "rate_window": "a row for each workspace and scope",
    "workspace_move": "a row for each server that a workspace came from",
    "schema_note": "one row",
    "secret_key_check": "one row",
    "webhook_receiver": "a row for each receiver with settings of its own",
    "webhook_trouble": "a row for each receiver that fails",
    "workspace_clock": "a row for each workspace",
}
CONFIGURED = {
    *("boundary", "boundary_alias", "campaign", "campaign_event", "classifier", "contact_field", "contact_group"),
    *("flow", "flow_label", "flow_revision", "global_value", "label", "labeled_flow", "optin", "resthook"),
    *("resthook_subscriber", "saved_reply", "template", "template_translation", "ticketer", "topic", "trigger"),
    *("api_token", "app_user", "workspace"),
}
"""What people set up, by hand or by import: it grows with their work, and they delete it."""
RECORDS = {
    "archive": "where the archived records are found",
    "broadcast": "what was sent to whom, in the lists of both generations",
    "broadcast_contact": "the recipients of a broadcast",
    "broadcast_group": "the recipients of a broadcast",
    "channel_event": "the calls of contacts; nothing archives them, and they go with their contact",
    "contact": "the people a workspace is for",
    "contact_note": "what people wrote about a contact; they go with the contact",
    "contact_urn": "how contacts are reached; one that is left keeps its history",
    "data_request": "the proof that a person's request was met",
    "day_count": "what happened on a day, in the figures of the workspace",
    "flow_count": "what runs did on a day, in the figures of a flow",
    "flow_start": "who was started in what, in the lists of v2",
    "flow_start_contact": "whom a start names",
    "flow_start_group": "whom a start names",
    "group_membership": "who is in which group",
    "moved_record": "what a record of another server became here; as many as were moved in",
    "media": "files that messages and broadcasts show; bounded by the quota of the workspace",
    "ticket": "the work of a help desk, in the lists of v2",
    "ticket_event": "what happened to a ticket",
}


def void(_value: object) -> None:
    return None


def test_every_table_has_an_age_or_a_reason_to_have_none() -> None:
    kinds = (TRIMMED, WITH_OTHERS, ARCHIVED, BOUNDED, CONFIGURED, RECORDS)
    listed = [name for kind in kinds for name in kind]

    assert sorted(listed) == sorted(metadata.tables)


@pytest.mark.parametrize("name", TRIMMED)
def test_what_promises_an_age_is_trimmed_and_nothing_younger(runtime, database, workspace, clock, name) -> None:
    rule, table = TRIMMED[name], metadata.tables[name]
    fill_workspace(database, workspace)
    with database.writing() as tx:
        rule.prepare(tx, workspace)
        tx.execute(update(table).values({rule.column: clock.moment}))
        everything = tx.execute(select(func.count()).select_from(table)).scalar_one()
        kept = tx.execute(select(func.count()).where(rule.stays)).scalar_one() if rule.stays is not None else 0
    step = begin_trimming(runtime)

    clock.moment += rule.age - MARGIN
    step()
    younger = count(database, table)
    clock.moment += 2 * MARGIN
    while step():
        pass

    assert everything > kept
    assert (younger, count(database, table)) == (everything, kept)


def count(database: Any, table: Any) -> int:
    with database.reading() as tx:
        return int(tx.execute(select(func.count()).select_from(table)).scalar_one())
