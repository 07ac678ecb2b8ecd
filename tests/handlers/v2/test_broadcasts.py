"""`/api/v2/broadcasts.json` over HTTP, and the messages its worker makes."""

import pytest

from persistence import broadcast_expansion
from persistence.contact_actions import join_group
from persistence.contacts import contact
from persistence.group_members import find_manual_groups
from persistence.groups import group
from tests.api import Api
from tests.channel_rows import add_channel
from tests.factories import id_of, make_contact, make_named

PATH = "/api/v2/broadcasts.json"
MESSAGES = "/api/v2/messages.json"


def expand(database):
    while database.write(broadcast_expansion.expand_next):
        pass


def texts(api: Api, record):
    return sorted(message["text"] for message in api.results(MESSAGES, broadcast=record["uuid"]))


def test_each_contact_gets_one_message_however_often_it_is_named(api: Api, database, workspace):
    add_channel(database, workspace)
    uuid = make_contact(database, workspace, "+250788000111")
    make_named(database, workspace, group, ["Reporters"])
    with database.writing() as tx:
        group_id = find_manual_groups(tx, workspace.id, ["Reporters"], field="groups")[0]
        join_group(tx, workspace.id, [id_of(database, uuid)], group_id)
    urns = ["tel:+250788000111", "tel:+250788000222"]

    made = api.post(PATH, {"text": "Hi", "contacts": [uuid], "groups": ["reporters"], "urns": urns})
    expand(database)

    assert (made.status_code, made.json()["status"]) == (201, "pending")
    assert texts(api, made.json()) == ["Hi", "Hi"]
    shown = api.results(PATH, uuid=made.json()["uuid"])[0]
    assert (shown["status"], shown["progress"]) == ("completed", {"total": 2, "started": 2})
    assert [one["uuid"] for one in shown["contacts"]] == [uuid]


def test_text_is_translated_and_its_expressions_evaluated(api: Api, database, workspace):
    first, second = make_contact(database, workspace), make_contact(database, workspace, name="Bosco")
    with database.writing() as tx:
        tx.execute(contact.update().where(contact.c.uuid == second).values(language="kin"))
    body = {"text": {"eng": "Hi @contact.first_name", "kin": "Muraho @contact"}, "contacts": [first, second]}

    record = api.post(PATH, body).json()
    expand(database)

    assert texts(api, record) == ["Hi Amina", "Muraho Bosco"]


def test_batches_make_no_message_twice(api: Api, database, workspace, monkeypatch):
    monkeypatch.setattr(broadcast_expansion, "BATCH", 2)
    uuids = [make_contact(database, workspace, name=f"C{number}") for number in range(5)]

    record = api.post(PATH, {"text": "@contact.name", "contacts": uuids}).json()
    expand(database)

    assert texts(api, record) == [f"C{number}" for number in range(5)]


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"contacts": []}, "non_field_errors"),
        ({"groups": ["Nobody"]}, "groups"),
        ({"urns": ["tel:x"]}, "urns"),
        ({"base_language": "fra"}, "non_field_errors"),
        ({"text": {"english": "Hi"}}, "text"),
    ],
)
def test_what_makes_no_sense_is_refused_by_field(api: Api, database, workspace, change, key):
    body = {"text": {"eng": "Hi"}, "contacts": [make_contact(database, workspace)]} | change

    response = api.post(PATH, body)

    assert (response.status_code, list(response.json())) == (400, [key])
