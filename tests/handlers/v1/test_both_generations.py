"""One record seen through both generations: written through one, read through the other."""

from datetime import UTC, datetime
from typing import Any

import pytest

from persistence.boundaries import read_features, store_boundaries
from tests.api import Api
from tests.boundary_files import RWANDA
from tests.channel_rows import add_channel, add_contact, add_outgoing

AMINA = "tel:+250788000111"
MOMENT = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)


def write(api: Api, path: str, status: int = 201, **body: Any) -> dict[str, Any]:
    response = api.post(path, body)
    assert response.status_code == status, response.text
    record: dict[str, Any] = response.json() if response.content else {}
    return record


def receive(api: Api) -> int:
    """The id of a message that came in and was handled."""
    channel_id, contact_id = add_channel(api.database, api.workspace), add_contact(api.database, api.workspace)
    return add_outgoing(
        api.database,
        api.workspace,
        channel_id,
        contact_id,
        MOMENT,
        "handled",
        direction="in",
        type="text",
        urn="tel:+254722000111",
        text="Is it open?",
    )


def test_a_contact_of_generation_1_is_whole_in_generation_2(api: Api) -> None:
    group = write(api, "/api/v2/groups.json", name="Nurses")["uuid"]
    write(api, "/api/v1/fields.json", label="Due Date", value_type="T")
    contact: dict[str, Any] = {"urns": [AMINA], "name": "Amina", "language": "eng", "group_uuids": [group]}
    uuid = write(api, "/api/v1/contacts.json", **contact, fields={"due_date": "soon"})["uuid"]

    record = api.results("/api/v2/contacts.json", uuid=uuid)[0]

    assert (record["name"], record["language"], record["urns"]) == ("Amina", "eng", [AMINA])
    assert record["groups"] == [{"uuid": group, "name": "Nurses"}]
    assert record["fields"] == {"due_date": "soon"}


def test_a_contact_of_generation_2_is_whole_in_generation_1(api: Api) -> None:
    uuid = write(api, "/api/v2/contacts.json", urns=[AMINA], name="Amina", language="eng")["uuid"]

    record = api.results("/api/v1/contacts.json", uuid=uuid)[0]

    assert (record["name"], record["language"], record["urns"]) == ("Amina", "eng", [AMINA])


def test_a_contact_deleted_in_generation_1_is_deleted_in_generation_2(api: Api) -> None:
    uuid = write(api, "/api/v1/contacts.json", urns=[AMINA])["uuid"]
    api.delete("/api/v1/contacts.json", uuid=uuid)

    assert api.results("/api/v2/contacts.json", uuid=uuid) == []
    assert [record["uuid"] for record in api.results("/api/v2/contacts.json", deleted="true")] == [uuid]


def test_contacts_blocked_in_generation_1_are_blocked_in_generation_2_and_back(api: Api) -> None:
    uuid = write(api, "/api/v1/contacts.json", urns=[AMINA])["uuid"]
    write(api, "/api/v1/contact_actions.json", 204, contacts=[uuid], action="block")
    blocked = api.results("/api/v2/contacts.json", uuid=uuid)[0]
    write(api, "/api/v2/contact_actions.json", 204, contacts=[uuid], action="unblock")

    assert blocked["status"] == "blocked"
    assert api.results("/api/v1/contacts.json", uuid=uuid)[0]["blocked"] is False


def test_a_contact_put_into_a_group_in_generation_1_counts_in_both(api: Api) -> None:
    group = write(api, "/api/v2/groups.json", name="Nurses")["uuid"]
    uuid = write(api, "/api/v2/contacts.json", urns=[AMINA])["uuid"]
    write(api, "/api/v1/contact_actions.json", 204, contacts=[uuid], action="add", group_uuid=group)

    assert api.results("/api/v2/groups.json", uuid=group)[0]["count"] == 1
    assert api.results("/api/v1/groups.json", uuid=group)[0]["size"] == 1


@pytest.mark.together
@pytest.mark.parametrize(
    ("letter", "word"),
    [("T", "text"), ("N", "number"), ("D", "datetime"), ("S", "state"), ("I", "district"), ("W", "ward")],
)
def test_a_field_has_the_same_type_in_both(api: Api, letter: str, word: str) -> None:
    key = write(api, "/api/v1/fields.json", label="Due Date", value_type=letter)["key"]

    assert api.results("/api/v2/fields.json", key=key)[0]["type"] == word
    assert api.results("/api/v1/fields.json", key=key)[0]["value_type"] == letter


def test_a_label_of_either_generation_is_in_the_other(api: Api) -> None:
    first = write(api, "/api/v1/labels.json", name="Complaint")["uuid"]
    second = write(api, "/api/v2/labels.json", name="Praise")["uuid"]

    assert api.results("/api/v2/labels.json", uuid=first)[0]["name"] == "Complaint"
    assert api.results("/api/v1/labels.json", uuid=second)[0]["name"] == "Praise"


def test_a_message_labeled_in_generation_1_shows_the_label_in_both(api: Api) -> None:
    message = receive(api)
    label = write(api, "/api/v1/labels.json", name="Question")["uuid"]
    write(api, "/api/v1/message_actions.json", 204, messages=[message], action="label", label_uuid=label)

    assert api.results("/api/v2/messages.json", id=message)[0]["labels"] == [{"uuid": label, "name": "Question"}]
    assert api.results("/api/v1/messages.json", id=message)[0]["labels"] == ["Question"]
    assert api.results("/api/v2/labels.json", uuid=label)[0]["count"] == 1


def test_a_message_archived_in_generation_1_leaves_the_inbox_of_generation_2_until_it_is_restored(api: Api) -> None:
    message = receive(api)
    write(api, "/api/v1/message_actions.json", 204, messages=[message], action="archive")
    archived = [record["id"] for record in api.results("/api/v2/messages.json", folder="archived")]
    write(api, "/api/v2/message_actions.json", 204, messages=[message], action="restore")

    assert archived == [message]
    assert api.results("/api/v1/messages.json", id=message)[0]["archived"] is False


def test_a_broadcast_of_generation_1_is_translated_text_in_generation_2(api: Api) -> None:
    uuid = write(api, "/api/v1/contacts.json", urns=[AMINA])["uuid"]
    older = write(api, "/api/v1/broadcasts.json", text="Hi", contacts=[uuid])

    newer = api.results("/api/v2/broadcasts.json", id=older["id"])[0]

    assert (newer["text"], newer["base_language"], newer["status"]) == ({"eng": "Hi"}, "eng", "pending")
    assert [contact["uuid"] for contact in newer["contacts"]] == older["contacts"] == [uuid]


def test_a_broadcast_of_generation_2_shows_its_base_text_in_generation_1(api: Api) -> None:
    group = write(api, "/api/v2/groups.json", name="Nurses")["uuid"]
    text = {"kin": "Muraho", "eng": "Hi"}
    newer = write(api, "/api/v2/broadcasts.json", text=text, groups=["Nurses"], urns=[AMINA])

    older = api.results("/api/v1/broadcasts.json", id=newer["id"])[0]

    assert (older["text"], older["groups"], older["urns"]) == ("Muraho", [group], [AMINA])
    assert (older["status"], older["created_on"]) == ("I", newer["created_on"])


def test_both_generations_list_the_same_boundaries(api: Api) -> None:
    with api.database.writing() as tx:
        store_boundaries(tx, read_features(RWANDA))

    older = {(place["boundary"], place["name"], place["level"]) for place in api.results("/api/v1/boundaries.json")}
    newer = {(place["osm_id"], place["name"], place["level"]) for place in api.results("/api/v2/boundaries.json")}

    assert older == newer
    assert len(older) == 5


@pytest.mark.parametrize("path", ["/api/v1/contacts.json", "/api/v2/contacts.json"])
def test_a_language_in_capitals_is_the_same_language(api: Api, path: str) -> None:
    made = write(api, path, urns=[AMINA], language="ENG")

    assert made["language"] == "eng"
    assert api.post(path, {"urns": ["tel:+250788000222"], "language": "QQQ"}).json() == {
        "language": ["Not an ISO 639-3 code."]
    }


def test_translations_in_capitals_are_those_of_the_language(api: Api) -> None:
    uuid = write(api, "/api/v1/contacts.json", urns=[AMINA])["uuid"]
    both = {"text": {"ENG": "Hi", "eng": "Hello"}, "contacts": [uuid]}

    made = write(api, "/api/v2/broadcasts.json", text={"ENG": "Hi", "kin": "Muraho"}, contacts=[uuid])

    assert (made["text"], made["base_language"]) == ({"eng": "Hi", "kin": "Muraho"}, "eng")
    assert api.post("/api/v2/broadcasts.json", both).json() == {"text": {"eng": ["This language appears twice."]}}
