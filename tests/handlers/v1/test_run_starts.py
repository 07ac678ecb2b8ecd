"""Runs that `POST /api/v1/runs.json` starts."""

from typing import Any

import pytest
from sqlalchemy import func, select, update

from persistence.database import Database
from persistence.groups.groups import add_members
from persistence.sql.columns import new_uuid
from persistence.tables.accounts import workspace as workspace_table
from persistence.tables.contacts import contact, group
from persistence.tables.flows import flow, flow_run, flow_start, flow_start_batch
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_channel, add_contact, change_channel
from tests.factories import make_named
from tests.run_rows import add_flow, add_people, add_run, status_counts, uuid_of

PATH = "/api/v1/runs.json"


@pytest.fixture
def registration(database: Database, workspace: Workspace) -> int:
    return add_flow(database, workspace)


@pytest.fixture
def flow_uuid(database: Database, registration: int) -> str:
    return uuid_of(database, flow, registration)


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> int:
    return add_contact(database, workspace)


@pytest.fixture
def phone(database: Database, workspace: Workspace) -> int:
    return add_channel(database, workspace)


def count(database: Database, table: Any) -> int:
    with database.reading() as tx:
        return tx.execute(select(func.count()).select_from(table)).scalar_one()


class TestStartRuns:
    def test_the_runs_are_made_before_the_answer_and_listed(
        self, api: Api, database: Database, registration: int, flow_uuid: str, amina: int, phone: int, woken: list[str]
    ) -> None:
        amina_uuid = uuid_of(database, contact, amina)

        body = {"flow_uuid": flow_uuid, "phone": ["+254722000111", "+250788000333"], "extra": {"clinic": "Lakeside"}}
        response = api.post(PATH, body)

        records = response.json()
        assert response.status_code == 201
        assert [(one["contact"] == amina_uuid, one["flow_uuid"]) for one in records] == [
            (True, flow_uuid),
            (False, flow_uuid),
        ]
        for one in records:
            assert (one["completed"], one["values"], one["steps"], one["expired_on"]) == (False, [], [], None)
        assert sorted(api.results(PATH), key=lambda one: one["run"]) == records
        assert "starts" in woken
        assert status_counts(database, registration) == {"active": 2}
        with database.reading() as tx:
            start = tx.execute(select(flow_start)).one()
            assert (start.status, start.total, start.params) == ("started", 2, {"clinic": "Lakeside"})
            contact_ids = tx.execute(select(flow_start_batch.c.contact_ids)).scalar_one()
        assert [uuid_of(database, contact, one) for one in contact_ids] == [one["contact"] for one in records]

    def test_everybody_named_gets_one_run(
        self, api: Api, database: Database, workspace: Workspace, flow_uuid: str, amina: int, phone: int
    ) -> None:
        uuid = uuid_of(database, contact, amina)
        (group_uuid,) = make_named(database, workspace, group, ["Reporters"])
        api.post("/api/v1/contact_actions.json", {"contacts": [uuid], "action": "add", "group_uuid": group_uuid})

        body = {
            "flow_uuid": flow_uuid,
            "phone": "+254722000111",
            "contact": uuid,
            "contacts": [uuid, uuid],
            "groups": group_uuid,
        }

        assert [one["contact"] for one in api.post(PATH, body).json()] == [uuid]

    def test_contacts_need_no_channel_and_no_phone(
        self, api: Api, database: Database, flow_uuid: str, amina: int
    ) -> None:
        body = {"flow_uuid": flow_uuid, "contacts": [uuid_of(database, contact, amina)]}

        assert len(api.post(PATH, body).json()) == 1

    def test_people_who_were_in_the_flow_are_left_out_on_request(
        self, api: Api, database: Database, workspace: Workspace, registration: int, flow_uuid: str, amina: int
    ) -> None:
        add_run(database, workspace, registration, amina)
        (other,) = add_people(database, workspace, 1)
        uuids = [uuid_of(database, contact, one) for one in (amina, other)]
        body = {"flow_uuid": flow_uuid, "contacts": uuids, "restart_participants": False}

        assert [one["contact"] for one in api.post(PATH, body).json()] == [uuids[1]]
        refused = api.post(PATH, body)
        assert (refused.status_code, list(refused.json())) == (400, ["non_field_errors"])
        assert count(database, flow_start) == 1

    def test_100_numbers_are_started_and_101_refused(
        self, api: Api, database: Database, flow_uuid: str, phone: int
    ) -> None:
        numbers = [f"+2507880{number:05}" for number in range(101)]

        assert len(api.post(PATH, {"flow_uuid": flow_uuid, "phone": numbers[:100]}).json()) == 100
        assert list(api.post(PATH, {"flow_uuid": flow_uuid, "phone": numbers}).json()) == ["phone"]
        assert count(database, contact) == 100

    def test_of_a_large_group_the_first_1000_are_answered(
        self, api: Api, database: Database, workspace: Workspace, registration: int, flow_uuid: str
    ) -> None:
        (group_uuid,) = make_named(database, workspace, group, ["Everybody"])
        people = add_people(database, workspace, 1001)
        with database.writing() as tx:
            group_id = tx.execute(select(group.c.id).where(group.c.uuid == group_uuid)).scalar_one()
            add_members(tx, workspace.id, group_id, people)

        records = api.post(PATH, {"flow_uuid": flow_uuid, "groups": [group_uuid]}).json()

        assert len(records) == 1000
        assert status_counts(database, registration) == {"active": 1000}
        with database.reading() as tx:
            assert tx.execute(select(flow_start.c.is_expanded, flow_start.c.total)).one() == (False, -1)

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("extra", "status"),
        [
            ({f"key_{number}": "x" * 255 for number in range(20)}, 201),
            ({f"key_{number}": "x" for number in range(21)}, 400),
            ({"a": "x" * 256}, 400),
            ({"a": 7}, 400),
            ([], 400),
        ],
    )
    def test_extra_holds_20_texts_of_255_characters(
        self, api: Api, flow_uuid: str, phone: int, extra: Any, status: int
    ) -> None:
        response = api.post(PATH, {"flow_uuid": flow_uuid, "phone": ["+250788000333"], "extra": extra})

        assert response.status_code == status
        if status == 400:
            assert list(response.json()) == ["extra"]

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"phone": []}, "non_field_errors"),
            ({"phone": ["12"]}, "phone"),
            ({"phone": ["+250788000333", "nonsense"]}, "phone"),
            ({"phone": 7}, "phone"),
            ({"contact": [new_uuid()]}, "contact"),
            ({"contacts": [new_uuid()]}, "contacts"),
            ({"groups": [new_uuid()]}, "groups"),
            ({"flow_uuid": new_uuid()}, "flow_uuid"),
            ({"flow_uuid": "Registration"}, "flow_uuid"),
            ({"flow_uuid": None}, "flow_uuid"),
            ({"restart_participants": "no"}, "restart_participants"),
        ],
    )
    def test_bad_input_is_refused_by_field_and_changes_nothing(
        self, api: Api, database: Database, flow_uuid: str, phone: int, change: dict[str, Any], field: str
    ) -> None:
        response = api.post(PATH, {"flow_uuid": flow_uuid, "phone": ["+250788000333"], **change})

        assert (response.status_code, list(response.json())) == (400, [field])
        assert [count(database, table) for table in (flow_run, flow_start, contact)] == [0, 0, 0]

    def test_an_archived_flow_is_refused(self, api: Api, database: Database, workspace: Workspace, phone: int) -> None:
        archived = uuid_of(database, flow, add_flow(database, workspace, is_archived=True))

        response = api.post(PATH, {"flow_uuid": archived, "phone": ["+250788000333"]})

        assert response.json() == {"flow_uuid": ["This flow is archived."]}

    def test_numbers_need_a_channel_that_reaches_them(
        self, api: Api, database: Database, flow_uuid: str, phone: int
    ) -> None:
        change_channel(database, phone, schemes=["telegram"])

        response = api.post(PATH, {"flow_uuid": flow_uuid, "phone": ["+250788000333"]})

        assert (response.status_code, list(response.json()), count(database, contact)) == (400, ["phone"], 0)

    def test_numbers_name_nobody_where_addresses_are_hidden(
        self, api: Api, database: Database, flow_uuid: str, phone: int
    ) -> None:
        with database.writing() as tx:
            tx.execute(update(workspace_table).values(is_anonymous=True))

        response = api.post(PATH, {"flow_uuid": flow_uuid, "phone": ["+250788000333"]})

        assert (response.status_code, list(response.json()), count(database, contact)) == (400, ["phone"], 0)

    def test_who_is_not_active_is_left_out(
        self, api: Api, database: Database, flow_uuid: str, amina: int, phone: int
    ) -> None:
        uuid = uuid_of(database, contact, amina)
        api.post("/api/v1/contact_actions.json", {"contacts": [uuid], "action": "block"})

        refused = api.post(PATH, {"flow_uuid": flow_uuid, "contacts": [uuid]})

        assert (refused.status_code, list(refused.json())) == (400, ["non_field_errors"])
