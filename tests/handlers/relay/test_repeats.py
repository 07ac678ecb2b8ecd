"""A repeated report changes nothing, whatever happened to its contact meanwhile."""

import pytest
from sqlalchemy import update

from persistence.tables.contacts import contact
from relayboard.phone.phone import Phone
from tests.api import Api
from tests.phones import claimed_phone, count_rows, repeat_last

CONTACTS = "/api/v2/contacts.json"
AMINA = "+250788000111"


@pytest.fixture
def phone(api: Api) -> Phone:
    return claimed_phone(api)


@pytest.fixture
def reported(api: Api, phone: Phone) -> str:
    """The UUID of a contact whose SMS and calls the phone has just reported."""
    phone.receive_sms(AMINA, "hello")
    phone.log_call("mo_miss", AMINA)
    phone.log_call("mt_call", AMINA, 5)
    phone.sync()
    (person,) = api.results(CONTACTS)
    return str(person["uuid"])


def set_status(api: Api, status: str) -> None:
    with api.database.writing() as tx:
        tx.execute(update(contact).values(status=status))


def test_a_deleted_contact_does_not_come_back(api: Api, phone: Phone, reported: str) -> None:
    assert api.delete(CONTACTS, uuid=reported).status_code == 204

    reply = repeat_last(phone)

    assert len(reply.document["cmds"]) == 3
    assert api.results(CONTACTS) == []
    assert (api.results("/api/v2/messages.json"), api.results("/api/v2/channel_events.json")) == ([], [])
    assert count_rows(api.database, contact) == 1


def test_what_is_new_after_a_deletion_makes_a_new_contact(api: Api, phone: Phone, reported: str) -> None:
    api.delete(CONTACTS, uuid=reported)
    phone.receive_sms(AMINA, "hello again")
    phone.sync()

    (person,) = api.results(CONTACTS)
    assert person["uuid"] != reported
    assert [each["text"] for each in api.results("/api/v2/messages.json")] == ["hello again"]


def test_a_contact_that_was_stopped_since_stays_stopped(api: Api, phone: Phone, reported: str) -> None:
    set_status(api, "stopped")
    (before,) = api.results(CONTACTS)

    repeat_last(phone)

    assert api.results(CONTACTS) == [before]


def test_a_new_sms_makes_a_stopped_contact_active_and_a_call_does_not(api: Api, phone: Phone, reported: str) -> None:
    set_status(api, "stopped")
    phone.log_call("mo_call", AMINA, 7)
    phone.sync()
    after_call = api.results(CONTACTS)[0]["status"]
    phone.receive_sms(AMINA, "I am back")
    phone.sync()

    assert (after_call, api.results(CONTACTS)[0]["status"]) == ("stopped", "active")


def test_who_was_called_has_not_been_seen(api: Api, phone: Phone) -> None:
    phone.log_call("mt_call", AMINA, 5)
    phone.sync()
    unseen = api.results(CONTACTS)[0]["last_seen_on"]
    phone.log_call("mo_call", AMINA, 5)
    phone.sync()

    assert unseen is None
    assert api.results(CONTACTS)[0]["last_seen_on"] is not None
