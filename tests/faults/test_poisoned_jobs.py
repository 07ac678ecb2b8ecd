"""Work that kills each worker that comes to it fails after the third death, with a reason that people see, and other
work of the same kind is done.
"""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import Column, ColumnElement, func, insert, select, update

from flows.urns import Urn
from persistence.accounts.invitations import invite
from persistence.archives.writing import list_given_up
from persistence.contact_imports.contact_imports import create_import, start_import
from persistence.contacts.urns import ensure_owners
from persistence.data_jobs import Performer, take_next
from persistence.database import Database
from persistence.deliveries.outbox import record_channel_event
from persistence.groups.groups import create_group
from persistence.groups.smart_groups import create_query_group
from persistence.lists import ListQuery, read_list
from persistence.media.store import FolderStore
from persistence.messages.incoming import Received, store_received
from persistence.tables.accounts import account_mail
from persistence.tables.campaigns import campaign_event, campaign_fire, trigger
from persistence.tables.contacts import contact, field, group, group_membership
from persistence.tables.data_jobs import contact_import
from persistence.tables.flows import flow, flow_run, flow_start, flow_start_batch
from persistence.tables.messages import broadcast, message
from persistence.tables.service import archive
from persistence.triggers.records import CATCH_ALL, SCHEDULE, TRIGGERS, NewTrigger, create_trigger
from persistence.workspaces.records import Workspace
from relayboard.base.mail_server import read_mail_server
from relayboard.base.settings import Settings
from relayboard.doctor.database import DatabaseDoctor
from testbed.flow_rows import definition, node, say, store_flow
from testbed.forked import fork
from testbed.gateways import add_gateway, queue_messages, states_of
from testbed.running import Receiver, wait_until
from testbed.tokens import SECRET_KEY
from tests.api import Api
from tests.campaign_rows import make_campaign, make_event, make_group
from tests.channel_rows import add_channel, add_contact
from tests.conftest import Clock
from tests.factories import make_contacts, make_field
from tests.faults import poisoned_worker
from tests.faults.test_archive_kills import add_old_records
from tests.run_rows import add_flow, add_people, add_start
from tests.thinned import EVERY_CASE
from tests.worker.flows.mail_receivers import receiving_mail

POISON, OTHER = "poison", "harmless"
MOST_DEATHS = 3
MINUTES = 40
"""So much later each worker begins: leases of the one before it are over."""


@dataclass(frozen=True)
class Ground:
    """Where the work is."""

    api: Api
    settings: Settings
    environment: dict[str, str]

    @property
    def database(self) -> Database:
        return self.api.database

    @property
    def workspace(self) -> Workspace:
        return self.api.workspace

    def one(self, path: str, **query: Any) -> Any:
        (record,) = self.api.results(f"/api/v2/{path}.json", **query)
        return record


@dataclass(frozen=True)
class Case:
    """What a worker is killed by: a call of the function in this place that shows the mark. `look` returns why the
    poisoned work failed, and whether the other is done; `close` ends what the test has begun. `deaths` is where the row
    of the poisoned work, which a worker takes alone, counts who died at it: one is killed, and the row tells the next
    one of two more. None if a worker takes several at once: of these it matters what each death does to the others.
    """

    place: str
    mark: str
    look: Callable[[], tuple[str | None, bool]]
    close: Callable[[], None] = lambda: None
    deaths: tuple[Column[Any], ColumnElement[bool]] | None = None


@pytest.fixture
def ground(api: Api, settings: Settings, database_url: str, tmp_path: Path, clock: Clock) -> Ground:
    clock.moment = datetime.now(UTC)  # workers have the real time
    environment = {
        **os.environ,
        "RELAYBOARD_DATABASE_URL": database_url,
        "RELAYBOARD_QUEUE_URL": f"sqlite:///{tmp_path / 'queue.db'}",
        "RELAYBOARD_MEDIA_URL": f"file://{tmp_path / 'media'}",
        "RELAYBOARD_SECRET_KEY": SECRET_KEY,
        "RELAYBOARD_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
    }
    return Ground(api, settings, environment)


def of_import(ground: Ground) -> Case:
    """The second part of a file: the first is imported once."""
    store = FolderStore(ground.environment["RELAYBOARD_MEDIA_URL"])
    uuids = []
    for number, name in enumerate((POISON, OTHER)):
        people = [f"+25078{number}{row:06},{name if row == 600 else 'Ada'}" for row in range(700)]
        with store.writing(f"imports/{name}.csv") as file:
            file.write("\n".join(["Phone,Name", *people]).encode())
        with ground.database.writing() as tx:
            create_import(tx, ground.workspace, f"{name}.csv", f"imports/{name}.csv", None)
        held = ground.database.write(lambda tx: take_next(tx, ground.workspace.id))
        assert held is not None
        Performer(ground.database, store).perform(held)
        uuids.append(held.row.uuid)
    with ground.database.writing() as tx:
        for uuid in uuids:
            start_import(tx, ground.workspace, uuid, (), None)

    def look() -> tuple[str | None, bool]:
        bad, good = (ground.one("contact_imports", uuid=uuid) for uuid in uuids)
        assert bad["created"] in (0, 500)
        return bad["error"], (good["status"], good["created"]) == ("completed", 700)

    deaths = (contact_import.c.attempts, contact_import.c.uuid == uuids[0])
    return Case("persistence.contact_imports.running write_chunk", POISON, look, deaths=deaths)


def of_broadcast(ground: Ground) -> Case:
    add_channel(ground.database, ground.workspace)
    uuids = [
        ground.api.post("/api/v2/broadcasts.json", {"text": text, "urns": ["tel:+254722000111"]}).json()["uuid"]
        for text in (POISON, OTHER)
    ]

    def look() -> tuple[str | None, bool]:
        bad, good = (ground.one("broadcasts", uuid=uuid) for uuid in uuids)
        return bad["error"], good["status"] == "completed"

    deaths = (broadcast.c.attempts, broadcast.c.uuid == uuids[0])
    return Case("persistence.broadcasts.expansion Writer", POISON, look, deaths=deaths)


def starts_of(ground: Ground, place: str, deaths: Callable[[int], tuple[Column[Any], ColumnElement[bool]]]) -> Case:
    """Two starts, of which the first is poisoned."""
    people, flow_id = add_people(ground.database, ground.workspace, 1), greeting(ground)
    ids = [add_start(ground.database, ground.workspace, flow_id, people) for _ in range(2)]
    with ground.database.reading() as tx:
        uuids = [tx.execute(select(flow_start.c.uuid).where(flow_start.c.id == each)).scalar_one() for each in ids]

    def look() -> tuple[str | None, bool]:
        bad, good = (ground.one("flow_starts", uuid=uuid) for uuid in uuids)
        return bad["error"], (good["status"], good["error"]) == ("completed", None)

    return Case(place, uuids[0], look, deaths=deaths(ids[0]))


def greeting(ground: Ground) -> int:
    uuid = store_flow(ground.database, ground.workspace, definition("Greeting", [node("hello", [say("Hello.")])]))
    with ground.database.reading() as tx:
        return int(tx.execute(select(flow.c.id).where(flow.c.uuid == uuid)).scalar_one())


def of_start(ground: Ground) -> Case:
    place, rows = "worker.flows.starts expand_start", flow_start.c
    return starts_of(ground, place, lambda start_id: (rows.attempts, rows.id == start_id))


def of_planned_batch(ground: Ground) -> Case:
    place, rows = "worker.flows.starts plan_batch", flow_start_batch.c
    return starts_of(ground, place, lambda start_id: (rows.attempts, rows.start_id == start_id))


def of_sprint(ground: Ground) -> Case:
    """One contact of a batch: the others of the same batch are started."""
    people = add_people(ground.database, ground.workspace, 5)
    with ground.database.writing() as tx:
        tx.execute(update(contact).where(contact.c.id == people[2]).values(name=POISON))
    start_id = add_start(ground.database, ground.workspace, greeting(ground), people)
    with ground.database.reading() as tx:
        uuid = tx.execute(select(flow_start.c.uuid).where(flow_start.c.id == start_id)).scalar_one()

    def look() -> tuple[str | None, bool]:
        record = ground.one("flow_starts", uuid=uuid)
        with ground.database.reading() as tx:
            started = set(tx.execute(select(flow_run.c.contact_id).where(flow_run.c.status == "completed")).scalars())
        return record["error"], record["status"] == "completed" and started == set(people) - {people[2]}

    return Case("worker.flows.sprints start", POISON, look)


def of_message(ground: Ground) -> Case:
    channel_id = add_channel(ground.database, ground.workspace)
    flow_id = greeting(ground)
    with ground.database.writing() as tx:
        create_trigger(tx, ground.workspace.id, NewTrigger(CATCH_ALL, flow_id))
        for text, phone in ((POISON, "+254722000111"), (OTHER, "+254722000222")):
            urn = Urn("tel", phone)
            owner = ensure_owners(tx, ground.workspace.id, [urn], channel_id=channel_id)[urn.identity]
            store_received(tx, ground.workspace.id, channel_id, [Received(owner, text, tx.now, text)])

    def look() -> tuple[str | None, bool]:
        with ground.database.reading() as tx:
            of_text = {row.text: row for row in tx.execute(select(message).where(message.c.direction == "in"))}
        good = of_text[OTHER]
        return of_text[POISON].failed_reason, (good.status, good.failed_reason) == ("handled", None)

    return Case("worker.flows.sprints start", POISON, look)


def of_archive(ground: Ground) -> Case:
    add_old_records(ground.database, ground.workspace)

    def look() -> tuple[str | None, bool]:
        with ground.database.reading() as tx:
            told = list_given_up(tx)  # the doctor's words
            files = set(tx.execute(select(archive.c.archive_type)).scalars())
            runs = tx.execute(select(flow_run.c.id).limit(1)).first()
        reason = "three attempts" if told == [(ground.workspace.name, "daily message")] else None
        return reason, files == {"run"} and runs is None

    return Case("persistence.archives.writing _read_day", "name='message'", look)


def of_delivery(ground: Ground) -> Case:
    receiver = Receiver()
    channel_id = add_channel(ground.database, ground.workspace, webhook_url=receiver.url)
    with ground.database.writing() as tx:
        for text in (POISON, OTHER):
            record_channel_event(tx, ground.workspace.id, channel_id, "mo_sms", {"text": text})

    def look() -> tuple[str | None, bool]:
        found = {each["status"]: each for each in ground.api.results("/api/v2/deliveries.json")}
        return found["failed"]["last_error"] if "failed" in found else None, "delivered" in found

    return Case("worker.webhooks.dispatcher call_receiver", POISON, look, receiver.close)


def of_letter(ground: Ground) -> Case:
    context = receiving_mail()
    mailbox = context.__enter__()
    ground.environment["RELAYBOARD_SMTP_URL"] = mailbox.url()
    settings = replace(ground.settings, smtp_url=read_mail_server(mailbox.url()))
    with ground.database.writing() as tx:
        for name in (POISON, OTHER):
            invite(tx, ground.workspace, f"{name}@example.org", "agent", "https://example.org", settings)

    def look() -> tuple[str | None, bool]:
        found = {each["email"]: each["error"] for each in ground.api.results("/api/v2/invitations.json")}
        reason = found[f"{POISON}@example.org"]
        if reason is not None:
            told = [each.sentence for each in DatabaseDoctor(ground.settings, has_key=True).check()]
            assert any("1 letters about accounts were not sent" in each for each in told)
        return reason, len(mailbox.envelopes) == 1 and found[f"{OTHER}@example.org"] is None

    with ground.database.reading() as tx:
        mail_id = tx.execute(select(func.min(account_mail.c.id))).scalar_one()
    deaths = (account_mail.c.begun, account_mail.c.id == mail_id)
    return Case("worker.jobs write_letter", POISON, look, lambda: context.__exit__(None, None, None), deaths)


def campaigns_of(ground: Ground) -> tuple[int, int]:
    """Two events whose time has come for one contact; the first is poisoned."""
    add_channel(ground.database, ground.workspace)
    make_field(ground.database, ground.workspace, "Due Date", "datetime")
    group_id = make_group(ground.database, ground.workspace)
    contact_id = add_contact(ground.database, ground.workspace)
    campaign = make_campaign(ground.database, ground.workspace, "Antenatal")
    ids = [make_event(ground.database, ground.workspace, campaign, message={"eng": text}) for text in (POISON, OTHER)]
    with ground.database.writing() as tx:
        moment = (tx.now - timedelta(days=1, hours=1)).isoformat()
        uuid = tx.execute(select(field.c.uuid)).scalar_one()
        tx.execute(update(contact).values(fields={uuid: {"text": moment, "datetime": moment}}))
        member = {"workspace_id": ground.workspace.id, "group_id": group_id, "contact_id": contact_id}
        tx.execute(insert(group_membership).values(member))
        before = tx.now - timedelta(days=2)
        tx.execute(update(campaign_event).values(scheduling_since=before, timed_on=before))
    return ids[0], ids[1]


def look_at_events(ground: Ground) -> tuple[str | None, bool]:
    errors = {each["message"]["eng"]: each["error"] for each in ground.api.results("/api/v2/campaign_events.json")}
    with ground.database.reading() as tx:
        sent = list(tx.execute(select(message.c.text)).scalars())
    return errors[POISON], sent == [OTHER] and errors[OTHER] is None


def of_fire(ground: Ground) -> Case:
    poisoned, _ = campaigns_of(ground)
    deaths = (campaign_fire.c.attempts, campaign_fire.c.event_id == poisoned)
    return Case("persistence.campaigns.firing Writer", POISON, lambda: look_at_events(ground), deaths=deaths)


def of_pass(ground: Ground) -> Case:
    poisoned, _ = campaigns_of(ground)
    place = "persistence.campaigns.fires update_fires"
    deaths = (campaign_event.c.attempts, campaign_event.c.id == poisoned)
    return Case(place, f"event_id={poisoned},", lambda: look_at_events(ground), deaths=deaths)


def of_group(ground: Ground) -> Case:
    make_contacts(ground.database, ground.workspace, 3)
    with ground.database.writing() as tx:
        for name in (POISON, OTHER):
            create_query_group(tx, ground.workspace, name, f'name != "{name}"')

    def look() -> tuple[str | None, bool]:
        bad, good = (ground.one("groups", name=name) for name in (POISON, OTHER))
        return bad["error"], (good["status"], good["count"], bad["status"]) == ("ready", 3, "evaluating")

    deaths = (group.c.attempts, group.c.name == POISON)
    return Case("persistence.groups.cached_queries membership", f'"{POISON}"', look, deaths=deaths)


def of_schedule(ground: Ground) -> Case:
    flows = [add_flow(ground.database, ground.workspace, name) for name in (POISON, OTHER)]
    due_on = ground.database.clock() - timedelta(hours=1)
    with ground.database.writing() as tx:
        group_id = create_group(tx, ground.workspace.id, "Mothers")
        for flow_id in flows:
            new = NewTrigger(SCHEDULE, flow_id, group_ids=frozenset({group_id}), repeat="daily", next_fire_on=due_on)
            create_trigger(tx, ground.workspace.id, new)

    def look() -> tuple[str | None, bool]:
        with ground.database.reading() as tx:
            triggers = [orjson.loads(each) for each in read_list(ListQuery(tx, ground.workspace), TRIGGERS)]
            started = list(tx.execute(select(flow_start.c.flow_id)).scalars())
        shown = {each["flow"]["name"]: each for each in triggers}
        tomorrow = due_on + timedelta(days=1)
        comes_again = datetime.fromisoformat(shown[POISON]["next_fire_on"]) == tomorrow
        return shown[POISON]["error"] if comes_again else None, started == flows[1:]

    deaths = (trigger.c.attempts, trigger.c.flow_id == flows[0])
    return Case("persistence.triggers.schedules create_start", f"NewStart(flow_id={flows[0]},", look, deaths=deaths)


def of_sending(ground: Ground) -> Case:
    receiver = Receiver()
    gateway = add_gateway(ground.database, ground.workspace, receiver.url)
    (bad,) = queue_messages(ground.database, ground.workspace, gateway, text=POISON)
    good = queue_messages(ground.database, ground.workspace, gateway, 3, OTHER)

    def look() -> tuple[str | None, bool]:
        ((status, reason),) = states_of(ground.database, [bad])
        return reason if status == "failed" else None, set(states_of(ground.database, good)) == {("wired", None)}

    return Case("worker.channels.sending hand_over", POISON, look, receiver.close)


KINDS = {
    "import": of_import,
    "broadcast": of_broadcast,
    "start": of_start,
    "planned batch": of_planned_batch,
    "sprint": of_sprint,
    "message": of_message,
    "archive": of_archive,
    "delivery": of_delivery,
    "letter": of_letter,
    "fire": of_fire,
    "pass": of_pass,
    "group": of_group,
    "schedule": of_schedule,
    "sending": of_sending,
}
ON_POSTGRESQL = ("broadcast", "message", "delivery", "group", "sending")
"""Those whose work is taken by other statements there. tests/persistence/test_leases.py gives up what was begun three
times in each table on both databases."""


def count_deaths(ground: Ground, case: Case, clock: Clock) -> int:
    """Lets workers work, one after the other, until the poisoned work has failed and the other is done; how many were
    killed, or so the work's row says."""
    deaths = 0
    while True:
        worker = fork(poisoned_worker.main, case.place, case.mark, deaths * MINUTES, environment=ground.environment)
        try:

            def has_ended() -> bool:
                reason, is_done = case.look()
                return reason is not None and is_done

            wait_until(
                lambda worker=worker: worker.poll() is not None or has_ended(),
                "the poisoned work to end",
                pause_seconds=0.2,  # each look is a request
            )
            if has_ended():
                return deaths
            assert worker.wait() == -signal.SIGKILL, "it ended by itself"
            deaths += 1
            assert deaths <= MOST_DEATHS, "it is tried for ever"
            if case.deaths is not None:
                assert deaths == 1, "it is tried after three deaths"
                count, is_poisoned = case.deaths
                with ground.database.writing() as tx:
                    told = update(count.table).where(is_poisoned, count == deaths).values({count: MOST_DEATHS})
                    assert tx.execute(told).rowcount == 1
                deaths = MOST_DEATHS
        finally:
            worker.kill()
            worker.wait()
        clock.advance(minutes=MINUTES)


@pytest.mark.parametrize(
    ("database_url", "kind"),
    [("sqlite", kind) for kind in KINDS if EVERY_CASE or kind not in ON_POSTGRESQL]
    + [("postgresql", kind) for kind in ON_POSTGRESQL],
    indirect=["database_url"],
)
def test_what_kills_three_workers_fails_with_a_reason_and_the_rest_is_done(
    ground: Ground, kind: str, clock: Clock
) -> None:
    case = KINDS[kind](ground)
    try:
        assert count_deaths(ground, case, clock) == MOST_DEATHS
        reason, _ = case.look()
        assert reason is not None and (
            "attempts" in reason
            or reason
            in (
                "handling_failed",
                "sending_failed",
            )
        )
    finally:
        case.close()
