"""`/api/v2/channels.json` over HTTP."""

import pytest
from sqlalchemy import select

from persistence.database import Database
from persistence.tables.channels import channel
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_channel, change_channel

PATH = "/api/v2/channels.json"
UNKNOWN = "00000000-0000-4000-8000-000000000000"


def uuid_of(database: Database, channel_id: int) -> str:
    with database.reading() as tx:
        return str(tx.execute(select(channel.c.uuid).where(channel.c.id == channel_id)).scalar_one())


class TestListChannels:
    def test_a_phone_shows_its_device(self, api: Api, database: Database, workspace: Workspace) -> None:
        device = {"device": "SM-A135F", "power_level": 78, "power_status": "DIS", "power_source": "BAT"}
        channel_id = add_channel(database, workspace, device_uuid="d-1", network_type="LTE", **device)

        record = api.results(PATH)[0]

        assert record == {
            "uuid": uuid_of(database, channel_id),
            "name": "Front desk",
            "address": "+254733555010",
            "type": "android",
            "country": "KE",
            "device": {
                "name": "SM-A135F",
                "power_level": 78,
                "power_status": "DIS",
                "power_source": "BAT",
                "network_type": "LTE",
            },
            "last_seen": record["created_on"],
            "down_since": None,
            "refused_on": None,
            "refused_reason": None,
            "modified_on": record["created_on"],
            "created_on": record["created_on"],
        }

    def test_a_gateway_has_no_device(self, api: Api, database: Database, workspace: Workspace) -> None:
        add_channel(database, workspace, type="external", last_seen=None, address=None, country=None, name=None)

        record = api.results(PATH)[0]

        assert (record["type"], record["device"], record["last_seen"], record["address"]) == (
            "external",
            None,
            None,
            None,
        )

    def test_channels_come_newest_first_and_released_ones_not_at_all(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        released = add_channel(database, workspace, name="Old")
        for name in ("First", "Second"):
            add_channel(database, workspace, name=name)

        change_channel(database, released, is_active=False)

        assert [one["name"] for one in api.results(PATH)] == ["Second", "First"]
        assert api.results(PATH, uuid=uuid_of(database, released)) == []

    def test_a_phone_that_nobody_claimed_is_nobodys(self, api: Api, database: Database, workspace: Workspace) -> None:
        channel_id = add_channel(database, workspace)

        change_channel(database, channel_id, workspace_id=None, claim_code="K7QW3ZP9M")

        assert api.results(PATH) == []

    def test_filters_find_whole_values_and_combine(self, api: Api, database: Database, workspace: Workspace) -> None:
        first = uuid_of(database, add_channel(database, workspace, name="First", address="+250788123123"))
        second = uuid_of(database, add_channel(database, workspace, name="Second", address="+25078812312"))

        assert [one["uuid"] for one in api.results(PATH, address="+250788123123")] == [first]
        assert [one["uuid"] for one in api.results(PATH, uuid=second)] == [second]
        assert [one["uuid"] for one in api.results(PATH, uuid=second, address="+25078812312")] == [second]
        assert api.results(PATH, uuid=second, address="+250788123123") == []

    def test_what_names_no_channel_gives_an_empty_list(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        add_channel(database, workspace)

        assert api.results(PATH, uuid=UNKNOWN) == api.results(PATH, address="nowhere") == []

    @pytest.mark.together
    @pytest.mark.parametrize("method", ["post", "delete"])
    def test_clients_only_read_channels(self, api: Api, method: str) -> None:
        response = getattr(api, method)(PATH)

        assert (response.status_code, response.headers["Allow"].split(", ")[0]) == (405, "GET")
