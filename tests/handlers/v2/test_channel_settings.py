"""The settings of channels, an addition: the secrets and limits of gateways, for administrators."""

from typing import Any

import pytest
from sqlalchemy import select, update

from persistence.tables.channels import channel
from testbed.gateways import SECRET, add_gateway
from tests.api import Api
from tests.conftest import Clock
from tests.phones import claimed_phone

PATH, TYPES = "/api/v2/channel_settings.json", "/api/v2/channel_types.json"
SETTINGS = {"send_url": "https://sms.example.org/send?key=s3cret", "send_authorization": "Bearer s3cret"}
NEW = {"type": "external", "name": "Aggregator", "address": "8181", "country": "RW", "settings": SETTINGS}


@pytest.fixture
def gateway(api: Api) -> str:
    """The uuid of a gateway."""
    channel_id = add_gateway(api.database, api.workspace, "http://127.0.0.1:1/")
    with api.database.reading() as tx:
        return str(tx.execute(select(channel.c.uuid).where(channel.c.id == channel_id)).scalar_one())


def settings_of(api: Api, uuid: str) -> dict[str, Any]:
    (record,) = api.results(PATH, uuid=uuid)
    return dict(record)


def test_administrators_read_the_address_a_gateway_calls(api: Api, gateway: str) -> None:
    assert settings_of(api, gateway) == {
        "uuid": gateway,
        "name": "Gateway",
        "type": "external",
        "address": "+250788000000",
        "country": "RW",
        "scheme": "tel",
        "callback_url": f"http://testserver/c/ex/{gateway}/{SECRET}/",
        "secret": SECRET,
        "embed": None,
        "former_secret_until": None,
        "messages_per_second": None,
        "allow_international": False,
        "transliterate": False,
        "cost_per_segment": None,
        "sending_hours": None,
        "automatic_per_day": None,
        "settings": {"send_url": "http://127.0.0.1:1/"},
        "preset": None,
        "connection": None,
        "fields": {},
    }


def test_a_rotation_gives_a_new_secret_and_tells_it_in_the_list_only(api: Api, gateway: str, clock: Clock) -> None:
    answer = api.post(PATH, {"rotate_secret": True}, uuid=gateway)

    told = settings_of(api, gateway)
    assert (answer.status_code, answer.json()["secret"], answer.json()["callback_url"]) == (200, None, None)
    assert told["secret"] not in (SECRET, None) and told["secret"] not in answer.text
    assert told["former_secret_until"] == answer.json()["former_secret_until"]
    form = {"from": "+250788000111", "text": "hi"}
    assert api.client.post(told["callback_url"] + "receive", data=form).status_code == 200
    clock.advance(hours=25)
    assert settings_of(api, gateway)["former_secret_until"] is None


def test_the_limit_can_be_set_and_taken_away(api: Api, gateway: str) -> None:
    assert api.post(PATH, {"messages_per_second": 12.5}, uuid=gateway).json()["messages_per_second"] == 12.5
    assert api.post(PATH, {"rotate_secret": False}, uuid=gateway).json()["messages_per_second"] == 12.5
    assert [each["messages_per_second"] for each in api.results(PATH)] == [12.5]
    assert api.post(PATH, {"messages_per_second": None}, uuid=gateway).json()["messages_per_second"] is None
    assert api.post(PATH, {"messages_per_second": 0}, uuid=gateway).status_code == 400


def test_a_whole_limit_is_written_as_by_the_database(api: Api, gateway: str) -> None:
    whole = "5.0" if api.database.sqlite else "5"

    texts = [api.post(PATH, {"messages_per_second": 5}, uuid=gateway).text, api.get(PATH).text]

    assert all(f'"messages_per_second":{whole},' in text for text in texts)


@pytest.mark.parametrize("is_phone", [True, False])
def test_numbers_of_other_countries_get_messages_by_a_channel_that_allows_it(
    api: Api, gateway: str, is_phone: bool
) -> None:
    if is_phone:
        api.delete(PATH, uuid=gateway)
        claimed_phone(api)
    (record,) = api.results(PATH)
    assert record["country"] == "RW"

    def sent_to(number: str) -> tuple[str | None, str]:
        contact = api.post("/api/v2/contacts.json", {"urns": [f"tel:{number}"]}).json()["uuid"]
        answer = api.post("/api/v2/messages.json", {"contact": contact, "text": "Hi"}).json()
        return answer["channel"] and answer["channel"]["uuid"], answer["status"]

    uuid = record["uuid"]
    assert [sent_to("+250788000111"), sent_to("+12065551212")] == [(uuid, "queued"), (None, "failed")]
    answer = api.post(PATH, {"allow_international": True}, uuid=uuid)
    assert (answer.status_code, answer.json()["allow_international"]) == (200, True)
    assert sent_to("+12065551213") == (uuid, "queued")
    assert api.post(PATH, {"allow_international": False}, uuid=uuid).json()["allow_international"] is False
    assert sent_to("+12065551214") == (None, "failed")
    assert api.post(PATH, {"allow_international": None}, uuid=uuid).status_code == 400


@pytest.mark.parametrize(("number", "values"), [
    ("+12065551212", {"allow_international": None}),
    ("+12065551212", {"country": None}),
    ("+19995551212", {"allow_international": False}),
])  # fmt: skip
def test_channels_from_before_the_choice_and_numbers_of_no_known_country_are_sent_to(
    api: Api, gateway: str, number: str, values: dict[str, Any]
) -> None:
    with api.database.writing() as tx:
        tx.execute(update(channel).where(channel.c.uuid == gateway).values(values))

    assert settings_of(api, gateway)["allow_international"] is (values == {"allow_international": None})
    contact = api.post("/api/v2/contacts.json", {"urns": [f"tel:{number}"]}).json()["uuid"]
    answer = api.post("/api/v2/messages.json", {"contact": contact, "text": "Hi"}).json()
    assert (answer["status"], answer["channel"]["uuid"]) == ("queued", gateway)


def test_of_channels_of_one_country_the_most_similar_number_is_taken_and_then_the_latest(api: Api) -> None:
    def add(address: str, **more: Any) -> str:
        return str(api.post(PATH, NEW | {"address": address, **more}).json()["uuid"])

    similar, _, latest = add("+250788"), add("8181"), add("8182")
    near = add("+2567", country="UG")
    worldwide = add("+1206", country="US", allow_international=True)
    made = [
        api.post("/api/v2/contacts.json", {"urns": [f"tel:{number}"]}).json()["uuid"]
        for number in ("+250788000111", "+250722000111", "+256772000111", "+12065551212", "+33612345678")
    ]
    told = [api.post("/api/v2/messages.json", {"contact": uuid, "text": "Hi"}).json()["channel"] for uuid in made]
    assert [each["uuid"] for each in told] == [similar, similar, near, worldwide, worldwide]
    api.delete(PATH, uuid=similar)
    api.delete(PATH, uuid=worldwide)
    answer = api.post("/api/v2/messages.json", {"contact": made[0], "text": "Hi"}).json()
    assert answer["channel"]["uuid"] == latest


def test_a_phone_shows_no_secret_and_has_nothing_to_change(api: Api) -> None:
    claimed_phone(api)
    (record,) = api.results(PATH)

    assert (record["type"], record["secret"], record["callback_url"]) == ("android", None, None)
    assert api.post(PATH, {"rotate_secret": True}, uuid=record["uuid"]).status_code == 400
    assert api.post(PATH, {"name": "Front desk"}, uuid=record["uuid"]).json()["name"] == "Front desk"
    assert api.delete(PATH, uuid=record["uuid"]).status_code == 204


def test_an_added_gateway_is_listed_and_its_secrets_are_not_told(api: Api) -> None:
    made = api.post(PATH, NEW | {"messages_per_second": 5})

    told = settings_of(api, made.json()["uuid"])
    assert (made.status_code, made.json()["callback_url"]) == (201, None)
    assert "s3cret" not in made.text
    assert told["settings"] == SETTINGS | {
        "method": "POST",
        "content_type": "urlencoded",
        "max_length": "160",
        "split": "length",
        "send_authorization": "***",
    }
    assert (told["scheme"], told["address"], told["country"], told["messages_per_second"]) == ("tel", "8181", "RW", 5)
    form = {"from": "+250788000111", "text": "hi"}
    assert api.client.post(told["callback_url"] + "receive", data=form).status_code == 200
    assert [each["uuid"] for each in api.results("/api/v2/channels.json")] == [told["uuid"]]


@pytest.mark.together
@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"type": "nonsense"}, "type"),
        ({"type": "android"}, "type"),
        ({"name": " "}, "name"),
        ({"address": "  "}, "address"),
        ({"country": "QQ"}, "country"),
        ({"scheme": "nonsense"}, "scheme"),
        ({"settings": {"send_url": "nonsense"}}, "settings"),
        ({"settings": {}}, "settings"),
        *(({name: None}, name) for name in ("type", "name", "address")),
    ],
)
def test_a_gateway_that_could_not_send_is_not_added(api: Api, changed: dict[str, Any], field: str) -> None:
    wanted = {name: value for name, value in (NEW | changed).items() if value is not None}
    answer = api.post(PATH, wanted)

    assert (answer.status_code, list(answer.json())) == (400, [field])
    assert api.results(PATH) == []


def test_what_is_changed_about_a_gateway_is_what_its_next_message_uses(api: Api, gateway: str) -> None:
    body = {"name": "New name", "settings": {"send_url": "http://127.0.0.1:2/", "max_length": "300"}}
    answer = api.post(PATH, body, uuid=gateway)

    assert (answer.status_code, answer.json()["settings"]["send_url"]) == (200, "***")
    assert settings_of(api, gateway)["settings"] == body["settings"]
    assert settings_of(api, gateway)["name"] == "New name"
    assert api.post(PATH, {"settings": {"max_length": "1"}}, uuid=gateway).status_code == 400
    assert api.post(PATH, {"address": "8282"}, uuid=gateway).status_code == 400


def test_a_released_channel_is_gone_and_can_not_be_released_again(api: Api, gateway: str) -> None:
    assert api.delete(PATH, uuid=gateway).status_code == 204
    assert (api.results(PATH), api.delete(PATH, uuid=gateway).status_code) == ([], 404)


def test_the_types_say_what_a_form_must_ask(api: Api) -> None:
    types = {each["type"]: each for each in api.get(TYPES).json()["types"]}

    required = [each["name"] for each in types["external"]["settings"] if each["is_required"]]
    assert required == ["send_url"]
    assert types["android"]["is_phone"]
