"""Phones over HTTP: registration, the signature of a sync, waiting for the claim (relayer protocol, 5 to 7)."""

from datetime import timedelta
from typing import Any

import orjson
import pytest

from handlers.relay.signature import sign
from persistence.channels import channel
from persistence.database import Database
from relayboard.phone.wire import sign_body
from relayboard.settings import RateLimit
from tests.api import Api
from tests.conftest import Clock
from tests.phones import AppTransport, claimed_phone, commands, count_rows, last_reply, new_phone

BOTH_MODES = pytest.mark.parametrize("is_lagging", [False, True], ids=["classic", "lagging"])


def register(client: Any, device_uuid: str) -> Any:
    body = orjson.dumps({"cmds": [{"cmd": "fcm", "fcm_id": "tok", "uuid": device_uuid}, {"cmd": "status"}]})
    return AppTransport(client).post("/relayers/relayer/register/", {}, body)


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

    def test_a_phone_too_old_for_the_protocol_gets_a_dummy(self, api: Api) -> None:
        reply = AppTransport(api.client).post(
            "/relayers/relayer/register/", {}, b'{"cmds":[{"cmd":"gcm","gcm_id":"x"}]}'
        )

        assert reply.document["cmds"][0]["relayer_id"] == -1

    def test_an_address_registers_only_so_many_new_phones(
        self, make_client: Any, database: Database, clock: Clock
    ) -> None:
        with make_client(registration_limit=RateLimit(2, timedelta(hours=1))) as client:
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
