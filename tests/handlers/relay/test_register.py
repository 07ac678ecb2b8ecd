"""Phones over HTTP: registration, the signature of a sync, waiting for the claim (relayer protocol, 5 to 7)."""

from typing import Any

import orjson
import pytest

from handlers.relay.sync import sign
from persistence.database import Database
from persistence.tables.channels import channel
from relayboard.phone.phone import Phone, sign_body
from testbed.set_by_name import by_name
from tests.api import Api
from tests.conftest import Clock
from tests.phones import AppTransport, claimed_phone, commands, count_rows, last_reply, new_phone, send_texts

BOTH_MODES = pytest.mark.parametrize("is_lagging", [False, True], ids=["classic", "lagging"])


def register(client: Any, device_uuid: str, token: str = "tok") -> Any:
    body = orjson.dumps({"cmds": [{"cmd": "fcm", "fcm_id": token, "uuid": device_uuid}, {"cmd": "status"}]})
    return AppTransport(client).post("/relayers/relayer/register/", {}, body)


def phone_and_thief(api: Api) -> tuple[Phone, Phone]:
    """A phone that nobody has claimed yet, and another that registered with its device uuid."""
    phone, thief = new_phone(api), new_phone(api)
    thief.state.device_uuid = phone.state.device_uuid
    phone.register()
    thief.register()
    return phone, thief


def claim(api: Api, phone: Phone) -> None:
    body = {"claim_code": phone.state.claim_code, "phone": "+250788123123"}
    assert api.post("/api/v1/relayers.json", body).status_code == 201


class TestRegister:
    @BOTH_MODES
    def test_a_phone_gets_an_id_a_secret_and_a_claim_code(self, api: Api, is_lagging: bool) -> None:
        phone = new_phone(api, is_lagging=is_lagging)

        phone.register()

        assert isinstance(phone.state.relayer_id, int)
        assert len(phone.state.secret or "") == 64
        assert len(phone.state.claim_code or "") == 9
        assert count_rows(api.database, channel) == 1

    def test_registering_twice_gives_the_same_until_the_secret_is_used(self, api: Api) -> None:
        phone = new_phone(api)
        phone.register()
        first = (phone.state.relayer_id, phone.state.secret, phone.state.claim_code)

        phone.register()

        assert (phone.state.relayer_id, phone.state.secret, phone.state.claim_code) == first

    def test_a_claimed_phone_keeps_working_when_somebody_else_registers_with_its_uuid(self, api: Api) -> None:
        phone = claimed_phone(api)
        thief = new_phone(api)
        thief.state.device_uuid = phone.state.device_uuid

        thief.register()
        thief.sync()
        phone.receive_sms("0788000111", "still here")
        phone.sync()

        assert thief.state.workspace_id == -1
        assert commands(phone)[0]["cmd"] == "ack"
        assert thief.state.secret != phone.state.secret

    def test_another_token_gets_a_secret_and_a_code_of_its_own_before_the_claim_too(self, api: Api) -> None:
        phone, thief = phone_and_thief(api)

        assert thief.state.secret != phone.state.secret
        assert thief.state.claim_code != phone.state.claim_code
        thief.register()
        phone.sync()
        assert commands(phone)[0]["relayer_claim_code"] == phone.state.claim_code
        thief.sync()
        assert commands(thief)[0]["relayer_claim_code"] == thief.state.claim_code

    def test_after_the_claim_only_the_phone_whose_code_it_was_sends_and_receives(self, api: Api) -> None:
        phone, thief = phone_and_thief(api)
        claim(api, phone)
        phone.sync()
        send_texts(api, phone, "for the owner only")

        thief.sync()
        thief.register()
        thief.sync()
        phone.sync()

        assert [command["cmd"] for command in commands(thief)] == ["reg"]
        assert [command["cmd"] for command in commands(phone)] == ["mt_bcast"]

    def test_a_claim_of_the_other_registration_elsewhere_takes_nothing_away(self, api: Api, other_api: Api) -> None:
        phone, thief = phone_and_thief(api)
        claim(api, phone)
        phone.sync()

        claim(other_api, thief)
        thief.sync()
        thief.receive_sms("+250788000222", "to the other workspace")
        thief.sync()
        phone.receive_sms("+250788000111", "still here")
        phone.sync()

        assert (phone.state.workspace_id, thief.state.workspace_id) == (api.workspace.id, other_api.workspace.id)
        texts = [[each["text"] for each in side.results("/api/v2/messages.json")] for side in (api, other_api)]
        assert texts == [["still here"], ["to the other workspace"]]

    def test_whoever_is_claimed_first_the_other_goes_on_waiting(self, api: Api, other_api: Api) -> None:
        phone, thief = phone_and_thief(api)
        claim(other_api, thief)

        phone.sync()
        claim(api, phone)
        phone.sync()
        phone.sync()
        thief.sync()

        assert (phone.state.workspace_id, thief.state.workspace_id) == (api.workspace.id, other_api.workspace.id)

    def test_the_same_workspace_claims_its_phone_back_under_a_new_token(self, api: Api) -> None:
        phone = claimed_phone(api)
        again = new_phone(api)
        again.state.device_uuid = phone.state.device_uuid
        again.register()

        claim(api, again)
        again.sync()

        assert again.state.workspace_id == api.workspace.id
        assert [each["relayer"] for each in api.results("/api/v1/relayers.json")] == [phone.state.relayer_id]

    def test_releasing_the_phone_leaves_the_one_that_another_workspace_claimed(self, api: Api, other_api: Api) -> None:
        phone, thief = phone_and_thief(api)
        claim(api, phone)
        claim(other_api, thief)
        thief.sync()
        assert api.delete("/api/v1/relayers.json", relayer=phone.state.relayer_id).status_code == 204

        phone.sync()
        thief.receive_sms("+250788000111", "still here")
        thief.sync()

        assert commands(phone)[0]["cmd"] == "rel"
        assert len(other_api.results("/api/v2/messages.json")) == 1

    def test_the_one_that_another_workspace_claimed_and_released_is_told_so(self, api: Api, other_api: Api) -> None:
        phone, thief = phone_and_thief(api)
        claim(api, phone)
        phone.sync()
        claim(other_api, thief)
        thief.sync()
        thief.receive_sms("+250788000222", "for nobody else")
        assert other_api.delete("/api/v1/relayers.json", phone="+250788123123").status_code == 204

        thief.sync()

        assert ([each["cmd"] for each in commands(thief)], thief.state.queue) == (["rel"], [])
        (channel,) = api.results("/api/v2/channels.json")
        health = api.get("/api/v2/channel_health.json", uuid=channel["uuid"]).json()
        assert health["refused_on"] is None, "the workspace of the phone is told of no wrong secret"

    def test_registrations_under_new_tokens_count_towards_the_limit(self, make_client: Any) -> None:
        with make_client(**by_name(REGISTRATION_LIMIT="2/hour")) as client:
            statuses = [register(client, "device-1", token).status for token in ("a", "b", "b", "c")]

        assert statuses == [200, 200, 200, 429]

    def test_a_phone_too_old_for_the_protocol_gets_a_dummy(self, api: Api) -> None:
        reply = AppTransport(api.client).post(
            "/relayers/relayer/register/", {}, b'{"cmds":[{"cmd":"gcm","gcm_id":"x"}]}'
        )

        assert reply.document["cmds"][0]["relayer_id"] == -1

    def test_an_address_registers_only_so_many_new_phones(
        self, make_client: Any, database: Database, clock: Clock
    ) -> None:
        with make_client(**by_name(REGISTRATION_LIMIT="2/hour")) as client:
            one = register(client, "device-1")
            statuses = [register(client, f"device-{number}").status for number in (2, 3)]
            again = register(client, "device-1")
            known = count_rows(database, channel)
            clock.advance(hours=1)
            later = register(client, "device-3")

        assert statuses == [200, 429]
        assert again.document == one.document
        assert known == 2
        assert later.status == 200

    @pytest.mark.together
    @pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"cmds":[]}', b'{"cmds":[{"cmd":"fcm"}]}', b'{"cmds":7}'])
    def test_a_malformed_registration_is_refused(self, api: Api, body: bytes) -> None:
        assert AppTransport(api.client).post("/relayers/relayer/register/", {}, body).status == 400

    def test_other_methods_are_not_allowed(self, api: Api) -> None:
        response = api.client.get("/relayers/relayer/register/")

        assert (response.status_code, response.headers["Allow"]) == (405, "POST")


class TestSignature:
    VECTORS = (
        (
            "1767225600",
            '{"cmds":[{"cmd":"fcm","fcm_id":"tok-A1","uuid":"3f0c1a52-8b7e-4d19-9a60-5c2f7be0d411","p_id":1},'
            '{"cmd":"status","p_src":"BAT","p_lvl":18,"p_sts":"DIS","net":"LTE","pending":[],"retry":[],"org_id":-1,'
            '"cc":"RW","dev":"SM-A135F","os":"13","app_version":"2.1.0","p_id":2}]}',
            "w3OVVQVh0KECVH1Nf_q73SduO8uUT3ujZC-YQU6Fg9o=",
        ),
        (
            "1767225620",
            '{"cmds":[{"cmd":"fcm","fcm_id":"tok-A1","uuid":"3f0c1a52-8b7e-4d19-9a60-5c2f7be0d411","p_id":1},'
            '{"cmd":"mo_sms","phone":"+250788000111","ts":1767225612345,"msg":"1\\/2 kg, café ☕","p_id":2}]}',
            "T1zsoy5JcbRrEq2eJrJhmFrU_V5koYkH5qOKwt16n70=",
        ),
        (
            "1767225600",
            '{"cmds":[{"cmd":"fcm","fcm_id":"tok-A1","uuid":"3f0c1a52-8b7e-4d19-9a60-5c2f7be0d411","p_id":1}]}',
            "okQJQmliz-kSbmajKkvBvvEXan4PpUhoxFjfoJ0oTL4=",
        ),
    )

    @pytest.mark.parametrize(("ts", "body", "signature"), VECTORS)
    def test_both_sides_sign_as_the_published_vectors(self, ts: str, body: str, signature: str) -> None:
        secret = "7KQ2M9XWPA4TDZ6RHB3NVE8YCJ5FGLUS" * 2

        assert sign(secret, ts, body.encode()) == signature
        assert sign_body(secret, ts, body.encode()) == signature

    def test_one_changed_byte_is_a_wrong_signature(self, api: Api) -> None:
        phone = claimed_phone(api)
        transport = phone.transport
        assert isinstance(transport, AppTransport)
        path, query, body = transport.requests[-1]

        reply = transport.post(path, query, body.replace(b"DIS", b"DIT"))

        assert (reply.status, reply.document["error_id"]) == (401, 1)

    @pytest.mark.together
    @pytest.mark.parametrize(("offset", "status"), [(-900, 200), (900, 200), (-901, 401), (901, 401)])
    def test_a_clock_may_be_fifteen_minutes_off(self, api: Api, clock: Clock, offset: int, status: int) -> None:
        phone = claimed_phone(api)
        phone.clock = lambda: int(clock.moment.timestamp() * 1000) + offset * 1000

        phone.sync()

        reply = last_reply(phone)
        assert reply.status == status
        assert reply.document.get("error_id") == (3 if status == 401 else None)

    def test_a_missing_ts_is_answered_like_an_old_request(self, api: Api) -> None:
        phone = claimed_phone(api)

        reply = AppTransport(api.client).post(f"/relayers/relayer/sync/{phone.state.relayer_id}/", {}, b"{}")

        assert (reply.status, reply.document["error_id"]) == (401, 3)

    @pytest.mark.together
    @pytest.mark.parametrize("path", ["999", "0", "-1", "x", "99999999999999999999"])
    def test_an_unknown_id_is_released_without_a_look_at_the_signature(self, api: Api, path: str) -> None:
        reply = AppTransport(api.client).post(f"/relayers/relayer/sync/{path}/", {}, b"{}")

        assert (reply.status, reply.document["cmds"][0]["cmd"]) == (200, "rel")


class TestUnclaimed:
    def test_a_sync_before_the_claim_gives_the_registration_again(self, api: Api) -> None:
        phone = new_phone(api)
        phone.register()
        before = phone.state.secret

        phone.sync()

        assert commands(phone)[0]["cmd"] == "reg"
        assert phone.state.secret == before

    def test_another_device_uuid_is_refused(self, api: Api) -> None:
        phone = new_phone(api)
        phone.register()
        phone.state.device_uuid = "11111111-1111-4111-8111-111111111111"

        phone.sync()

        assert last_reply(phone).document["error_id"] == 4

    def test_the_first_sync_after_the_claim_tells_the_workspace_once(self, api: Api) -> None:
        phone = claimed_phone(api)

        assert phone.state.workspace_id == api.workspace.id
        phone.sync()
        assert commands(phone) == []
