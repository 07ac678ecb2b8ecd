"""Phones over HTTP: status reports, alarms, reset (relayer protocol, 8.2, 8.6, 14 and 15)."""

from persistence.workspaces import Workspace
from relayboard.phone.wire import sign_body, write_body
from tests.api import Api
from tests.phones import claimed_phone, send_texts, status_of


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
