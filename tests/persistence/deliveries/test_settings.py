from datetime import timedelta

import pytest
from sqlalchemy import select

from flows.asset_kinds import Resthook
from persistence.channels.channels import set_channel_webhook, switch_on_webhook
from persistence.deliveries.outbox import record_channel_event
from persistence.deliveries.settings import (
    LEAST_GIVEN_UP,
    Endpoint,
    GivenUp,
    SwitchedOff,
    list_switched_off,
    note_outcomes,
)
from persistence.errors import RecordMissing
from persistence.flows.assets import load_asset_rows
from persistence.resthooks import (
    create_subscriber,
    delete_subscriber,
    ensure_resthook,
    list_subscriber_states,
    record_resthook_event,
    switch_on_subscriber,
)
from persistence.tables.channels import channel
from persistence.tables.deliveries import webhook_trouble
from tests.channel_rows import add_channel

AFTER = timedelta(days=5)
URL = "https://hooks.example.org/in"
WHY = "the receiver responded with status 500."


@pytest.fixture
def phone(database, workspace):
    return Endpoint(workspace.id, channel_id=add_channel(database, workspace, webhook_url=URL))


@pytest.fixture
def subscriber(database, workspace):
    with database.writing() as tx:
        ensure_resthook(tx, workspace.id, "registration")
        return Endpoint(workspace.id, subscriber_id=create_subscriber(tx, workspace.id, "registration", URL))


@pytest.fixture
def fail(database):
    """Gives deliveries up; the endpoints that are switched off by it."""

    def give_up(*endpoints, count=1, after=AFTER):
        with database.writing() as tx:
            return note_outcomes(tx, [], dict.fromkeys(endpoints, GivenUp(count, WHY)), after)

    return give_up


@pytest.fixture
def accept(database):
    def note_acceptance(*endpoints):
        with database.writing() as tx:
            assert note_outcomes(tx, endpoints, {}, AFTER) == []

    return note_acceptance


@pytest.fixture
def switch_off(fail, clock):
    """Lets an endpoint fail for five days."""

    def fail_for_long(endpoint):
        for _ in range(LEAST_GIVEN_UP):
            fail(endpoint)
            clock.advance(hours=6)
        fail(endpoint)

    return fail_for_long


def count_rows(database):
    with database.reading() as tx:
        return len(tx.execute(select(webhook_trouble.c.id)).all())


def record_event(database, workspace, phone):
    with database.writing() as tx:
        return record_channel_event(tx, workspace.id, phone.channel_id, "mo_sms", {"text": "Hello"})


def record_resthook(database, workspace, told=()):
    with database.writing() as tx:
        return len(record_resthook_event(tx, workspace.id, "registration", {}, accepted=told))


def uuid_of(database, phone):
    with database.reading() as tx:
        return tx.execute(select(channel.c.uuid).where(channel.c.id == phone.channel_id)).scalar_one()


class TestWhen:
    @pytest.mark.parametrize("kind", ["phone", "subscriber"])
    def test_a_receiver_that_fails_for_five_days_is_switched_off_with_a_reason(self, request, kind, fail, clock):
        endpoint = request.getfixturevalue(kind)
        for _ in range(20):
            assert fail(endpoint) == []
            clock.advance(hours=6)

        (off,) = fail(endpoint)

        assert off.endpoint == endpoint
        assert off.reason.startswith("Nothing was accepted since 2026-03-02T08:00:00.")
        assert off.reason.endswith(f"and 21 deliveries were given up. The last one: {WHY}")

    def test_it_is_told_once(self, phone, fail, switch_off):
        switch_off(phone)

        assert fail(phone) == []

    def test_less_than_five_days_are_not_enough(self, phone, fail, clock):
        fail(phone, count=100)
        clock.advance(days=2.5)
        fail(phone, count=100)
        clock.advance(days=2.4)

        assert fail(phone, count=100) == []

    @pytest.mark.parametrize(("count", "is_off"), [(LEAST_GIVEN_UP - 2, False), (LEAST_GIVEN_UP - 1, True)])
    def test_fewer_than_twenty_deliveries_are_not_enough(self, phone, fail, clock, count, is_off):
        fail(phone, count=count - 1)
        clock.advance(days=3)
        fail(phone)
        clock.advance(days=3)

        assert bool(fail(phone)) is is_off

    def test_a_single_acceptance_begins_anew(self, phone, fail, accept, clock):
        fail(phone, count=50)
        clock.advance(days=3)
        accept(phone)
        fail(phone, count=50)
        clock.advance(days=3)

        assert fail(phone, count=50) == []
        clock.advance(days=2)
        assert len(fail(phone)) == 1

    def test_days_in_which_nothing_was_tried_do_not_count(self, phone, fail, clock):
        fail(phone, count=50)
        clock.advance(days=3.4)
        fail(phone, count=50)
        clock.advance(days=2)

        assert fail(phone) == []

    def test_a_weekend_without_events_does_not_save_a_dead_receiver(self, phone, fail, clock):
        fail(phone, count=50)
        clock.advance(days=3)
        fail(phone)
        clock.advance(days=2)

        assert len(fail(phone)) == 1

    def test_an_acceptance_counts_more_than_failures_of_the_same_moment(self, database, phone, fail):
        fail(phone)
        with database.writing() as tx:
            note_outcomes(tx, [phone], {phone: GivenUp(1, WHY)}, AFTER)

        assert count_rows(database) == 0

    def test_no_time_at_all_means_never(self, phone, fail, clock):
        for _ in range(10):
            assert fail(phone, count=50, after=timedelta(0)) == []
            clock.advance(days=3)

    def test_channels_and_subscribers_may_fail_at_the_same_moment(self, database, phone, subscriber, fail):
        for _ in range(2):
            assert fail(phone, subscriber) == []

        assert count_rows(database) == 2

    def test_others_are_not_concerned(self, database, workspace, phone, subscriber, switch_off):
        switch_off(phone)

        with database.reading() as tx:
            assert [off.endpoint for off in list_switched_off(tx, workspace.id)] == [phone]
        assert record_resthook(database, workspace) == 1

    def test_many_receivers_take_as_many_statements_as_one(self, workspace, database, fail, clock, statements):
        many = [Endpoint(workspace.id, channel_id=add_channel(database, workspace)) for _ in range(30)]
        counts = []
        for endpoints in (many[:1], many[1:], many[:1], many):
            statements.clear()
            fail(*endpoints)
            counts.append(
                len([statement for statement in statements if not statement.startswith(("BEGIN", "COMMIT", "SET"))])
            )

        assert counts == [2, 2, 2, 2]


class TestWhatFollows:
    def test_healthy_receivers_leave_no_row(self, database, phone, subscriber, accept):
        accept(phone, subscriber)

        assert count_rows(database) == 0

    @pytest.mark.parametrize("how", ["url", "command"])
    def test_setting_the_url_and_a_command_switch_on(self, database, workspace, phone, switch_off, how):
        switch_off(phone)
        uuid = uuid_of(database, phone)

        with database.writing() as tx:
            if how == "url":
                set_channel_webhook(tx, workspace.id, uuid, URL)
            else:
                assert switch_on_webhook(tx, workspace.id, uuid)
                assert not switch_on_webhook(tx, workspace.id, uuid)

        assert record_event(database, workspace, phone) is not None

    def test_failures_begin_to_count_anew(self, phone, fail, switch_off, database, workspace):
        switch_off(phone)
        with database.writing() as tx:
            switch_on_webhook(tx, workspace.id, uuid_of(database, phone))

        assert fail(phone, count=100) == []

    def test_a_subscriber_that_is_off_gets_nothing_and_flows_do_not_call_it(
        self, database, workspace, subscriber, switch_off
    ):
        switch_off(subscriber)

        assert record_resthook(database, workspace) == 0
        with database.reading() as tx:
            (hook,) = load_asset_rows(tx, workspace.id).lists["resthooks"]
            (state,) = list_subscriber_states(tx, workspace.id)
        assert hook == Resthook("registration", ())
        assert state["switched_off_on"] is not None and state["switched_off_reason"].endswith(WHY)

    def test_a_subscriber_that_a_flow_reached_is_healthy(self, database, workspace, subscriber, fail):
        fail(subscriber)

        record_resthook(database, workspace, told=[URL])

        assert count_rows(database) == 0

    def test_the_end_of_a_subscription_leaves_no_row(self, database, workspace, subscriber, fail):
        fail(subscriber)

        with database.writing() as tx:
            delete_subscriber(tx, workspace.id, subscriber.subscriber_id)

        assert count_rows(database) == 0

    def test_another_workspace_neither_sees_nor_switches_on(
        self, database, other_workspace, phone, subscriber, switch_off
    ):
        switch_off(phone)

        with database.writing() as tx:
            assert list_switched_off(tx, other_workspace.id) == []
            with pytest.raises(RecordMissing):
                switch_on_webhook(tx, other_workspace.id, uuid_of(database, phone))
            with pytest.raises(RecordMissing):
                switch_on_subscriber(tx, other_workspace.id, subscriber.subscriber_id)


def test_what_is_off_is_listed_with_its_moment(database, workspace, phone, switch_off, clock):
    switch_off(phone)

    with database.reading() as tx:
        (off,) = list_switched_off(tx, workspace.id)
    assert isinstance(off, SwitchedOff) and off.since <= clock() and off.since > clock() - timedelta(minutes=1)
