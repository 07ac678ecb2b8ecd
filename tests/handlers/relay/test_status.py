"""Phones over HTTP: status reports, alarms, reset (relayer protocol, 8.2, 8.6, 14 and 15)."""

from sqlalchemy import select

from persistence.channels.channels import set_channel_webhook
from persistence.channels.health import check_alarms
from persistence.tables.channels import channel, sync_record
from persistence.tables.deliveries import delivery
from persistence.workspaces.records import Workspace
from relayboard.phone.phone import sign_body, write_body
from tests.api import Api
from tests.conftest import Clock
from tests.phones import claimed_phone, new_phone, send_texts, status_of


class TestStatusAndReset:
    def test_the_status_shows_in_the_channel_record(self, api: Api) -> None:
        phone = claimed_phone(api)
        before = api.results("/api/v2/channels.json")[0]["device"]["power_status"]
        phone.battery(55, "CHA", "USB")
        phone.connect("LTE")

        phone.sync()

        device = api.results("/api/v2/channels.json")[0]["device"]
        assert before == "DIS"
        assert (device["power_level"], device["power_status"], device["network_type"]) == (55, "CHA", "LTE")

    def test_a_sync_counts_the_commands_that_it_was_answered(self, api: Api) -> None:
        phone = claimed_phone(api)
        send_texts(api, phone, "Welcome")
        phone.state.workspace_id = api.workspace.id + 1

        phone.sync()

        with api.database.reading() as tx:
            counts = tx.execute(select(sync_record.c.outgoing_count)).scalars().all()
        assert max(counts) == 2  # its new workspace and the message

    def test_old_names_and_texts_instead_of_numbers_are_understood(self, api: Api) -> None:
        phone = claimed_phone(api)
        state = phone.state
        status = {"cmd": "status", "power_level": "60", "power_status": "FUL", "network_type": "EDGE"}
        identity = {"cmd": "fcm", "fcm_id": state.push_token, "uuid": state.device_uuid}
        body = write_body([identity, {**status, "org_id": str(api.workspace.id)}])
        ts = str(phone.clock() // 1000)
        query = {"ts": ts, "signature": sign_body(state.secret or "", ts, body)}

        reply = phone.transport.post(f"/relayers/relayer/sync/{state.relayer_id}", query, body)

        device = api.results("/api/v2/channels.json")[0]["device"]
        assert (reply.document["cmds"], device["power_level"], device["power_status"]) == ([], 60, "FUL")

    def test_a_reset_releases_the_channel_and_fails_what_was_not_sent(self, api: Api, workspace: Workspace) -> None:
        phone = claimed_phone(api)
        (message_id,) = send_texts(api, phone, "Welcome")
        old_id = phone.state.relayer_id
        phone.reset()

        phone.sync()

        assert api.results("/api/v2/channels.json") == []
        assert status_of(api.database, message_id) == "failed"
        phone.register()
        assert phone.state.relayer_id != old_id

    def test_a_phone_that_registers_after_a_reset_is_a_new_channel(self, api: Api) -> None:
        phone = claimed_phone(api)
        old_id, device_uuid = phone.state.relayer_id, phone.state.device_uuid
        phone.reset()
        phone.sync()

        phone.sync()

        assert phone.state.device_uuid == device_uuid
        assert phone.state.relayer_id not in (None, old_id)
        assert phone.state.workspace_id == -1

    def test_a_status_without_lists_and_levels_counts_as_nothing_known(self, api: Api) -> None:
        phone = claimed_phone(api)
        state = phone.state
        identity = {"cmd": "fcm", "fcm_id": state.push_token, "uuid": state.device_uuid}
        body = write_body([identity, {"cmd": "status", "org_id": api.workspace.id, "pending": None, "retry": "x"}])
        ts = str(phone.clock() // 1000)
        query = {"ts": ts, "signature": sign_body(state.secret or "", ts, body)}

        reply = phone.transport.post(f"/relayers/relayer/sync/{state.relayer_id}/", query, body)

        device = api.results("/api/v2/channels.json")[0]["device"]
        assert (reply.status, reply.document["cmds"]) == (200, [])
        assert (device["power_level"], device["power_status"]) == (-1, None)

    def test_a_phone_shows_unknown_power_before_its_first_status(self, api: Api) -> None:
        phone = new_phone(api)
        phone.register()
        body = {"claim_code": phone.state.claim_code, "phone": "+250788123123"}
        api.post("/api/v1/relayers.json", body)

        device = api.results("/api/v2/channels.json")[0]["device"]

        assert (device["power_level"], device["power_status"], device["network_type"]) == (-1, None, None)
        assert device["name"] == phone.state.device


class TestAlarms:
    def test_a_low_battery_is_told_once_until_it_was_charged(self, api: Api) -> None:
        phone = claimed_phone(api)
        watch(api)
        told = []
        for level, status in ((26, "DIS"), (24, "DIS"), (20, "DIS"), (21, "CHA"), (22, "DIS")):
            phone.battery(level, status)
            phone.sync()
            told.append(alarms(api))

        assert told == [0, 1, 1, 1, 2]

    def test_an_alarm_ends_at_a_level_too(self, api: Api) -> None:
        phone = claimed_phone(api)
        watch(api)
        told = []
        for level in (18, 49, 12, 95, 12):
            phone.battery(level, "DIS")
            phone.sync()
            told.append(alarms(api))

        assert told == [1, 1, 1, 1, 2]

    def test_half_an_hour_of_silence_is_told_once_until_the_phone_syncs(self, api: Api, clock: Clock) -> None:
        phone = claimed_phone(api)
        watch(api)
        told = []
        for _ in range(2):
            for minutes in (29, 2, 2):
                clock.advance(minutes=minutes)
                api.database.write(check_alarms)
                told.append(alarms(api))
            phone.sync()
            api.database.write(check_alarms)

        assert told == [0, 1, 1, 1, 2, 2]

    def test_messages_a_phone_holds_but_does_not_send_are_told_once(self, api: Api, clock: Clock) -> None:
        phone = claimed_phone(api)
        message_id = send_texts(api, phone, "Welcome")[0]
        watch(api)
        told = []
        for minutes in (29, 2, 60, 240):
            clock.advance(minutes=minutes)
            phone.sync()
            api.database.write(check_alarms)
            told.append(alarms(api))

        assert status_of(api.database, message_id) == "wired"
        assert told == [0, 1, 1, 1]


def watch(api: Api) -> None:
    """Have the events of all channels delivered."""
    with api.database.writing() as tx:
        for uuid in tx.execute(select(channel.c.uuid)).scalars().all():
            set_channel_webhook(tx, api.workspace.id, uuid, "https://receiver.example.org/events")


def alarms(api: Api) -> int:
    """How many alarms were told so far."""
    with api.database.reading() as tx:
        bodies = tx.execute(select(delivery.c.body)).scalars().all()
    return sum("event=alarm" in body for body in bodies)
