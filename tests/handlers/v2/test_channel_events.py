"""`/api/v2/channel_events.json` over HTTP."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import insert, select

from persistence.database import Database
from persistence.tables.channels import channel_event
from persistence.tables.contacts import contact
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_channel, add_contact

PATH = "/api/v2/channel_events.json"
UNKNOWN = "00000000-0000-4000-8000-000000000000"
MOMENT = datetime(2026, 3, 1, 10, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture
def channel_id(database: Database, workspace: Workspace) -> int:
    return add_channel(database, workspace)


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> int:
    return add_contact(database, workspace)


def add_event(database: Database, workspace: Workspace, channel_id: int, contact_id: int, **values: Any) -> int:
    row = {
        "workspace_id": workspace.id,
        "channel_id": channel_id,
        "contact_id": contact_id,
        "type": "call-in-missed",
        "extra": {"duration": 0},
        "occurred_on": MOMENT - timedelta(minutes=1),
        "created_on": MOMENT,
    }
    with database.writing() as tx:
        return int(tx.execute(insert(channel_event).values(row | values).returning(channel_event.c.id)).scalar_one())


def uuid_of(database: Database, contact_id: int) -> str:
    with database.reading() as tx:
        return str(tx.execute(select(contact.c.uuid).where(contact.c.id == contact_id)).scalar_one())


class TestListChannelEvents:
    def test_a_record_names_contact_and_channel(
        self, api: Api, database: Database, workspace: Workspace, channel_id: int, amina: int
    ) -> None:
        event_id = add_event(database, workspace, channel_id, amina)

        record = api.results(PATH)[0]

        assert record == {
            "id": event_id,
            "uuid": record["uuid"],
            "type": "call-in-missed",
            "contact": {"uuid": uuid_of(database, amina), "name": "Amina"},
            "channel": {"uuid": api.results("/api/v2/channels.json")[0]["uuid"], "name": "Front desk"},
            "extra": {"duration": 0},
            "occurred_on": "2026-03-01T09:59:00.123456Z",
            "created_on": "2026-03-01T10:00:00.123456Z",
        }

    def test_events_come_newest_first_by_when_they_were_recorded(
        self, api: Api, database: Database, workspace: Workspace, channel_id: int, amina: int
    ) -> None:
        later = add_event(database, workspace, channel_id, amina, created_on=MOMENT + timedelta(hours=1))
        earlier = add_event(database, workspace, channel_id, amina, occurred_on=MOMENT + timedelta(hours=2))

        assert [one["id"] for one in api.results(PATH)] == [later, earlier]

    def test_filters_find_their_events_and_combine(
        self, api: Api, database: Database, workspace: Workspace, channel_id: int, amina: int
    ) -> None:
        bosco = add_contact(database, workspace, "+254722000222", "Bosco")
        first = add_event(database, workspace, channel_id, amina)
        second = add_event(database, workspace, channel_id, bosco)
        uuid = uuid_of(database, bosco)

        assert [one["id"] for one in api.results(PATH, id=first)] == [first]
        assert [one["id"] for one in api.results(PATH, contact=uuid)] == [second]
        assert [one["id"] for one in api.results(PATH, contact=uuid.upper(), id=second)] == [second]
        assert api.results(PATH, contact=uuid, id=first) == []

    def test_bounds_include_the_moment_of_recording(
        self, api: Api, database: Database, workspace: Workspace, channel_id: int, amina: int
    ) -> None:
        event_id = add_event(database, workspace, channel_id, amina)
        bound, beyond = "2026-03-01T10:00:00.123456", "2026-03-01T10:00:00.123457"

        assert [one["id"] for one in api.results(PATH, before=bound, after=bound)] == [event_id]
        assert api.results(PATH, after=beyond) == api.results(PATH, before="2026-03-01T10:00:00.123") == []

    @pytest.mark.together
    @pytest.mark.parametrize("query", [{"id": 7}, {"contact": UNKNOWN}, {"contact": "nonsense"}])
    def test_what_names_nothing_gives_an_empty_list(
        self, api: Api, database: Database, workspace: Workspace, channel_id: int, amina: int, query: dict[str, Any]
    ) -> None:
        add_event(database, workspace, channel_id, amina)

        assert api.results(PATH, **query) == []

    def test_events_of_a_deleted_contact_are_gone(
        self, api: Api, database: Database, workspace: Workspace, channel_id: int, amina: int
    ) -> None:
        add_event(database, workspace, channel_id, amina)

        api.delete("/api/v2/contacts.json", uuid=uuid_of(database, amina))

        assert api.results(PATH) == []
