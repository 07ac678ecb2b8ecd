import pytest
from sqlalchemy import func, select, update

from persistence.contacts.merging import merge_contacts
from persistence.messages.outgoing import send_event_reply
from persistence.tables.contacts import contact
from persistence.tables.messages import message
from persistence.users import add_member
from tests.channel_rows import add_channel, add_contact

UNKNOWN = "0f6b9b1a-2f5d-4b0c-9f57-0c8a9b0ddf7e"


@pytest.fixture
def channel_id(database, workspace):
    return add_channel(database, workspace, type="external")


@pytest.fixture
def send(database, workspace, channel_id):
    def send_reply(urns=(), uuids=(), event_contact_id=None):
        with database.writing() as tx:
            return send_event_reply(
                tx,
                workspace.id,
                "Hello",
                urns=urns,
                contact_uuids=uuids,
                event_contact_id=event_contact_id,
                channel_id=channel_id,
            )

    return send_reply


def recipients(database):
    with database.reading() as tx:
        return list(tx.execute(select(message.c.urn).order_by(message.c.id)).scalars())


def count_contacts(tx, workspace_id):
    return tx.execute(select(func.count()).where(contact.c.workspace_id == workspace_id)).scalar_one()


def uuid_of(database, contact_id):
    with database.reading() as tx:
        return tx.execute(select(contact.c.uuid).where(contact.c.id == contact_id)).scalar_one()


def test_a_new_contact_is_made_for_an_address_nobody_owns(database, workspace, send, channel_id, woken):
    (message_id,) = send(urns=["tel:+254722000999"])

    with database.reading() as tx:
        row = tx.execute(select(message).where(message.c.id == message_id)).one()
        assert count_contacts(tx, workspace.id) == 1
    assert (row.text, row.urn, row.channel_id, row.status) == ("Hello", "tel:+254722000999", channel_id, "queued")
    assert "sending" in woken


def test_each_contact_gets_one_message_however_often_it_is_named(database, workspace, send):
    amina, juma = add_contact(database, workspace), add_contact(database, workspace, "+254722000222")

    send(urns=["tel:+254722000111"], uuids=[uuid_of(database, amina), uuid_of(database, juma)])

    assert sorted(recipients(database)) == ["tel:+254722000111", "tel:+254722000222"]


def test_the_contact_of_the_event_is_the_default_only(database, workspace, send):
    amina = add_contact(database, workspace)
    send(event_contact_id=amina)
    send(urns=["tel:+254722000333"], event_contact_id=amina)

    assert recipients(database) == ["tel:+254722000111", "tel:+254722000333"]


def test_with_nobody_to_send_to_nothing_is_sent(send):
    assert send() == []


def test_an_unknown_contact_spoils_the_whole_reply(database, workspace, send):
    assert send(urns=["tel:+254722000999"], uuids=[UNKNOWN]) == []

    with database.reading() as tx:
        assert count_contacts(tx, workspace.id) == 0


def test_contacts_of_another_workspace_and_deleted_ones_are_unknown(database, workspace, other_workspace, send):
    stranger = add_contact(database, other_workspace)
    gone = add_contact(database, workspace)
    with database.writing() as tx:
        tx.execute(update(contact).where(contact.c.id == gone).values(is_deleted=True))

    assert send(uuids=[uuid_of(database, stranger)]) == []
    assert send(event_contact_id=gone) == []


def test_a_contact_who_was_merged_meanwhile_is_who_has_the_conversation_now(database, workspace, send):
    amina, juma = add_contact(database, workspace), add_contact(database, workspace, "+254722000222")
    old = uuid_of(database, juma)
    with database.writing() as tx:
        user_id = add_member(tx, workspace.id, "ann@example.org", "administrator")
        merge_contacts(tx, workspace, amina, juma, user_id=user_id)
    send(event_contact_id=juma)
    send(uuids=[old, uuid_of(database, amina)])

    assert recipients(database) == ["tel:+254722000111"] * 2
    assert send(uuids=[old, UNKNOWN]) == []
