"""HTTP gateways calling in: messages, fates, opt-outs."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from persistence.channels import channel, create_external_channel
from persistence.contacts import contact
from persistence.gateway_leases import SendOutcome, lease_sends, record_sends
from persistence.messages import message
from persistence.outgoing import Draft, create_outgoing
from tests.api import Api
from tests.conftest import Clock
from tests.phones import status_of


@pytest.fixture
def gateway(api: Api) -> str:
    """The uuid of a gateway for phone numbers in Rwanda."""
    options = {"schemes": ["tel"], "country": "RW", "config": {"send_url": "http://127.0.0.1:1/"}}
    with api.database.writing() as tx:
        return create_external_channel(tx, api.workspace.id, name="Gateway", address="+250788000000", **options)


class TestReceive:
    @pytest.mark.parametrize("path", ["/c/ex/{}/receive", "/c/ex/{}/receive/", "/handlers/external/received/{}/"])
    def test_a_form_becomes_an_incoming_message(self, api: Api, gateway: str, path: str) -> None:
        form = {"from": "0788 000 111", "text": "Muraho", "date": "2026-03-02T08:10:10Z"}

        response = api.client.post(path.format(gateway), data=form)

        (stored,) = api.results("/api/v2/messages.json")
        assert response.status_code == 200
        assert (stored["urn"], stored["text"]) == ("tel:+250788000111", "Muraho")
        assert stored["created_on"] == "2026-03-02T08:10:10.000000Z"

    def test_query_parameters_and_the_older_names_are_understood(self, api: Api, gateway: str) -> None:
        api.client.get(f"/c/ex/{gateway}/receive", params={"sender": "+250788000111", "message": "Muraho"})

        assert [each["text"] for each in api.results("/api/v2/messages.json")] == ["Muraho"]

    @pytest.mark.parametrize("text", ["Muraho é ☕", "Muraho %C3%A9 %E2%98%95", "Muraho+é+☕"])
    def test_letters_of_all_languages_may_stand_in_a_form_as_they_are(self, api: Api, gateway: str, text: str) -> None:
        form = {"Content-Type": "application/x-www-form-urlencoded"}

        api.client.post(f"/c/ex/{gateway}/receive", content=f"from=0788000111&text={text}".encode(), headers=form)

        assert [each["text"] for each in api.results("/api/v2/messages.json")] == ["Muraho é ☕"]

    def test_a_form_of_very_many_fields_is_refused(self, api: Api, gateway: str) -> None:
        form = {"Content-Type": "application/x-www-form-urlencoded"}

        response = api.client.post(f"/c/ex/{gateway}/receive", content="from=0788000111&" * 60, headers=form)

        assert response.status_code == 400

    def test_a_dated_report_is_stored_once(self, api: Api, gateway: str) -> None:
        form = {"from": "+250788000111", "text": "Muraho", "date": "2026-03-02T08:10:10+02:00"}
        for _ in range(2):
            api.client.post(f"/c/ex/{gateway}/receive", data=form)

        assert len(api.results("/api/v2/messages.json")) == 1

    @pytest.mark.parametrize("form", [{"text": "x"}, {"from": "12"}, {"from": "+250788000111", "date": "yesterday"}])
    def test_an_unusable_report_is_refused_and_changes_nothing(
        self, api: Api, gateway: str, form: dict[str, str]
    ) -> None:
        response = api.client.post(f"/c/ex/{gateway}/receive", data=form)

        assert (response.status_code, api.results("/api/v2/messages.json")) == (400, [])

    @pytest.mark.parametrize("action", ["receive", "stopped"])
    @pytest.mark.parametrize("sender", ["%00", "amina%00", "am%01ina", "%EF%BF%BE"])
    def test_a_sender_that_is_no_text_is_refused(self, api: Api, action: str, sender: str) -> None:
        options = {"schemes": ["ext"], "country": "RW", "config": {"send_url": "http://127.0.0.1:1/"}}
        with api.database.writing() as tx:
            uuid = create_external_channel(tx, api.workspace.id, name="Bot", address="bot", **options)
        form = {"Content-Type": "application/x-www-form-urlencoded"}

        response = api.client.post(f"/c/ex/{uuid}/{action}", content=f"from={sender}&text=hi", headers=form)

        assert (response.status_code, api.results("/api/v2/contacts.json")) == (400, [])

    @pytest.mark.parametrize("path", ["/c/ex/nobody/receive", "/c/ex/11111111-1111-4111-8111-111111111111/receive"])
    def test_an_unknown_channel_is_refused(self, api: Api, path: str) -> None:
        assert api.client.post(path, data={"from": "+250788000111"}).status_code == 400

    def test_other_methods_are_not_allowed(self, api: Api, gateway: str) -> None:
        response = api.client.put(f"/c/ex/{gateway}/receive")

        assert (response.status_code, response.headers["Allow"]) == (405, "GET, POST")


class TestFates:
    def test_a_report_moves_the_message(self, api: Api, gateway: str) -> None:
        api.client.post(f"/c/ex/{gateway}/receive", data={"from": "+250788000111", "text": "hello"})
        with api.database.writing() as tx:
            contact_id = tx.execute(select(contact.c.id)).scalar_one()
            (message_id,) = create_outgoing(tx, api.workspace.id, [Draft(contact_id, "Welcome")])

        seen = []
        for action in ("sent", "delivered", "failed"):
            api.client.post(f"/c/ex/{gateway}/{action}", data={"id": str(message_id)})
            with api.database.reading() as tx:
                seen.append(tx.execute(select(message.c.status).where(message.c.id == message_id)).scalar_one())

        assert seen == ["sent", "delivered", "delivered"]

    def test_a_message_that_was_given_up_is_delivered_after_all(self, api: Api, gateway: str, clock: Clock) -> None:
        api.client.post(f"/c/ex/{gateway}/receive", data={"from": "+250788000111", "text": "hello"})
        with api.database.writing() as tx:
            contact_id = tx.execute(select(contact.c.id)).scalar_one()
            (message_id,) = create_outgoing(tx, api.workspace.id, [Draft(contact_id, "Welcome")])
            channel_id = tx.execute(select(channel.c.id)).scalar_one()
        for _ in range(3):
            clock.advance(minutes=20)
            with api.database.writing() as tx:
                (send,) = lease_sends(tx, {channel_id: 1}, timedelta(minutes=1)).sends
                record_sends(tx, [SendOutcome(send, is_accepted=False)])
        given_up = status_of(api.database, message_id)

        early = {"id": str(message_id), "date": "2026-03-02T08:00:00Z"}
        api.client.post(f"/c/ex/{gateway}/delivered", data=early)
        still = status_of(api.database, message_id)
        api.client.post(f"/c/ex/{gateway}/delivered", data={"id": str(message_id)})

        assert (given_up, still, status_of(api.database, message_id)) == ("failed", "failed", "delivered")

    def test_a_missing_id_is_refused(self, api: Api, gateway: str) -> None:
        assert api.client.post(f"/c/ex/{gateway}/sent").status_code == 400


def test_a_contact_that_opts_out_is_stopped(api: Api, gateway: str) -> None:
    api.client.post(f"/c/ex/{gateway}/receive", data={"from": "+250788000111", "text": "hello"})

    api.client.post(f"/c/ex/{gateway}/stopped", data={"from": "+250788000111"})

    assert api.results("/api/v2/contacts.json")[0]["status"] == "stopped"
    assert api.results("/api/v2/channel_events.json")[0]["type"] == "stop-contact"
