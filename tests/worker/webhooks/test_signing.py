import base64
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from worker.webhooks.signing import is_signed, secrets_in_force, signature_headers

OLD = "whsec_" + base64.b64encode(b"o" * 24).decode()
NEW = "whsec_" + base64.b64encode(b"n" * 32).decode()
EVENT_ID = "0d2c1ad0-56a5-4a7b-a2c8-27e06b3d60b4"
NOW = datetime(2026, 3, 2, 8, 10, 10, 999999, tzinfo=UTC)
BODY = "text=caf%C3%A9&name=Zoë".encode()


class TestHeaders:
    def test_an_independent_library_verifies_them(self):
        headers = signature_headers(EVENT_ID, datetime.now(UTC), BODY, [NEW])

        assert Webhook(NEW).verify(BODY, headers, json_parse=False) is None

    def test_they_name_the_event_and_the_second(self):
        headers = signature_headers(EVENT_ID, NOW, BODY, [NEW])

        assert (headers["webhook-id"], headers["webhook-timestamp"]) == (EVENT_ID, "1772439010")

    def test_another_body_is_not_signed(self):
        headers = signature_headers(EVENT_ID, datetime.now(UTC), BODY, [NEW])

        with pytest.raises(WebhookVerificationError):
            Webhook(NEW).verify(BODY + b" ", headers, json_parse=False)

    @pytest.mark.parametrize("secret", [OLD, NEW])
    def test_during_a_rotation_both_secrets_verify(self, secret):
        headers = signature_headers(EVENT_ID, datetime.now(UTC), BODY, [NEW, OLD])

        assert Webhook(secret).verify(BODY, headers, json_parse=False) is None

    def test_without_a_secret_there_is_no_signature(self):
        assert set(signature_headers(EVENT_ID, NOW, BODY, [])) == {"webhook-id", "webhook-timestamp"}


class TestSecretsInForce:
    def test_the_old_secret_counts_for_a_day(self):
        rotated_on = NOW - timedelta(hours=23)

        assert secrets_in_force(NEW, OLD, rotated_on, NOW) == [NEW, OLD]
        assert secrets_in_force(NEW, OLD, rotated_on, NOW + timedelta(hours=1)) == [NEW]

    def test_a_channel_may_have_none(self):
        assert secrets_in_force(None, None, None, NOW) == []


class TestReceiver:
    def test_it_accepts_what_was_signed(self):
        assert is_signed(signature_headers(EVENT_ID, NOW, BODY, [OLD, NEW]), BODY, NEW, NOW)

    @pytest.mark.parametrize(
        "change",
        [
            {"webhook-id": "other"},
            {"webhook-timestamp": "1772439011"},
            {"webhook-timestamp": "x"},
            {"webhook-timestamp": "9" * 400},
            {"webhook-signature": "v1,é"},
            {"webhook-signature": ""},
        ],
    )
    def test_it_refuses_what_was_changed(self, change):
        headers = signature_headers(EVENT_ID, NOW, BODY, [NEW]) | change

        assert not is_signed(headers, BODY, NEW, NOW)

    @pytest.mark.parametrize("minutes", [-6, 6])
    def test_it_refuses_what_is_not_recent(self, minutes):
        headers = signature_headers(EVENT_ID, NOW, BODY, [NEW])

        assert not is_signed(headers, BODY, NEW, NOW + timedelta(minutes=minutes))
