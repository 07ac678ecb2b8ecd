"""`/api/v2/flow_starts.json` over HTTP."""

from typing import Any

import pytest
from sqlalchemy import func, select, update

from persistence.database import Database
from persistence.sql.columns import new_uuid
from persistence.tables.contacts import contact, contact_urn, group
from persistence.tables.flows import flow, flow_start, flow_start_contact
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_contact
from tests.factories import make_named
from tests.run_rows import add_flow, add_people, add_start, uuid_of

PATH = "/api/v2/flow_starts.json"


@pytest.fixture
def registration(database: Database, workspace: Workspace) -> str:
    return uuid_of(database, flow, add_flow(database, workspace))


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> str:
    return uuid_of(database, contact, add_contact(database, workspace))


def count(database: Database, table: Any) -> int:
    with database.reading() as tx:
        return tx.execute(select(func.count()).select_from(table)).scalar_one()


class TestCreateFlowStart:
    def test_a_start_is_accepted_as_pending_and_wakes_the_workers(
        self, api: Api, database: Database, workspace: Workspace, registration: str, amina: str, woken: list[str]
    ) -> None:
        (reporters,) = make_named(database, workspace, group, ["Reporters"])

        response = api.post(
            PATH, {"flow": registration, "contacts": [amina], "groups": [reporters], "params": {"first_name": "Amina"}}
        )

        record = response.json()
        moment = record["created_on"]
        assert response.status_code == 201
        assert record == {
            "uuid": record["uuid"],
            "id": record["id"],
            "flow": {"uuid": registration, "name": "Registration"},
            "status": "pending",
            "progress": {"total": -1, "started": 0},
            "groups": [{"uuid": reporters, "name": "Reporters"}],
            "contacts": [{"uuid": amina, "name": "Amina"}],
            "query": None,
            "params": {"first_name": "Amina"},
            "extra": {"first_name": "Amina"},
            "restart_participants": True,
            "exclude_active": False,
            "error": None,
            "created_by": {"email": record["created_by"]["email"], "name": "Administrator Tester"},
            "created_on": moment,
            "modified_on": moment,
        }
        assert "starts" in woken
        assert api.results(PATH) == [record]

    def test_a_query_alone_names_who_is_started(self, api: Api, registration: str) -> None:
        record = api.post(PATH, {"flow": registration, "query": 'name = "Amina"'}).json()

        assert (record["query"], record["contacts"], record["status"]) == ('name = "Amina"', [], "pending")

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("query", "said"),
        [
            ("nothing = 1", "can't resolve 'nothing' to attribute, scheme or field (character 0)."),
            ("x" * 1001, "At most 1000 characters."),
        ],
    )
    def test_a_bad_query_is_refused_by_its_field(
        self, api: Api, database: Database, registration: str, query: str, said: str
    ) -> None:
        response = api.post(PATH, {"flow": registration, "query": query})

        assert (response.status_code, response.json()) == (400, {"query": [said]})
        assert count(database, flow_start) == 0

    def test_a_query_needs_a_token_that_may_see_contacts(self, api: Api, registration: str) -> None:
        limited = api.limited_to("flows")

        assert limited.post(PATH, {"flow": registration, "query": "age > 18"}).status_code == 403

    def test_truth_values_may_be_numbers(self, api: Api, registration: str, amina: str) -> None:
        body = {"flow": registration, "contacts": [amina], "restart_participants": 0, "exclude_active": 1}

        record = api.post(PATH, body).json()

        assert (record["restart_participants"], record["exclude_active"]) == (False, True)

    def test_an_address_becomes_a_contact_that_is_not_shown(
        self, api: Api, database: Database, registration: str
    ) -> None:
        record = api.post(PATH, {"flow": registration, "urns": ["tel:+250788000333", "tel:0788000333"]}).json()

        assert record["contacts"] == []
        with database.reading() as tx:
            owner = select(contact_urn.c.contact_id).where(contact_urn.c.path == "+250788000333")
            named = select(flow_start_contact.c.contact_id, flow_start_contact.c.is_named)
            assert tx.execute(named).all() == [(tx.execute(owner).scalar_one(), False)]

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("given", "shown"),
        [
            ({}, None),
            ({"params": None}, None),
            ({"params": {}}, {}),
            ({"extra": {"a": [1, None, {"b": "c"}]}}, {"a": [1, None, {"b": "c"}]}),
            ({"params": {"a": 1}, "extra": {"b": 2}}, {"a": 1}),
            ({"params": None, "extra": {"b": 2}}, {"b": 2}),
        ],
    )
    def test_params_win_over_their_older_name(
        self, api: Api, registration: str, amina: str, given: dict[str, Any], shown: Any
    ) -> None:
        record = api.post(PATH, {"flow": registration, "contacts": [amina], **given}).json()

        assert (record["params"], record["extra"]) == (shown, shown)

    @pytest.mark.together
    @pytest.mark.parametrize("name", ["params", "extra"])
    def test_params_are_kept_as_they_are_given(self, api: Api, registration: str, amina: str, name: str) -> None:
        given = {" key ": "  text ", "inner": [" a ", {"b": "\n"}]} | {f"{number:x}": 1 for number in range(1100)}

        record = api.post(PATH, {"flow": f" {registration} ", "contacts": [amina], name: given}).json()

        assert record["params"] == given

    @pytest.mark.together
    @pytest.mark.parametrize(("length", "status"), [(10_000, 201), (10_001, 400)])
    @pytest.mark.parametrize("name", ["params", "extra"])
    def test_params_have_at_most_10000_characters(
        self, api: Api, registration: str, amina: str, name: str, length: int, status: int
    ) -> None:
        params = {"a": "ü" * (length - len('{"a":""}'))}

        response = api.post(PATH, {"flow": registration, "contacts": [amina], name: params})

        assert response.status_code == status
        if status == 400:
            assert list(response.json()) == [name]

    @pytest.mark.parametrize("name", ["urns", "contacts", "groups"])
    def test_a_list_has_at_most_100_entries(
        self, api: Api, database: Database, workspace: Workspace, registration: str, name: str
    ) -> None:
        entries = {
            "urns": [f"tel:+2507880{number:05}" for number in range(101)],
            "contacts": [uuid_of(database, contact, one) for one in add_people(database, workspace, 101)],
            "groups": make_named(database, workspace, group, [f"Group {number}" for number in range(101)]),
        }[name]

        assert api.post(PATH, {"flow": registration, name: entries[:100]}).status_code == 201
        assert list(api.post(PATH, {"flow": registration, name: entries}).json()) == [name]

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"contacts": []}, "non_field_errors"),
            ({"contacts": None}, "contacts"),
            ({"contacts": [new_uuid()]}, "contacts"),
            ({"contacts": [""]}, "contacts"),
            ({"groups": ["Nobody"]}, "groups"),
            ({"urns": ["tel:1"]}, "urns"),
            ({"urns": ["tel:+250788000999", "nonsense"]}, "urns"),
            ({"flow": new_uuid()}, "flow"),
            ({"flow": "Registration"}, "flow"),
            ({"flow": None}, "flow"),
            ({"flow": "", "params": {}}, "flow"),
            ({"params": []}, "params"),
            ({"params": "x"}, "params"),
            ({"extra": 7}, "extra"),
            ({"restart_participants": "yes"}, "restart_participants"),
            ({"exclude_active": 2}, "exclude_active"),
        ],
    )
    def test_bad_input_is_refused_by_field_and_changes_nothing(
        self, api: Api, database: Database, registration: str, amina: str, change: dict[str, Any], field: str
    ) -> None:
        response = api.post(PATH, {"flow": registration, "contacts": [amina], **change})

        assert (response.status_code, list(response.json())) == (400, [field])
        assert (count(database, flow_start), count(database, contact)) == (0, 1)

    def test_a_missing_flow_is_refused_by_field(self, api: Api, amina: str) -> None:
        assert api.post(PATH, {"contacts": [amina]}).json() == {"flow": ["A value is required."]}

    def test_an_archived_flow_is_refused(self, api: Api, database: Database, workspace: Workspace, amina: str) -> None:
        archived = uuid_of(database, flow, add_flow(database, workspace, "Old", is_archived=True))

        response = api.post(PATH, {"flow": archived, "contacts": [amina]})

        assert (response.status_code, response.json()) == (400, {"flow": ["This flow is archived."]})


class TestListFlowStarts:
    @pytest.fixture
    def starts(self, database: Database, workspace: Workspace) -> list[int]:
        flow_id = add_flow(database, workspace)
        return [add_start(database, workspace, flow_id) for _ in range(3)]

    def test_starts_come_by_their_last_change_in_either_direction(
        self, api: Api, database: Database, starts: list[int]
    ) -> None:
        first, second, third = starts
        with database.writing() as tx:
            tx.execute(update(flow_start).where(flow_start.c.id == first).values(modified_on=tx.now))

        assert [one["id"] for one in api.results(PATH)] == [first, third, second]
        assert [one["id"] for one in api.results(PATH, reverse="1")] == [second, third, first]

    def test_filters_choose_and_combine(self, api: Api, starts: list[int]) -> None:
        third, second, first = api.results(PATH)
        changed = second["modified_on"]

        def found(**query: Any) -> list[dict[str, Any]]:
            return api.results(PATH, **query)

        assert found(uuid=first["uuid"]) == [first]
        assert found(id=first["id"]) == [first]
        assert found(id=first["uuid"].upper()) == [first]
        assert found(before=changed) == [second, first]
        assert found(after=changed) == [third, second]
        assert found(before=changed, after=changed, id=second["id"]) == [second]
        assert found(id=first["id"], uuid=second["uuid"]) == []
        assert found(id=first["id"], after=changed) == []
        assert found(id="9999999999") == found(uuid=new_uuid()) == []

    def test_the_starts_of_a_flow_say_who_started_it(
        self, api: Api, database: Database, workspace: Workspace, starts: list[int]
    ) -> None:
        survey = uuid_of(database, flow, add_flow(database, workspace, "Survey"))
        editor = api.as_role("editor")
        made = editor.post(PATH, {"flow": survey, "query": "language = kin"}).json()

        assert api.results(PATH, flow=survey) == [made]
        assert api.results(PATH, flow=new_uuid()) == []
        assert made["created_by"]["name"] == "Editor Tester"
        assert {str(each["created_by"]) for each in api.results(PATH)} == {str(made["created_by"]), "None"}
        assert len(api.results(PATH)) == len(starts) + 1

    @pytest.mark.parametrize(
        ("start_type", "is_shown"),
        [
            ("api", True),
            ("api_v1", True),
            ("manual", True),
            ("trigger", False),
            ("campaign", False),
            ("flow_action", False),
        ],
    )
    def test_only_starts_of_users_are_shown(
        self, api: Api, database: Database, workspace: Workspace, start_type: str, is_shown: bool
    ) -> None:
        add_start(database, workspace, add_flow(database, workspace), start_type=start_type)

        assert len(api.results(PATH)) == is_shown


class TestInterruptFlowStarts:
    """What becomes of their runs is in tests/worker/flows/test_started_runs.py."""

    @pytest.mark.parametrize("action", ["interrupt", "interrupt_runs"])
    def test_all_of_them_or_none_are_interrupted(
        self, api: Api, database: Database, workspace: Workspace, action: str
    ) -> None:
        flow_id = add_flow(database, workspace)
        first, second = (uuid_of(database, flow_start, add_start(database, workspace, flow_id)) for _ in range(2))
        path = "/api/v2/flow_start_actions.json"

        response = api.post(path, {"starts": [first, new_uuid()], "action": action})
        assert (response.status_code, list(response.json())) == (400, ["starts"])
        assert {each["status"] for each in api.results(PATH)} == {"pending"}

        for _ in range(2):
            assert api.post(path, {"starts": [first, second, first], "action": action}).status_code == 204
        assert {each["status"] for each in api.results(PATH)} == {"interrupted"}
