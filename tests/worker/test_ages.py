"""Every table has an age at which its rows are deleted, or a reason why they are kept."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, false, func, insert, select, true, update

from persistence.accounts.invitations import post
from persistence.relayers.relayers import PhoneIdentity, register_phone
from persistence.service.diagnosis import Worker, record_heartbeat
from persistence.tables.accounts import account_mail, invitation, sign_in, sign_in_link, sign_in_window
from persistence.tables.campaigns import campaign_fire
from persistence.tables.changes import deletion
from persistence.tables.channels import (
    channel,
    channel_alarm,
    forgotten_report,
    gateway_call,
    gateway_part,
    message_piece,
    registration_window,
    sync_record,
    waiting_registration,
)
from persistence.tables.complete import metadata
from persistence.tables.data_jobs import contact_import, contact_job, export
from persistence.tables.deliveries import delivery, resthook_event
from persistence.tables.policies import TRIMMED as OLD_ROWS_GO
from persistence.tables.policies import policy_of
from persistence.tables.service import audit_event, kept_answer, rate_window, worker_heartbeat
from persistence.tokens import Origin, claim_key, take_allowance
from tests.contract.filled_workspace import fill_workspace
from worker.jobs import begin_trimming

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
MARGIN = timedelta(minutes=1)
EVERY_ROW = true()


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


def ask(tx: Any, workspace: Any) -> None:
    take_allowance(tx, workspace.id, "v2", limit=5, period=DAY, wanted=1)


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
    "contact_job": Age(7 * DAY, contact_job.c.created_on),
    "contact_import": Age(7 * DAY, contact_import.c.created_on),
    "delivery": Age(7 * DAY, delivery.c.finished_on),
    "export": Age(7 * DAY, export.c.created_on),
    "forgotten_report": Age(90 * DAY, forgotten_report.c.forgotten_on),
    "gateway_call": Age(7 * DAY, gateway_call.c.created_on),
    "gateway_part": Age(30 * DAY, gateway_part.c.created_on),
    "idempotency_answer": Age(
        DAY, kept_answer.c.created_on, None, lambda tx, workspace: void(claim_key(tx, workspace.id, "post", "key", b""))
    ),
    "message_piece": Age(DAY, message_piece.c.received_on),
    "rate_window": Age(DAY, rate_window.c.began_on, None, ask),
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


def void(_value: object) -> None:
    return None


def test_what_promises_to_be_trimmed_has_an_age() -> None:
    assert set(TRIMMED) == {each.name for each in metadata.sorted_tables if policy_of(each).stays == OLD_ROWS_GO}


def test_what_promises_an_age_is_trimmed_and_nothing_younger(runtime, database, workspace, clock) -> None:
    """All of it is written at one time, and looked at whenever one of these ages is reached, the youngest first."""
    fill_workspace(database, workspace)
    with database.writing() as tx:
        for prepare in dict.fromkeys(rule.prepare for rule in TRIMMED.values()):
            prepare(tx, workspace)
        began = tx.now
        for name, rule in TRIMMED.items():
            tx.execute(update(metadata.tables[name]).values({rule.column: began}))
    step = begin_trimming(runtime)

    for age in sorted({rule.age for rule in TRIMMED.values()}):
        rules = {name: rule for name, rule in TRIMMED.items() if rule.age == age}
        clock.moment = began + age - MARGIN
        before = {name: count(database, name) for name in rules}
        kept = {name: count(database, name, rule.stays) for name, rule in rules.items()}
        assert [name for name in rules if before[name] <= kept[name]] == []
        while step():
            pass
        assert {name: count(database, name) for name in rules} == before
        clock.moment += 2 * MARGIN
        while step():
            pass
        assert {name: count(database, name) for name in rules} == kept


def count(database: Any, name: str, of: ColumnElement[bool] | None = EVERY_ROW) -> int:
    with database.reading() as tx:
        chosen = select(func.count()).select_from(metadata.tables[name]).where(false() if of is None else of)
        return int(tx.execute(chosen).scalar_one())
