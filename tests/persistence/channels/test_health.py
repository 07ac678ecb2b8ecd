from urllib.parse import parse_qs

import pytest
from sqlalchemy import select

from persistence.channels.health import check_alarms, note_power_report
from persistence.tables.channels import channel_alarm
from persistence.tables.deliveries import delivery
from tests.channel_rows import add_channel, add_contact, add_outgoing, change_channel

URL = "http://hooks.example.org/in"
LOW = {"power_level": 24, "power_status": "DIS"}


@pytest.fixture
def phone(database, workspace):
    return add_channel(database, workspace, webhook_url=URL, power_level=90, power_status="DIS")


def check(database):
    with database.writing() as tx:
        return check_alarms(tx)


def report(database, workspace, channel_id, **values):
    change_channel(database, channel_id, **values)
    with database.writing() as tx:
        note_power_report(tx, workspace.id, channel_id)


def alarms(database):
    """The kinds of all alarms and whether they are open, and the number of events told."""
    with database.reading() as tx:
        rows = tx.execute(select(channel_alarm).order_by(channel_alarm.c.id)).all()
        told = tx.execute(select(delivery.c.body).where(delivery.c.event == "alarm")).all()
    return [(row.kind, row.closed_on is None) for row in rows], len(told)


def stay_in_touch(database, clock, channel_id, **duration):
    clock.advance(**duration)
    change_channel(database, channel_id, last_seen=clock())


class TestBattery:
    @pytest.mark.parametrize("status", ["DIS", "UNK", "NOT"])
    def test_a_low_level_without_charging_is_told_once(self, database, workspace, phone, status):
        for level in (24, 23, 22):
            report(database, workspace, phone, power_level=level, power_status=status)
        check(database)

        assert alarms(database) == ([("battery", True)], 1)

    @pytest.mark.parametrize(("level", "status"), [(25, "DIS"), (24, "CHA"), (10, "FUL"), (-1, "UNK"), (5, None)])
    def test_another_report_is_no_alarm(self, database, workspace, phone, level, status):
        report(database, workspace, phone, power_level=level, power_status=status)

        assert alarms(database) == ([], 0)

    def test_charging_ends_it_and_the_next_time_is_told_again(self, database, workspace, phone):
        report(database, workspace, phone, **LOW)
        report(database, workspace, phone, power_level=80, power_status="DIS")
        report(database, workspace, phone, power_level=20, power_status="CHA")
        report(database, workspace, phone, **LOW)

        assert alarms(database) == ([("battery", False), ("battery", True)], 2)

    def test_the_event_carries_the_report(self, database, workspace, phone):
        report(database, workspace, phone, **LOW, pending_count=3)

        with database.reading() as tx:
            fields = parse_qs(tx.execute(select(delivery.c.body)).scalar_one())
        assert (fields["event"], fields["power_level"], fields["unsent"]) == (["alarm"], ["24"], ["3"])
        assert fields["relayer_phone"] == ["+254733555010"] and "last_seen" in fields


class TestLostContact:
    def test_half_an_hour_of_silence_is_told_once(self, database, phone, clock):
        clock.advance(minutes=29)
        assert check(database) == 0
        clock.advance(minutes=2)

        assert (check(database), check(database)) == (1, 0)
        assert alarms(database) == ([("lost_contact", True)], 1)

    def test_it_ends_when_the_phone_is_heard_again(self, database, phone, clock):
        clock.advance(minutes=31)
        check(database)
        stay_in_touch(database, clock, phone, minutes=1)
        check(database)
        clock.advance(minutes=31)
        check(database)

        assert alarms(database) == ([("lost_contact", False), ("lost_contact", True)], 2)

    @pytest.mark.parametrize("values", [{"is_active": False}, {"type": "external"}, {"workspace_id": None}])
    def test_only_claimed_phones_are_watched(self, database, phone, clock, values):
        change_channel(database, phone, **values)
        clock.advance(hours=1)

        assert check(database) == 0

    def test_a_channel_without_url_has_alarms_but_no_events(self, database, phone, clock):
        change_channel(database, phone, webhook_url=None)
        clock.advance(hours=1)

        assert check(database) == 1
        assert alarms(database) == ([("lost_contact", True)], 0)


class TestBacklog:
    @pytest.fixture
    def queue(self, database, workspace, phone, clock):
        contact_id = add_contact(database, workspace)

        def add(status="queued", **values):
            return add_outgoing(database, workspace, phone, contact_id, clock(), status, **values)

        return add

    @pytest.mark.parametrize("status", ["queued", "wired", "errored"])
    def test_a_message_unsent_for_half_an_hour_is_told_once(self, database, phone, clock, queue, status):
        queue(status)
        stay_in_touch(database, clock, phone, minutes=31)

        assert (check(database), check(database)) == (1, 0)
        assert alarms(database) == ([("backlog", True)], 1)

    @pytest.mark.parametrize(("of_phone", "told"), [(0, "2"), (7, "7")], ids=["more-here", "more-on-the-phone"])
    def test_it_tells_the_larger_of_the_counts_of_phone_and_server(self, database, phone, clock, queue, of_phone, told):
        queue()
        queue("errored")
        queue("failed")
        change_channel(database, phone, pending_count=of_phone)
        stay_in_touch(database, clock, phone, minutes=31)

        check(database)

        with database.reading() as tx:
            body = parse_qs(tx.execute(select(delivery.c.body)).scalar_one())
        assert (body["pending_message_count"], body["unsent"]) == ([told], [told])

    @pytest.mark.parametrize("minutes", [29, 60 * 24 + 1])
    def test_a_younger_or_much_older_message_is_no_backlog(self, database, phone, clock, queue, minutes):
        queue()
        stay_in_touch(database, clock, phone, minutes=minutes)

        assert check(database) == 0

    def test_while_others_were_sent_it_is_no_backlog(self, database, phone, clock, queue):
        queue()
        queue("sent", sent_on=clock())
        stay_in_touch(database, clock, phone, hours=5)
        assert check(database) == 0
        stay_in_touch(database, clock, phone, hours=2)

        assert check(database) == 1

    def test_within_six_hours_of_another_alarm_it_is_not_told(self, database, workspace, phone, clock, queue):
        queue()
        report(database, workspace, phone, **LOW)
        stay_in_touch(database, clock, phone, hours=5)
        assert check(database) == 0
        stay_in_touch(database, clock, phone, hours=2)

        assert check(database) == 1

    def test_it_ends_when_no_such_message_is_left(self, database, phone, clock, queue):
        queue()
        stay_in_touch(database, clock, phone, minutes=31)
        check(database)
        stay_in_touch(database, clock, phone, hours=24)
        check(database)

        assert alarms(database)[0] == [("backlog", False)]


def test_a_released_phone_has_no_open_alarm(database, phone, clock):
    clock.advance(minutes=31)
    check(database)
    change_channel(database, phone, is_active=False)
    check(database)

    assert alarms(database) == ([("lost_contact", False)], 1)
