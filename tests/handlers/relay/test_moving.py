"""A claimed phone that registers again and is claimed by another workspace (relayer protocol, 15)."""

import pytest
from sqlalchemy import insert, select

from persistence.channels.channels import set_channel_webhook
from persistence.deliveries.leases import DueDelivery
from persistence.deliveries.receivers import Signer, find_signers, send_test
from persistence.tables.campaigns import trigger
from persistence.tables.channels import channel_alarm
from persistence.tables.deliveries import delivery, webhook_trouble
from persistence.tables.flows import flow
from persistence.triggers.records import CATCH_ALL, NewTrigger, create_trigger
from relayboard.phone.phone import Phone
from relayboard.phone.wire import NoReply
from testbed.flow_rows import definition, store_flow
from tests.api import Api
from tests.phones import AppTransport, claimed_phone, commands, count_rows, last_reply, send_texts, status_of

RELAYERS = "/api/v1/relayers.json"
SETTINGS = "/api/v2/channel_settings.json"


def move(phone: Phone, to: Api, **body: str) -> None:
    """Another workspace claims the phone under the code it shows now, and the phone learns of it."""
    phone.state.secret = None
    phone.register()
    claim = {"claim_code": phone.state.claim_code, "phone": "+250788123124", **body}
    assert to.post(RELAYERS, claim).status_code == 201
    phone.sync()
    phone.sync()


def listen(api: Api) -> None:
    (channel,) = api.results("/api/v2/channels.json")
    with api.database.writing() as tx:
        set_channel_webhook(tx, api.workspace.id, channel["uuid"], "https://old.example.org/events")


class TestMoving:
    def test_the_phone_is_in_one_workspace_only_and_knows_which(self, api: Api, other_api: Api) -> None:
        phone = claimed_phone(api)

        move(phone, api, name="Front desk")
        move(phone, other_api)

        assert api.results(RELAYERS) == []
        assert [each["name"] for each in other_api.results(RELAYERS)] == [None], "the old name does not come along"
        assert phone.state.workspace_id == other_api.workspace.id

    def test_what_the_old_workspace_pays_abroad_the_new_one_has_to_allow_itself(self, api: Api, other_api: Api) -> None:
        phone = claimed_phone(api)
        (channel,) = api.results(SETTINGS)
        allowed = api.post(SETTINGS, {"allow_international": True}, uuid=channel["uuid"])
        assert allowed.json()["allow_international"] is True

        move(phone, api)
        assert [each["allow_international"] for each in api.results(SETTINGS)] == [True]
        move(phone, other_api)
        assert [each["allow_international"] for each in other_api.results(SETTINGS)] == [False]

    def test_nothing_is_told_to_the_receiver_of_the_old_workspace(self, api: Api, other_api: Api) -> None:
        phone = claimed_phone(api)
        listen(api)
        move(phone, other_api)

        phone.receive_sms("+250788000111", "for the new workspace only")
        phone.sync()

        assert [each["text"] for each in other_api.results("/api/v2/messages.json")] == ["for the new workspace only"]
        assert (api.results("/api/v2/messages.json"), count_rows(api.database, delivery)) == ([], 0)

    def test_claiming_it_again_in_the_same_workspace_keeps_name_and_receiver(self, api: Api) -> None:
        phone = claimed_phone(api)
        listen(api)
        move(phone, api, name="Front desk")
        move(phone, api)

        phone.receive_sms("+250788000111", "hello")
        phone.sync()

        assert ([each["name"] for each in api.results(RELAYERS)], count_rows(api.database, delivery)) == (
            ["Front desk"],
            1,
        )

    def test_what_was_not_sent_fails_and_is_not_offered_and_late_reports_change_nothing(
        self, api: Api, other_api: Api
    ) -> None:
        phone = claimed_phone(api)
        (message_id,) = send_texts(api, phone, "Welcome")

        move(phone, other_api)

        assert status_of(api.database, message_id) == "failed"
        assert [command["cmd"] for command in commands(phone)] == []
        for report in ("mt_sent", "mt_dlvd", "mt_fail"):
            phone._report(report, message_id)
            phone.sync()
            assert (status_of(api.database, message_id), phone.state.queue) == ("failed", []), report

    def test_what_the_old_workspace_got_is_acknowledged_and_stored_once(self, api: Api, other_api: Api) -> None:
        phone = claimed_phone(api)
        assert isinstance(phone.transport, AppTransport)
        phone.receive_sms("+250788000111", "hello")
        phone.log_call("mo_miss", "+250788000111")
        phone.transport.lose = lambda: True
        with pytest.raises(NoReply):
            phone.sync()
        phone.transport.lose = lambda: False

        move(phone, other_api)

        assert (phone.state.queue, last_reply(phone).status) == ([], 200)
        assert [len(each.results("/api/v2/messages.json")) for each in (api, other_api)] == [1, 0]
        assert other_api.results("/api/v2/contacts.json") == []

    def test_the_history_of_the_old_workspace_shows_the_phone_as_it_was(self, api: Api, other_api: Api) -> None:
        phone = claimed_phone(api)
        phone.receive_sms("+250788000111", "hello")
        phone.log_call("mo_miss", "+250788000111")
        phone.sync()

        move(phone, other_api, name="New owner")

        (call,) = api.results("/api/v1/calls.json")
        assert (call["relayer"], call["relayer_phone"]) == (phone.state.relayer_id, "+250788123123")
        shown = [api.results(f"/api/v2/{path}.json")[0]["channel"]["name"] for path in ("messages", "channel_events")]
        assert shown == [None, None]

    def test_what_the_old_workspace_still_has_to_hear_is_signed_with_its_secret(self, api: Api, other_api: Api) -> None:
        phone = claimed_phone(api)
        listen(api)
        (channel,) = api.results("/api/v2/channels.json")
        with api.database.writing() as tx:
            send_test(tx, api.workspace.id, channel["uuid"])
        before = signer_of_next(api)

        move(phone, other_api)
        with api.database.writing() as tx:
            set_channel_webhook(tx, other_api.workspace.id, channel["uuid"], "https://old.example.org/events")

        assert (before is not None, signer_of_next(api)) == (True, before)

    def test_a_receiver_that_fails_the_old_workspace_is_no_trouble_of_the_new_one(
        self, api: Api, other_api: Api
    ) -> None:
        phone = claimed_phone(api)
        move(phone, other_api)
        listen(other_api)
        trouble = {"channel_id": phone.state.relayer_id, "began_on": api.database.clock(), "given_up": 99}
        with api.database.writing() as tx:
            off = {"last_failed_on": tx.now, "switched_off_on": tx.now, "reason": "gone"}
            tx.execute(insert(webhook_trouble).values(workspace_id=api.workspace.id, **trouble, **off))

        phone.receive_sms("+250788000111", "hello")
        phone.sync()

        assert count_rows(api.database, delivery) == 1

    def test_triggers_of_the_phone_are_put_away(self, api: Api, other_api: Api) -> None:
        phone = claimed_phone(api)
        trigger_id = make_trigger(api, phone.state.relayer_id)

        move(phone, other_api)

        assert is_archived(api, trigger_id)

    def test_a_low_battery_is_told_to_the_new_workspace_too(self, api: Api, other_api: Api) -> None:
        phone = claimed_phone(api)
        phone.battery(level=10, status="DIS", source="BAT")
        phone.sync()
        move(phone, other_api)

        assert (_open_alarms(other_api), _open_alarms(api)) == (["battery"], [])


def signer_of_next(api: Api) -> Signer | None:
    """The secrets that the one pending delivery to the old receiver would be signed with now."""
    with api.database.reading() as tx:
        due = DueDelivery._make(tx.execute(select(*(delivery.c[name] for name in DueDelivery._fields))).one())
        return find_signers(tx, [due]).get(due.id)


def make_trigger(api: Api, channel_id: int | None) -> int:
    flow_uuid = store_flow(api.database, api.workspace, definition("Survey", []))
    with api.database.writing() as tx:
        flow_id = tx.execute(select(flow.c.id).where(flow.c.uuid == flow_uuid)).scalar_one()
        return create_trigger(tx, api.workspace.id, NewTrigger(CATCH_ALL, flow_id, channel_id=channel_id))


def is_archived(api: Api, trigger_id: int) -> bool:
    with api.database.reading() as tx:
        return bool(tx.execute(select(trigger.c.is_archived).where(trigger.c.id == trigger_id)).scalar_one())


def _open_alarms(api: Api) -> list[str]:
    mine = (channel_alarm.c.workspace_id == api.workspace.id) & channel_alarm.c.closed_on.is_(None)
    with api.database.reading() as tx:
        return list(tx.execute(select(channel_alarm.c.kind).where(mine)).scalars())
