"""The settings of channels, an addition: the secrets and limits of gateways, for administrators."""

from typing import Any

import pytest
from sqlalchemy import select

from persistence.tables.channels import channel
from testbed.gateways import SECRET, add_gateway
from testbed.tokens import make_token
from tests.api import Api
from tests.conftest import Clock
from tests.phones import claimed_phone

PATH = "/api/v2/channel_settings.json"


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
        "callback_url": f"http://testserver/c/ex/{gateway}/{SECRET}/",
        "secret": SECRET,
        "former_secret_until": None,
        "messages_per_second": None,
    }


@pytest.mark.parametrize("role", ["editor", "viewer", "agent"])
def test_nobody_else_may_read_or_change_it(api: Api, gateway: str, role: str) -> None:
    other = Api(api.client, api.database, api.workspace, make_token(api.database, api.workspace, role))

    assert other.get(PATH).status_code == 403
    assert other.post(PATH, {"rotate_secret": True}, uuid=gateway).status_code == 403


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


def test_a_phone_shows_no_secret_and_has_nothing_to_change(api: Api) -> None:
    claimed_phone(api)
    (record,) = api.results(PATH)

    assert (record["type"], record["secret"], record["callback_url"]) == ("android", None, None)
    assert api.post(PATH, {"rotate_secret": True}, uuid=record["uuid"]).status_code == 400


def test_gateways_of_others_do_not_exist(other_api: Api, gateway: str) -> None:
    assert other_api.results(PATH, uuid=gateway) == []
    assert other_api.post(PATH, {"rotate_secret": True}, uuid=gateway).status_code == 404
