"""`/api/v2/runs.json` over HTTP."""

from typing import Any

import pytest
from sqlalchemy import event, update

from persistence.database import Database
from persistence.runs import records
from persistence.sql.columns import new_uuid
from persistence.tables.accounts import workspace as workspaces
from persistence.tables.contacts import contact
from persistence.tables.flows import flow, flow_run, flow_start
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_contact
from tests.run_rows import NODE, add_flow, add_people, add_run, add_start, moment, uuid_of

PATH, CONTACTS = "/api/v2/runs.json", "/api/v2/contacts.json"
VALUE = {
    "name": "Has Phone",
    "value": "yes",
    "category": "Yes",
    "node": NODE,
    "time": "2026-03-02T08:10:11.000000Z",
    "input": "Yes I do",
}
NEXT = "4d5f4a0e-2f0b-4a4e-b1f3-2a1b6e9d8c78"
WAITED = (NODE, NEXT)
STEP = {"node": NODE, "time": "2026-03-02T08:09:00.100000Z"}


@pytest.fixture
def registration(database: Database, workspace: Workspace) -> int:
    return add_flow(database, workspace)


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> int:
    return add_contact(database, workspace)


def found(api: Api, **query: Any) -> list[int]:
    return [record["id"] for record in api.results(PATH, **query)]


def test_a_run_shows_where_it_came_from_and_what_was_said(
    api: Api, database: Database, workspace: Workspace, registration: int, amina: int
) -> None:
    start_id = add_start(database, workspace, registration, [amina])
    run_id = add_run(
        database,
        workspace,
        registration,
        amina,
        start_id=start_id,
        responded=True,
        results={"has_phone": VALUE},
        path=[STEP],
        visits=[{"type": "R", "left_on": None, "results": []}],
        created_on=moment("2026-03-02T08:09:00+00:00"),
        modified_on=moment("2026-03-02T08:10:12+00:00"),
        exited_on=moment("2026-03-02T08:10:12+00:00"),
    )

    (record,) = api.results(PATH)

    assert record == {
        "uuid": uuid_of(database, flow_run, run_id),
        "id": run_id,
        "flow": {"uuid": uuid_of(database, flow, registration), "name": "Registration"},
        "contact": {
            "uuid": uuid_of(database, contact, amina),
            "name": "Amina",
            "urn": "tel:+254722000111",
            "urn_display": "0722 000111",
        },
        "start": {"uuid": uuid_of(database, flow_start, start_id)},
        "responded": True,
        "path": [STEP],
        "values": {"has_phone": VALUE},
        "created_on": "2026-03-02T08:09:00.000000Z",
        "modified_on": "2026-03-02T08:10:12.000000Z",
        "exited_on": "2026-03-02T08:10:12.000000Z",
        "exit_type": "completed",
    }


@pytest.mark.parametrize(
    ("status", "exit_type"),
    [
        ("active", None),
        ("waiting", None),
        ("completed", "completed"),
        ("interrupted", "interrupted"),
        ("expired", "expired"),
        ("failed", "interrupted"),
    ],
)
def test_the_way_a_run_ended_is_one_of_three(
    api: Api,
    database: Database,
    workspace: Workspace,
    registration: int,
    amina: int,
    status: str,
    exit_type: str | None,
) -> None:
    add_run(database, workspace, registration, amina, status)

    (record,) = api.results(PATH)

    assert record["exit_type"] == exit_type
    assert (record["exited_on"] is None) == (exit_type is None)


def test_runs_come_by_their_last_change_in_either_direction(
    api: Api, database: Database, workspace: Workspace, registration: int, amina: int
) -> None:
    first, second, third = (add_run(database, workspace, registration, amina) for _ in range(3))
    with database.writing() as tx:
        tx.execute(update(flow_run).where(flow_run.c.id == first).values(modified_on=tx.now))

    assert found(api) == [first, third, second]
    assert found(api, reverse="true") == [second, third, first]


class TestFilters:
    @pytest.fixture
    def runs(self, database: Database, workspace: Workspace, registration: int, amina: int) -> list[int]:
        """Amina answered in two flows, another contact answered in neither."""
        (other,) = add_people(database, workspace, 1)
        survey = add_flow(database, workspace, "Survey")
        return [
            add_run(database, workspace, registration, amina, responded=True),
            add_run(database, workspace, survey, amina, responded=True),
            add_run(database, workspace, registration, other),
        ]

    def test_each_filter_alone_finds_its_runs(
        self, api: Api, database: Database, registration: int, amina: int, runs: list[int]
    ) -> None:
        first, second, third = runs
        changed = {record["id"]: record["modified_on"] for record in api.results(PATH)}

        assert found(api, id=second) == [second]
        assert found(api, uuid=uuid_of(database, flow_run, first)) == [first]
        assert found(api, flow=uuid_of(database, flow, registration)) == [third, first]
        assert found(api, contact=uuid_of(database, contact, amina)) == [second, first]
        assert found(api, responded="true") == [second, first]
        assert found(api, responded="false") == [third, second, first]
        assert found(api, before=changed[second]) == [second, first]
        assert found(api, after=changed[second]) == [third, second]

    def test_filters_must_all_hold(
        self, api: Api, database: Database, registration: int, amina: int, runs: list[int]
    ) -> None:
        first, second, third = runs
        changed = {record["id"]: record["modified_on"] for record in api.results(PATH)}
        flow_uuid, contact_uuid = uuid_of(database, flow, registration), uuid_of(database, contact, amina)

        assert found(api, flow=flow_uuid, responded="1") == [first]
        assert found(api, contact=contact_uuid, after=changed[second]) == [second]
        assert found(api, id=third, responded="true") == []
        assert found(api, flow=flow_uuid, before=changed[second], after=changed[first]) == [first]

    def test_a_flow_and_a_contact_together_are_refused(
        self, api: Api, database: Database, registration: int, amina: int, runs: list[int]
    ) -> None:
        response = api.get(PATH, flow=uuid_of(database, flow, registration), contact=uuid_of(database, contact, amina))

        assert response.status_code == 400
        assert response.json() == {"detail": "Parameters contact and flow cannot be used together."}

    def test_an_empty_one_of_the_two_counts_as_absent(
        self, api: Api, amina: int, database: Database, runs: list[int]
    ) -> None:
        assert found(api, flow="", contact=uuid_of(database, contact, amina)) == runs[1::-1]

    @pytest.mark.parametrize(
        ("query", "status"),
        [
            ({"flow": new_uuid()}, 200),
            ({"flow": "Registration"}, 400),
            ({"contact": new_uuid()}, 200),
            ({"contact": "nobody"}, 200),
            ({"uuid": "nonsense"}, 400),
            ({"id": "x"}, 400),
            ({"id": "2147483647"}, 200),
            ({"id": "2147483648"}, 200),
            ({"responded": "maybe"}, 400),
            ({"before": "yesterday"}, 400),
            ({"cursor": "bm9uc2Vuc2U"}, 404),
        ],
    )
    def test_what_is_unknown_finds_nothing_and_what_is_malformed_is_refused(
        self, api: Api, runs: list[int], query: dict[str, str], status: int
    ) -> None:
        response = api.get(PATH, **query)

        assert response.status_code == status
        if status == 200:
            assert response.json()["results"] == []


class TestRunsOfAFlow:
    """Filters that need the flow."""

    @pytest.fixture
    def ended(self, database: Database, workspace: Workspace, registration: int, amina: int) -> dict[str, int]:
        """A run in each status, beside one of another flow; those that go on are at different nodes."""
        add_run(database, workspace, add_flow(database, workspace, "Survey"), amina, "waiting", path=[STEP])
        paths = {"active": [STEP], "waiting": [STEP, STEP | {"node": NEXT}], "expired": [STEP]}
        return {
            status: add_run(database, workspace, registration, amina, status, path=paths.get(status, []))
            for status in ("active", "waiting", "completed", "interrupted", "expired", "failed")
        }

    def test_runs_are_found_by_how_they_ended_and_by_the_node_where_they_are(
        self, api: Api, database: Database, registration: int, ended: dict[str, int]
    ) -> None:
        of_flow = {"flow": uuid_of(database, flow, registration)}

        assert found(api, status="active", **of_flow) == [ended["waiting"], ended["active"]]
        assert found(api, status="active", reverse="true", **of_flow) == [ended["active"], ended["waiting"]]
        assert found(api, status="completed", **of_flow) == [ended["completed"]]
        assert found(api, status="interrupted", **of_flow) == [ended["failed"], ended["interrupted"]]
        assert found(api, status="expired", **of_flow) == [ended["expired"]]
        assert found(api, node=NODE, **of_flow) == [ended["active"]]
        assert found(api, node=NEXT, status="active", **of_flow) == [ended["waiting"]]
        assert found(api, node=NEXT, status="completed", **of_flow) == []

    def test_each_of_these_filters_has_its_index(
        self, api: Api, database: Database, registration: int, ended: dict[str, int]
    ) -> None:
        of_flow = {"flow": uuid_of(database, flow, registration)}
        for index, query in (("ix_flow_run_end", {"status": "active"}), ("ix_flow_run_node", {"node": NODE})):
            assert index in plan_of(api, database, **query, **of_flow)

    def test_those_who_wait_at_a_node_are_found_and_written_to_by_a_contact_query_with_its_index(
        self, api: Api, database: Database, workspace: Workspace, registration: int, ended: dict[str, int]
    ) -> None:
        bosco = add_contact(database, workspace, "+254722000112", "Bosco")
        add_run(database, workspace, registration, bosco, "waiting", path=[STEP])
        add_run(database, workspace, registration, bosco, "completed", path=[STEP | {"node": NEXT}])

        names = {node: [each["name"] for each in api.results(CONTACTS, query=f"waits_at = {node}")] for node in WAITED}
        assert names == {NODE: ["Bosco", "Amina"], NEXT: ["Amina"]}
        plan = plan_of(api, database, CONTACTS, query=f"waits_at = {NODE}")
        assert "ix_flow_run_node" in plan
        asked = {"text": {"eng": "Still there?"}, "query": f"waits_at = {NODE}"}
        assert api.post("/api/v2/broadcast_previews.json", asked).json()["recipients"] == 2

    def test_runs_are_found_by_a_result_and_its_category(
        self, api: Api, database: Database, workspace: Workspace, registration: int, amina: int
    ) -> None:
        of_flow = {"flow": uuid_of(database, flow, registration)}
        yes, no, odd, silent = (
            add_run(database, workspace, registration, amina, results=results)
            for results in (
                {"has_phone": VALUE},
                {"has_phone": VALUE | {"category": "No"}},
                {"has_phone": VALUE | {"value": "\x00 \\u0000", "category": None}},
                {},
            )
        )

        assert found(api, result="has_phone", category="Yes", **of_flow) == [yes]
        assert found(api, result="Has Phone", **of_flow) == [odd, no, yes]
        assert found(api, result='has"phone', category="Yes", **of_flow) == [yes]
        assert found(api, result="age", **of_flow) == []
        assert silent in found(api, **of_flow)

    def test_results_are_looked_for_among_the_last_runs_or_those_until_a_moment(
        self,
        api: Api,
        database: Database,
        workspace: Workspace,
        registration: int,
        amina: int,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(records, "MOST_LOOKED_AT", 2)
        asked = {"flow": uuid_of(database, flow, registration), "result": "has_phone", "category": "Yes"}
        first, second, third = (
            add_run(database, workspace, registration, amina, results={"has_phone": VALUE}) for _ in range(3)
        )
        changed = {record["id"]: record["modified_on"] for record in api.results(PATH)}

        assert found(api, **asked) == [third, second]
        assert found(api, before=changed[second], **asked) == [second, first]

    @pytest.mark.parametrize(
        "query", [{"status": "active"}, {"node": NODE}, {"result": "age"}, {"result": "age", "category": "Adult"}]
    )
    def test_they_are_refused_without_it(self, api: Api, query: dict[str, str]) -> None:
        response = api.get(PATH, **query)

        assert response.status_code == 400
        assert response.json()["detail"] == "Parameters status, node, result and category need the parameter flow."

    def test_a_category_without_its_result_is_refused(self, api: Api, database: Database, registration: int) -> None:
        response = api.get(PATH, flow=uuid_of(database, flow, registration), category="Yes")

        assert response.json()["detail"] == "Parameter category needs the parameter result."


def plan_of(api: Api, database: Database, path: str = PATH, **query: Any) -> str:
    """How the database finds the first page."""
    seen: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, text: str, values: Any, *_rest: Any) -> None:
        seen.append((text, values))

    event.listen(database.engine, "before_cursor_execute", note)
    api.results(path, **query)
    event.remove(database.engine, "before_cursor_execute", note)
    (page,) = (each for each in seen if "picked" in each[0])
    with database.engine.connect() as connection:
        if database.sqlite:
            return str(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {page[0]}", page[1]).all())
        connection.exec_driver_sql("SET enable_seqscan = off")
        return str(connection.exec_driver_sql(f"EXPLAIN {page[0]}", page[1]).all())


def test_paths_are_left_out_on_request(
    api: Api, database: Database, workspace: Workspace, registration: int, amina: int
) -> None:
    visit = {"type": "A", "left_on": None, "results": []}
    add_run(database, workspace, registration, amina, path=[STEP], visits=[visit])

    assert api.results(PATH, paths="false")[0]["path"] == []
    assert api.results(PATH, paths="true")[0]["path"] == [STEP]


def test_an_anonymous_workspace_hides_addresses(
    api: Api, database: Database, workspace: Workspace, registration: int, amina: int
) -> None:
    add_run(database, workspace, registration, amina)
    with database.writing() as tx:
        tx.execute(update(workspaces).where(workspaces.c.id == workspace.id).values(is_anonymous=True))
    anonymous = api.as_role("editor")

    for paths in ("true", "false"):
        (record,) = anonymous.results(PATH, paths=paths)
        assert (record["contact"]["urn"], record["contact"]["urn_display"]) == ("tel:********", "********")


def test_a_contact_without_address_shows_none(
    api: Api, database: Database, workspace: Workspace, registration: int
) -> None:
    (person,) = add_people(database, workspace, 1)
    add_run(database, workspace, registration, person)

    (record,) = api.results(PATH)

    assert (record["contact"]["name"], record["contact"]["urn"], record["contact"]["urn_display"]) == (None, None, None)
