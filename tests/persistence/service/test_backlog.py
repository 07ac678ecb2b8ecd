"""What metrics and `relayboard status` say about work that waits, and what it costs to say it."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import delete, event, insert, text, update

from persistence.accounts.invitations import SIGN_IN, claim_letter, post
from persistence.channels.channels import LOST_AFTER
from persistence.deliveries.outbox import record_channel_event
from persistence.service.backlog import Waiting, read_backlog
from persistence.tables.campaigns import campaign_fire, trigger
from persistence.tables.channels import channel, channel_check, channel_event, phone_push
from persistence.tables.contacts import contact, group
from persistence.tables.deliveries import delivery
from persistence.tables.flows import flow, flow_start_batch, parked_sprint
from persistence.tables.messages import QUEUED, WIRED, broadcast, gateway_send
from tests.channel_rows import add_channel, add_contact, add_outgoing, change_channel
from tests.contract.filled_workspace import fill_workspace
from tests.contract.test_plans import plan_nodes
from tests.factories import make_contact, make_messages
from tests.run_rows import add_flow, add_start, add_waiting
from worker.jobs import JOBS

NOTHING = Waiting(0, 0.0)
MINUTE = timedelta(minutes=1)
LARGE = ("message", "contact", "channel_event", "campaign_fire", "delivery", "flow_session", "flow_start", "broadcast")
ROWS = 400
MOST_STATEMENTS = 20
BOUNDED = ("INDEX ix_message_unhandled", "INDEX ix_delivery_due")
"""Indexes of nothing but what waits, which are read from their beginning as far as the limit goes."""


def read(database):
    with database.reading_snapshot(5) as tx:
        return read_backlog(tx)


def rounded(waiting):
    return waiting.count, round(waiting.oldest_seconds)


def change(database, table, **values):
    """Changes all rows of a table."""
    with database.writing() as tx:
        tx.execute(update(table).values(values))


def test_where_nothing_waits_everything_is_nought(database, workspace):
    fill_workspace(database, workspace)
    change(database, delivery, status="delivered")
    change(database, campaign_fire, fired_on=database.clock())
    change(database, flow, counted_on=None)
    with database.writing() as tx:
        tx.execute(delete(gateway_send))
        tx.execute(delete(parked_sprint))

    backlog = read(database)

    assert set(backlog.kinds.values()) == {NOTHING}
    assert (backlog.channels, backlog.contacts_waiting, set(backlog.expired_leases.values())) == ([], 0, {0})


def test_messages_to_send_are_told_by_channel_with_the_age_of_the_oldest(database, workspace, clock):
    contact_id = add_contact(database, workspace)
    phone, busy = add_channel(database, workspace), add_channel(database, workspace, address="+254733555011")
    gateway = add_channel(database, workspace, type="external", address="8181")
    add_channel(database, workspace, address="+254733555012")
    start = clock.moment
    for channel_id, minutes, status in ((phone, 9, WIRED), (phone, 5, QUEUED), (phone, 2, QUEUED), (busy, 1, WIRED)):
        add_outgoing(database, workspace, channel_id, contact_id, start - minutes * MINUTE, status)
    sent = add_outgoing(database, workspace, gateway, contact_id, start - 3 * MINUTE, WIRED)
    with database.writing() as tx:
        row = {"workspace_id": workspace.id, "channel_id": gateway, "message_id": sent, "priority": 1}
        counts = dict.fromkeys(("parts_begun", "parts_accepted", "error_count"), 0)
        moments = {"created_on": start - 3 * MINUTE, "due_on": start}
        tx.execute(insert(gateway_send).values(row | counts | moments))

    channels = [(each.type, rounded(each.waiting)) for each in read(database).channels]

    assert channels == [("android", (2, 300)), ("external", (1, 180))]


def test_what_comes_in_waits_until_it_is_handled(database, workspace, clock):
    amina, bob = make_contact(database, workspace, "+250788000001"), make_contact(database, workspace, "+250788000002")
    since = clock.moment - 2 * MINUTE
    make_messages(database, workspace, amina, 3, status=QUEUED, created_on=since)
    make_messages(database, workspace, bob, 1, status=QUEUED)
    make_messages(database, workspace, bob, 5)

    backlog = read(database)

    assert rounded(backlog.kinds["incoming"]) == (4, 120)
    assert backlog.contacts_waiting == 2


def test_the_age_counts_from_our_own_time_where_a_phone_gave_another(database, workspace, clock):
    amina = make_contact(database, workspace)
    long_ago = clock.moment - timedelta(days=300)
    make_messages(database, workspace, amina, 1, status=QUEUED, created_on=long_ago, stored_on=clock.moment - MINUTE)

    assert rounded(read(database).kinds["incoming"]) == (1, 60)


def test_starts_and_timers_count_from_their_moment(database, workspace, clock):
    flow_id = add_flow(database, workspace)
    people = [add_contact(database, workspace, f"+25078800000{number}") for number in range(3)]
    add_start(database, workspace, flow_id, people[:1])
    for person, minutes in zip(people, (4, 1, -5), strict=True):
        add_waiting(database, workspace, flow_id, person, timeout_on=clock.moment - minutes * MINUTE)
    clock.moment += MINUTE

    kinds = read(database).kinds

    assert rounded(kinds["starts"]) == (1, 60)
    assert rounded(kinds["timers"]) == (2, 300)


def test_deliveries_wait_from_the_event_until_they_are_accepted(database, workspace, clock):
    channel_id = add_channel(database, workspace, webhook_url="https://example.org/hook")
    with database.writing() as tx:
        record_channel_event(tx, workspace.id, channel_id, "mo_sms", {"text": "hello"})
    clock.moment += 2 * MINUTE
    fresh = read(database)
    change(database, delivery, due_on=clock.moment - MINUTE)

    assert rounded(fresh.kinds["webhooks"]) == (1, 120)
    assert fresh.expired_leases["webhooks"] == 0
    assert read(database).expired_leases["webhooks"] == 1


@pytest.mark.parametrize(
    ("kind", "table", "changes"),
    [
        ("calls", channel_event, {"is_pending": True}),
        ("parked", parked_sprint, {}),
        ("broadcasts", broadcast, {"status": "queued"}),
        ("groups", group, {"status": "initializing"}),
        ("counts", flow, {"counted_on": datetime(2026, 1, 1, tzinfo=UTC)}),
    ],
)
def test_open_records_of_a_kind_are_counted(database, workspace, clock, kind, table, changes):
    fill_workspace(database, workspace, 2, {table.name: 4})
    with database.writing() as tx:
        first = table.c.id <= 3
        tx.execute(update(table).where(first).values(changes) if changes else delete(table).where(~first))

    assert read(database).kinds[kind].count == 3
    assert read(database).kinds[kind].oldest_seconds > 0


def test_campaigns_and_schedules_lag_by_what_is_due(database, workspace, clock):
    fill_workspace(database, workspace, 2)
    change(database, campaign_fire, fired_on=None, due_on=clock.moment - 7 * MINUTE)
    change(database, trigger, next_fire_on=clock.moment + MINUTE)
    before = read(database).kinds
    clock.moment += 2 * MINUTE
    kinds = read(database).kinds

    assert rounded(before["campaigns"]) == (2, 420)
    assert (before["schedules"], rounded(kinds["schedules"])) == (NOTHING, (2, 60))


def test_a_scheduled_broadcast_is_late_from_its_time_on(database, workspace, clock):
    fill_workspace(database, workspace, 2)
    change(database, broadcast, status="pending", created_on=clock.moment, scheduled_on=clock.moment + 7 * MINUTE)
    before = read(database).kinds
    clock.moment += 8 * MINUTE

    assert (before["broadcasts"], rounded(read(database).kinds["broadcasts"])) == (NOTHING, (2, 60))


def test_letters_wait_until_they_are_sent_or_are_of_no_use(database, workspace, clock):
    for minutes in (5, 30):
        with database.writing() as tx:
            post(tx, SIGN_IN, "amina@example.org", {"link": "https://example.org"}, minutes * MINUTE)
        clock.moment += 2 * MINUTE
    with database.writing() as tx:
        claim_letter(tx)
    both = read(database).kinds["mail"]
    clock.moment += 2 * MINUTE

    assert rounded(both) == (2, 240)
    assert rounded(read(database).kinds["mail"]) == (1, 240)


def test_leases_that_ran_out_are_told_by_what_was_left_lying(database, workspace, clock):
    fill_workspace(database, workspace, 2)
    amina = make_contact(database, workspace)
    make_messages(database, workspace, amina, 2, status=QUEUED)
    past = clock.moment - MINUTE
    change(database, contact, handling_until=past)
    change(database, group, status="evaluating", evaluated_until=past)
    change(database, flow_start_batch, status="pending", leased_until=past)
    change(database, gateway_send, parts_begun=2, parts_accepted=1, due_on=past)
    change(database, delivery, status="delivered")
    groups = read(database).kinds["groups"].count

    assert read(database).expired_leases == {"contacts": 2, "groups": groups, "starts": 2, "sending": 2, "webhooks": 0}


def test_a_phone_is_silent_when_it_has_not_been_seen_for_as_long_as_its_alarm_waits(database, workspace, clock):
    first = add_channel(database, workspace)
    add_channel(database, workspace, address="+254733555011")
    add_channel(database, workspace, type="external", address="8181", last_seen=None)
    change_channel(database, first, last_seen=clock.moment - LOST_AFTER - MINUTE)
    backlog = read(database)

    assert (backlog.phones, backlog.silent_phones) == (2, 1)


PARTITION = re.compile(r"_part\d+$")
"""The end of the name of a partition: the rest is its table's."""


def plans(database, statements):
    """Each step that reads a large table from end to end, not along an index of what waits."""
    with database.engine.connect() as connection:
        connection.execute(text("ANALYZE"))
    with database.engine.connect() as connection:
        for statement, values in statements:
            if database.sqlite:
                steps = [str(row[-1]) for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)]
                yield from (step for step in steps if step.startswith("SCAN ") and not step.endswith(BOUNDED))
            else:
                plan = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement}", values).scalar_one()
                nodes = plan_nodes((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])
                scanned = [node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"]
                held = [each for each in scanned if _pages(connection, each)]
                yield from (f"SCAN {PARTITION.sub('', name)}" for name in held)


def _pages(connection, table):
    """The pages of a table or partition: reading one without any costs nothing, so PostgreSQL uses no index there."""
    size = text("SELECT pg_relation_size(to_regclass(:name))").bindparams(name=table)
    return connection.execute(size).scalar_one()


def test_no_number_is_found_by_reading_a_large_table(database, workspace):
    """Finished work fills the tables; what is read is the indexes of what is not."""
    fill_workspace(database, workspace, 2, dict.fromkeys(LARGE, ROWS))
    change(database, delivery, status="delivered")
    change(database, campaign_fire, fired_on=database.clock())
    seen = []
    event.listen(
        database.engine,
        "before_cursor_execute",
        lambda _connection, _cursor, statement, values, *_rest: seen.append((statement, values)),
    )
    read(database)
    asked = [each for each in seen if each[0].startswith("SELECT")]

    unhurried = ("SELECT count(*) FROM message WHERE text = 'x'", ())

    assert len(asked) <= MOST_STATEMENTS
    assert [step for step in plans(database, asked) if step.split()[1] in LARGE] == []
    assert set(plans(database, [unhurried])) == {"SCAN message"}


def test_the_bound_of_a_count_is_shared_out_among_workspaces(database, workspace, other_workspace, monkeypatch):
    monkeypatch.setattr("persistence.service.backlog.MOST", 6)
    monkeypatch.setattr("persistence.service.backlog.LEAST", 2)
    make_messages(database, workspace, make_contact(database, workspace), 9, status=QUEUED)
    alone = read(database).kinds["incoming"].count
    make_messages(database, other_workspace, make_contact(database, other_workspace), 2, status=QUEUED)

    assert (alone, read(database).kinds["incoming"].count) == (6, 5)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_snapshot_gives_up_soon_and_the_next_user_of_the_connection_has_patience(database):
    with pytest.raises(Exception, match="statement timeout"), database.reading_snapshot(0.05) as tx:
        tx.execute(text("SELECT pg_sleep(5)"))
    with database.reading() as tx:
        timeout = tx.execute(text("SHOW statement_timeout")).scalar_one()

    assert timeout == "30s"


def test_a_channel_that_was_released_has_no_queue(database, workspace, clock):
    contact_id = add_contact(database, workspace)
    phone = add_channel(database, workspace)
    add_outgoing(database, workspace, phone, contact_id, clock.moment)
    change(database, channel, is_active=False)

    assert read(database).channels == []


def test_what_is_asked_of_providers_waits_from_when_it_is_due(database, workspace, clock):
    phone = add_channel(database, workspace)
    gateway = add_channel(database, workspace, type="external", address="8181")
    with database.writing() as tx:
        first = {"workspace_id": workspace.id, "asked_on": tx.now, "state": "waiting", "asks": 1, "attempts": 0}
        for kind, due_on in (("connect", tx.now - MINUTE), ("check", tx.now + MINUTE)):
            tx.execute(insert(channel_check).values(first | {"channel_id": gateway, "kind": kind, "due_on": due_on}))
        row = {"workspace_id": workspace.id, "channel_id": phone, "via": "fcm", "due_on": tx.now - 2 * MINUTE}
        tx.execute(insert(phone_push).values(row | {"reason": "queue", "pushes": 0}))

    kinds = read(database).kinds

    assert (rounded(kinds["checks"]), rounded(kinds["pushes"])) == ((1, 60), (1, 120))


def test_every_job_that_works_off_rows_tells_what_waits(database):
    """Those that are not told of look at all there is from time to time, or are told by channel."""
    steady = {"alarms", "reminders", "expiry", "statistics", "learning", "archives", "trimming", "templates"}

    assert {job.kind for job in JOBS} == {*read(database).kinds, *steady, "sending"}
