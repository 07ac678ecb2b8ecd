import base64
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from persistence.deliveries.receivers import Signer, new_key_pair
from persistence.tables.deliveries import ED25519, SYMMETRIC
from worker.webhooks.signing import is_signed, schemes_of, secrets_in_force, signature_headers, signing_now

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
        assert secrets_in_force(None, OLD, NOW, NOW) == []

    def test_a_channel_may_have_had_none_before(self):
        assert secrets_in_force(NEW, None, NOW, NOW) == [NEW]
        assert secrets_in_force(NEW, OLD, None, NOW) == [NEW]


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

    def test_it_refuses_what_has_no_name(self):
        assert not is_signed(signature_headers("", NOW, BODY, [NEW]), BODY, NEW, NOW)

    @pytest.mark.parametrize(("seconds", "is_recent"), [(-301, False), (-300, True), (300, True), (301, False)])
    def test_it_refuses_what_is_not_recent(self, seconds, is_recent):
        second = NOW.replace(microsecond=0)
        headers = signature_headers(EVENT_ID, second, BODY, [NEW])

        assert is_signed(headers, BODY, NEW, second + timedelta(seconds=seconds)) is is_recent


class TestKeys:
    def test_a_receiver_verifies_with_the_public_key_alone(self):
        private, public = new_key_pair()
        headers = signature_headers(EVENT_ID, NOW, BODY, [private])

        assert headers["webhook-signature"].startswith("v1a,")
        assert is_signed(headers, BODY, public, NOW)
        assert not is_signed(headers, BODY + b" ", public, NOW)
        assert not is_signed(headers, BODY, new_key_pair()[1], NOW)

    @pytest.mark.parametrize("scheme", ["v1", "v1b", "v2a"])
    def test_it_refuses_another_scheme(self, scheme):
        private, public = new_key_pair()
        headers = signature_headers(EVENT_ID, NOW, BODY, [private])
        headers["webhook-signature"] = headers["webhook-signature"].replace("v1a", scheme)

        assert not is_signed(headers, BODY, public, NOW)

    def test_a_signature_is_that_of_the_standard_library_of_others(self):
        """The test vector of RFC 8032, section 7.1, test 2, has the seed and public key used here."""
        seed = bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
        public = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
        private = "whsk_" + base64.b64encode(seed).decode()

        headers = signature_headers(EVENT_ID, NOW, BODY, [private])

        assert is_signed(headers, BODY, "whpk_" + base64.b64encode(public).decode(), NOW)

    @pytest.mark.parametrize("signature", ["v1a,", "v1a,!", "v1,x", "v1a", "v1b," + "A" * 86 + "=="])
    def test_what_is_no_signature_is_none(self, signature):
        headers = signature_headers(EVENT_ID, NOW, BODY, [NEW]) | {"webhook-signature": signature}

        assert not is_signed(headers, BODY, new_key_pair()[1], NOW)


class TestChangingOver:
    @pytest.mark.parametrize(
        ("signature", "chosen", "rotated", "expected"),
        [
            (SYMMETRIC, None, None, ["s"]),
            (SYMMETRIC, None, 1, ["s", "s0"]),
            (ED25519, 25, None, ["k"]),
            (ED25519, 24, None, ["k"]),
            (ED25519, 25, 1, ["k", "k0"]),
            (ED25519, 1, None, ["k", "s"]),
            (SYMMETRIC, 1, 1, ["s", "s0", "k", "k0"]),
        ],
    )
    def test_for_a_day_calls_are_signed_with_the_former_ones_too(self, signature, chosen, rotated, expected):
        chosen_on, rotated_on = (None if each is None else NOW - timedelta(hours=each) for each in (chosen, rotated))
        old = NOW - timedelta(days=9)
        signer = Signer(
            "s", "s0", rotated_on or old, False, signature, chosen_on, "k", "k0", key_rotated_on=rotated_on or old
        )

        assert signing_now(signer, NOW) == expected

    def test_the_schemes_of_all_signatures_are_told(self):
        private, _ = new_key_pair()

        assert schemes_of(signature_headers(EVENT_ID, NOW, BODY, [private, NEW, OLD])) == "v1a v1 v1"
        assert schemes_of(signature_headers(EVENT_ID, NOW, BODY, [])) is None
