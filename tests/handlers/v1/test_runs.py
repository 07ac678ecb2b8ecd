"""`/api/v1/runs.json` over HTTP."""

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
from tests.run_rows import NODE, add_flow, add_people, add_run, moment, status_counts, uuid_of

PATH = "/api/v1/runs.json"
OTHER_NODE = "c8f1a2b3-9f39-4d53-8f39-77a0f4a1a111"


@pytest.fixture
def registration(database: Database, workspace: Workspace) -> int:
    return add_flow(database, workspace)


@pytest.fixture
def flow_uuid(database: Database, registration: int) -> str:
    return uuid_of(database, flow, registration)


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> int:
    return add_contact(database, workspace)


def found(api: Api, **query: Any) -> list[int]:
    return [record["run"] for record in api.results(PATH, **query)]


def value(name: str, text: str, time: str) -> dict[str, Any]:
    return {"name": name, "value": text, "category": "Yes", "node": NODE, "time": time, "input": f"I say {text}"}


class TestListRuns:
    def test_a_run_shows_results_oldest_first_and_what_was_said_at_each_step(
        self, api: Api, database: Database, workspace: Workspace, registration: int, flow_uuid: str, amina: int
    ) -> None:
        later, earlier = "2026-03-02T08:11:00.000000Z", "2026-03-02T08:10:00.000000Z"
        first, second = value("First", "yes", earlier), value("Second", "12", later)
        run_id = add_run(
            database,
            workspace,
            registration,
            amina,
            "expired",
            results={"a": second, "b": first},
            path=[{"node": NODE, "time": earlier}, {"node": OTHER_NODE, "time": later}],
            visits=[
                {"type": "R", "left_on": earlier, "results": [second, first]},
                {"type": "A", "left_on": None, "results": []},
            ],
            expires_on=moment("2026-03-02T09:00:00+00:00"),
            exited_on=moment("2026-03-02T09:00:00+00:00"),
        )

        (record,) = api.results(PATH)

        shown = {"node": NODE, "category": "Yes"}
        assert record == {
            "run": run_id,
            "flow_uuid": flow_uuid,
            "flow": registration,
            "contact": uuid_of(database, contact, amina),
            "completed": False,
            "values": [
                shown | {"label": "First", "text": "I say yes", "value": "yes", "rule_value": "yes", "time": earlier},
                shown | {"label": "Second", "text": "I say 12", "value": 12, "rule_value": "12", "time": later},
            ],
            "steps": [
                {
                    "node": NODE,
                    "arrived_on": earlier,
                    "type": "R",
                    "left_on": earlier,
                    "text": "I say yes",
                    "value": "yes",
                },
                {"node": OTHER_NODE, "arrived_on": later, "type": "A", "left_on": None, "text": None, "value": None},
            ],
            "created_on": record["created_on"],
            "modified_on": record["modified_on"],
            "expires_on": "2026-03-02T09:00:00.000000Z",
            "expired_on": "2026-03-02T09:00:00.000000Z",
        }

    @pytest.mark.parametrize(
        ("text", "shown"),
        [("12", 12), ("-1.5", -1.5), ("0", 0), ("007", "007"), ("+250788", "+250788"), ("1e5", "1e5"), ("", "")],
    )
    def test_only_plain_numbers_are_numbers(
        self, api: Api, database: Database, workspace: Workspace, registration: int, amina: int, text: str, shown: Any
    ) -> None:
        add_run(
            database,
            workspace,
            registration,
            amina,
            path=[{"node": NODE, "time": "2026-03-02T08:10:00.000000Z"}],
            visits=[{"type": "R", "left_on": None, "results": [value("A", text, "2026-03-02T08:10:00.000000Z")]}],
        )

        assert api.results(PATH)[0]["values"][0]["value"] == shown

    @pytest.mark.parametrize(("status", "completed"), [("completed", True), ("interrupted", False), ("waiting", False)])
    def test_a_run_is_completed_when_its_contact_came_to_the_end(
        self,
        api: Api,
        database: Database,
        workspace: Workspace,
        registration: int,
        amina: int,
        status: str,
        completed: bool,
    ) -> None:
        add_run(database, workspace, registration, amina, status)

        assert api.results(PATH)[0]["completed"] is completed

    def test_filters_choose_and_combine(
        self, api: Api, database: Database, workspace: Workspace, registration: int, flow_uuid: str, amina: int
    ) -> None:
        (other,) = add_people(database, workspace, 1)
        survey = add_flow(database, workspace, "Survey")
        runs = [
            add_run(database, workspace, of, one)
            for of, one in ((registration, amina), (survey, amina), (survey, other))
        ]
        first, second, third = runs
        survey_uuid, amina_uuid = uuid_of(database, flow, survey), uuid_of(database, contact, amina)
        group_uuid, _ = make_named(database, workspace, group, ["Reporters", "Nobody"])
        api.post("/api/v1/contact_actions.json", {"contacts": [amina_uuid], "action": "add", "group_uuid": group_uuid})
        changed = {record["run"]: record["modified_on"] for record in api.results(PATH)}

        assert found(api, run=f"{first},{third}") == [third, first]
        assert found(api, flow_uuid=survey_uuid) == [third, second]
        assert found(api, flow_uuid=f"{survey_uuid},{flow_uuid}") == [third, second, first]
        assert found(api, contact=amina_uuid) == [second, first]
        assert found(api, group_uuids=group_uuid) == [second, first]
        assert found(api, before=changed[second]) == [second, first]
        assert found(api, after=changed[second]) == [third, second]
        assert found(api, flow_uuid=survey_uuid, contact=amina_uuid) == [second]
        assert found(api, flow_uuid=survey_uuid, group_uuids=group_uuid, after=changed[third]) == []
        assert found(api, run=first, contact=uuid_of(database, contact, other)) == []

    @pytest.mark.parametrize("name", ["flow_uuid", "contact", "group_uuids"])
    @pytest.mark.parametrize("reference", ["11111111-2222-4333-8444-555555555555"])
    def test_unknown_references_find_nothing(
        self,
        api: Api,
        database: Database,
        workspace: Workspace,
        registration: int,
        amina: int,
        name: str,
        reference: str,
    ) -> None:
        add_run(database, workspace, registration, amina)

        assert found(api, **{name: reference}) == []
        assert found(api, **{name: ""}) != []


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
