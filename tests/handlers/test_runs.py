"""`runs.json` of both generations over HTTP; how runs start is in v1/test_run_starts.py and v2/test_flow_starts.py."""

from typing import Any

import pytest
from sqlalchemy import event, select, update

from persistence.database import Database
from persistence.runs import records
from persistence.sql.columns import new_uuid
from persistence.tables.accounts import workspace as workspaces
from persistence.tables.contacts import contact, group
from persistence.tables.flows import flow, flow_run, flow_session, flow_start
from persistence.workspaces.records import Workspace
from testbed.poolers import without_settings
from tests.api import Api
from tests.channel_rows import add_channel, add_contact, add_outgoing
from tests.factories import make_named
from tests.run_rows import (
    NODE,
    add_flow,
    add_people,
    add_run,
    add_start,
    add_waiting,
    moment,
    status_counts,
    uuid_of,
)

V1, PATH, CONTACTS = "/api/v1/runs.json", "/api/v2/runs.json", "/api/v2/contacts.json"
EARLIER, LATER = "2026-03-02T08:10:00.000000Z", "2026-03-02T08:11:00.000000Z"
VALUE = {
    "name": "Has Phone",
    "value": "yes",
    "category": "Yes",
    "node": NODE,
    "time": EARLIER,
    "input": "Yes I do",
}
NEXT = "4d5f4a0e-2f0b-4a4e-b1f3-2a1b6e9d8c78"
WAITED = (NODE, NEXT)
ADDRESS = {"urn": "tel:+254722000111", "urn_display": "0722 000111"}
STEP = {"node": NODE, "time": EARLIER}


@pytest.fixture
def registration(database: Database, workspace: Workspace) -> int:
    return add_flow(database, workspace)


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> int:
    return add_contact(database, workspace)


def found(api: Api, **query: Any) -> list[int]:
    return [record["id"] for record in api.results(PATH, **query)]


def found_in_v1(api: Api, **query: Any) -> list[int]:
    return [record["run"] for record in api.results(V1, **query)]


class TestShownRun:
    def test_a_run_shows_in_generation_1_what_was_said_at_each_step_and_in_generation_2_where_it_came_from(
        self, api: Api, database: Database, workspace: Workspace, registration: int, amina: int
    ) -> None:
        first, second = VALUE, VALUE | {"name": "Age", "value": "12", "time": LATER, "input": "I am 12"}
        path = [STEP, {"node": NEXT, "time": LATER}]
        start_id = add_start(database, workspace, registration, [amina])
        run_id = add_run(
            database,
            workspace,
            registration,
            amina,
            "expired",
            start_id=start_id,
            responded=True,
            results={"age": second, "has_phone": first},
            path=path,
            visits=[
                {"type": "R", "left_on": EARLIER, "results": [second, first]},
                {"type": "A", "left_on": None, "results": []},
            ],
            created_on=moment("2026-03-02T08:09:00+00:00"),
            modified_on=moment("2026-03-02T10:00:00+00:00"),
            expires_on=moment("2026-03-02T08:59:00+00:00"),
            exited_on=moment("2026-03-02T09:00:00+00:00"),
        )
        flow_uuid, contact_uuid = uuid_of(database, flow, registration), uuid_of(database, contact, amina)
        times = {"created_on": "2026-03-02T08:09:00.000000Z", "modified_on": "2026-03-02T10:00:00.000000Z"}

        (older,), (newer,) = api.results(V1), api.results(PATH)

        shown = {"node": NODE, "category": "Yes"}
        said = {"label": "Has Phone", "text": "Yes I do", "value": "yes", "rule_value": "yes", "time": EARLIER}
        age = {"label": "Age", "text": "I am 12", "value": 12, "rule_value": "12", "time": LATER}
        step = {"node": NODE, "arrived_on": EARLIER, "type": "R", "left_on": EARLIER}
        last = {"node": NEXT, "arrived_on": LATER, "type": "A", "left_on": None, "text": None, "value": None}
        assert older == {
            "run": run_id,
            "flow_uuid": flow_uuid,
            "flow": registration,
            "contact": contact_uuid,
            "completed": False,
            "values": [shown | said, shown | age],
            "steps": [step | {"text": "Yes I do", "value": "yes"}, last],
            **times,
            "expires_on": "2026-03-02T08:59:00.000000Z",
            "expired_on": "2026-03-02T09:00:00.000000Z",
        }
        assert newer == {
            "uuid": uuid_of(database, flow_run, run_id),
            "id": run_id,
            "flow": {"uuid": flow_uuid, "name": "Registration"},
            "contact": {"uuid": contact_uuid, "name": "Amina"} | ADDRESS,
            "start": {"uuid": uuid_of(database, flow_start, start_id)},
            "responded": True,
            "path": path,
            "values": {"age": second, "has_phone": first},
            **times,
            "exited_on": "2026-03-02T09:00:00.000000Z",
            "exit_type": "expired",
        }

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("text", "shown"),
        [("12", 12), ("-1.5", -1.5), ("0", 0), ("007", "007"), ("+250788", "+250788"), ("1e5", "1e5"), ("", "")],
    )
    def test_only_plain_numbers_are_numbers_in_generation_1(
        self, api: Api, database: Database, workspace: Workspace, registration: int, amina: int, text: str, shown: Any
    ) -> None:
        visit = {"type": "R", "left_on": None, "results": [VALUE | {"value": text}]}
        add_run(database, workspace, registration, amina, path=[STEP], visits=[visit])

        assert api.results(V1)[0]["values"][0]["value"] == shown

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
        self,
        api: Api,
        database: Database,
        workspace: Workspace,
        registration: int,
        amina: int,
        status: str,
        exit_type: str | None,
    ) -> None:
        add_run(database, workspace, registration, amina, status)

        (older,), (newer,) = api.results(V1), api.results(PATH)

        assert newer["exit_type"] == exit_type
        assert (newer["exited_on"] is None) == (exit_type is None)
        assert older["completed"] is (exit_type == "completed")

    def test_paths_are_left_out_on_request(
        self, api: Api, database: Database, workspace: Workspace, registration: int, amina: int
    ) -> None:
        visit = {"type": "A", "left_on": None, "results": []}
        add_run(database, workspace, registration, amina, path=[STEP], visits=[visit])

        assert api.results(PATH, paths="false")[0]["path"] == []
        assert api.results(PATH, paths="true")[0]["path"] == [STEP]

    def test_an_anonymous_workspace_hides_addresses(
        self, api: Api, database: Database, workspace: Workspace, registration: int, amina: int
    ) -> None:
        add_run(database, workspace, registration, amina)
        with database.writing() as tx:
            tx.execute(update(workspaces).where(workspaces.c.id == workspace.id).values(is_anonymous=True))
        anonymous = api.as_role("editor")

        for paths in ("true", "false"):
            (record,) = anonymous.results(PATH, paths=paths)
            assert (record["contact"]["urn"], record["contact"]["urn_display"]) == ("tel:********", "********")

    def test_a_contact_without_address_shows_none(
        self, api: Api, database: Database, workspace: Workspace, registration: int
    ) -> None:
        (person,) = add_people(database, workspace, 1)
        add_run(database, workspace, registration, person)

        shown = api.results(PATH)[0]["contact"]

        assert (shown["name"], shown["urn"], shown["urn_display"]) == (None, None, None)


class TestFilters:
    """Each filter alone is tested by tests/contract/test_filters.py."""

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

    def test_filters_of_generation_1_must_all_hold_and_each_takes_several_values(
        self, api: Api, database: Database, workspace: Workspace, registration: int, amina: int, runs: list[int]
    ) -> None:
        first, second, third = runs
        changed = {record["run"]: record["modified_on"] for record in api.results(V1)}
        flow_uuid, amina_uuid = uuid_of(database, flow, registration), uuid_of(database, contact, amina)
        survey_uuid = api.results(V1, run=second)[0]["flow_uuid"]
        group_uuid, _ = make_named(database, workspace, group, ["Reporters", "Nobody"])
        api.post("/api/v1/contact_actions.json", {"contacts": [amina_uuid], "action": "add", "group_uuid": group_uuid})

        assert found_in_v1(api, run=f"{first},{third}") == [third, first]
        assert found_in_v1(api, flow_uuid=f"{survey_uuid},{flow_uuid}") == [third, second, first]
        assert found_in_v1(api, group_uuids=group_uuid) == [second, first]
        assert found_in_v1(api, group_uuids=new_uuid()) == []
        assert found_in_v1(api, flow_uuid=flow_uuid, contact=amina_uuid) == [first]
        assert found_in_v1(api, flow_uuid=flow_uuid, group_uuids=group_uuid, after=changed[second]) == []
        assert found_in_v1(api, run=third, contact=amina_uuid) == []
        assert found_in_v1(api, flow_uuid="", contact="", group_uuids="") == [third, second, first]

    def test_filters_of_generation_2_must_all_hold(
        self, api: Api, database: Database, registration: int, amina: int, runs: list[int]
    ) -> None:
        first, second, third = runs
        changed = {record["id"]: record["modified_on"] for record in api.results(PATH)}
        flow_uuid, contact_uuid = uuid_of(database, flow, registration), uuid_of(database, contact, amina)

        assert found(api, responded="true") == [second, first]
        assert found(api, responded="false") == [third, second, first]
        assert found(api, flow=flow_uuid, responded="1") == [first]
        assert found(api, contact=contact_uuid, after=changed[second]) == [second]
        assert found(api, contact="nobody") == found(api, id=third, responded="true") == []
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

    @pytest.mark.together
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
        seen.append((without_settings(text), values))

    event.listen(database.engine, "before_cursor_execute", note)
    api.results(path, **query)
    event.remove(database.engine, "before_cursor_execute", note)
    (page,) = (each for each in seen if "picked" in each[0])
    with database.engine.connect() as connection:
        if database.sqlite:
            return str(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {page[0]}", page[1]).all())
        connection.exec_driver_sql("SET enable_seqscan = off")
        return str(connection.exec_driver_sql(f"EXPLAIN {page[0]}", page[1]).all())


def test_runs_started_in_generation_1_are_a_start_of_generation_2(
    api: Api, database: Database, registration: int, amina: int
) -> None:
    add_channel(database, api.workspace)
    flow_uuid = uuid_of(database, flow, registration)

    response = api.post(V1, {"flow_uuid": flow_uuid, "phone": ["+254722000111"], "extra": {"clinic": "Lakeside"}})

    (start,) = api.results("/api/v2/flow_starts.json")
    (run,) = api.results(PATH)
    assert (start["flow"]["uuid"], start["params"]) == (flow_uuid, {"clinic": "Lakeside"})
    assert run["start"] == {"uuid": start["uuid"]}
    assert [record["run"] for record in response.json()] == [run["id"]]


@pytest.mark.parametrize(
    ("path", "action", "ending"),
    [
        ("/api/v2/contact_actions.json", "interrupt", "interrupted"),
        ("/api/v1/contact_actions.json", "expire", "expired"),
        ("/api/v2/contact_actions.json", "block", "interrupted"),
        ("/api/v1/contact_actions.json", "block", "interrupted"),
    ],
)
def test_an_action_of_either_generation_ends_the_contacts_run_in_both(
    api: Api,
    database: Database,
    workspace: Workspace,
    registration: int,
    amina: int,
    path: str,
    action: str,
    ending: str,
) -> None:
    session_id, _ = add_waiting(database, workspace, registration, amina)
    uuid = uuid_of(database, contact, amina)
    before = api.results(CONTACTS, uuid=uuid)[0]["flow"]

    response = api.post(path, {"contacts": [uuid], "action": action})

    assert response.status_code == 204
    assert before == {"uuid": uuid_of(database, flow, registration), "name": "Registration"}
    assert api.results(CONTACTS, uuid=uuid)[0]["flow"] is None
    (run,) = api.results(PATH)
    assert (run["exit_type"], run["exited_on"]) == (ending, run["modified_on"])
    older = api.results(V1)[0]
    assert (older["completed"], older["expired_on"] is not None) == (False, ending == "expired")
    assert status_counts(database, registration) == {ending: 1}
    with database.reading() as tx:
        status = tx.execute(select(flow_session.c.status).where(flow_session.c.id == session_id)).scalar_one()
    assert status == ending


@pytest.mark.parametrize("path", [CONTACTS, "/api/v1/contacts.json"])
def test_the_runs_of_a_deleted_contact_are_gone_in_both(
    api: Api, database: Database, workspace: Workspace, registration: int, amina: int, path: str
) -> None:
    add_waiting(database, workspace, registration, amina)
    add_run(database, workspace, registration, amina)

    assert api.delete(path, uuid=uuid_of(database, contact, amina)).status_code == 204

    assert api.results(PATH) == api.results(V1) == []
    assert status_counts(database, registration) == {}
    with database.reading() as tx:
        assert tx.execute(select(flow_run.c.id)).all() == tx.execute(select(flow_session.c.id)).all() == []


def test_archiving_messages_ends_no_run(
    api: Api, database: Database, workspace: Workspace, registration: int, amina: int
) -> None:
    add_waiting(database, workspace, registration, amina)
    uuid = uuid_of(database, contact, amina)

    for path, action in (("/api/v2/contact_actions.json", "archive"), ("/api/v1/contact_actions.json", "archive")):
        assert api.post(path, {"contacts": [uuid], "action": action}).status_code == 204

    assert api.results(PATH)[0]["exit_type"] is None


def test_a_message_shows_its_flow_in_both(
    api: Api, database: Database, workspace: Workspace, registration: int, amina: int
) -> None:
    channel_id = add_channel(database, workspace)

    def add(**values: Any) -> int:
        with database.reading() as tx:
            return add_outgoing(database, workspace, channel_id, amina, tx.now, "sent", **values)

    of_flow, other = add(flow_id=registration), add()

    newer = {record["id"]: record["flow"] for record in api.results("/api/v2/messages.json")}
    older = {record["id"]: record["type"] for record in api.results("/api/v1/messages.json")}
    assert newer == {of_flow: {"uuid": uuid_of(database, flow, registration), "name": "Registration"}, other: None}
    assert older == {of_flow: "F", other: "I"}
    assert [record["id"] for record in api.results("/api/v1/messages.json", flow=registration)] == [of_flow]
