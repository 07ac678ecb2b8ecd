"""`/api/v2/workspace_figures.json` and `/api/v2/flow_figures.json` over HTTP."""

from typing import Any

import pytest
from sqlalchemy import select, update

from persistence.database import Database
from persistence.resthooks import ensure_resthook
from persistence.runs import results
from persistence.runs.runs import RunState, save_runs
from persistence.tables.contacts import contact, field
from persistence.tables.deliveries import webhook_trouble
from persistence.tables.flows import flow, flow_run
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_channel, change_channel
from tests.contract.filled_workspace import fill_workspace
from tests.factories import make_contact, make_messages
from tests.run_rows import add_flow, add_run, uuid_of

WORKSPACE = "/api/v2/workspace_figures.json"
FLOW = "/api/v2/flow_figures.json"
GROUPS = ("Mothers", "Elders")
ANSWER = {
    "name": "Has Phone",
    "value": "yes",
    "category": "Yes",
    "node": "c2a7b6f0-3f19-4d53-9f39-77a0f4a1a110",
    "time": "2026-03-02T08:10:11.000000Z",
    "input": "Yes I do",
}
NODE, EXIT, NEXT = (f"c2a7b6f0-3f19-4d53-9f39-77a0f4a1a11{n}" for n in range(3))


def test_days_count_messages_by_channel_and_each_contact_once(
    api: Api, database: Database, workspace: Workspace, clock: Any
) -> None:
    amina, bosco = make_contact(database, workspace, "+250788000111"), make_contact(database, workspace)
    channel_id = add_channel(database, workspace)
    for uuid, count in ((amina, 2), (amina, 1), (bosco, 1)):
        make_messages(database, workspace, uuid, count, channel_id=channel_id)
    api.post("/api/v2/messages.json", {"contact": amina, "text": "Hello"})
    clock.advance(days=1)
    make_messages(database, workspace, amina, channel_id=channel_id)

    found = api.get(WORKSPACE, days=2).json()

    counts = [(each["messages_in"], each["messages_out"], each["active_contacts"]) for each in found["days"]]
    assert counts == [(1, 0, 1), (4, 1, 2)]
    (by_channel,) = found["channels"]
    assert [(each["messages_in"], each["messages_out"]) for each in by_channel["days"]] == [(1, 0), (4, 1)]
    assert [each["errors"] for each in by_channel["days"]] == [0, 0]
    assert found["oldest_unsent_on"] is not None and found["oldest_unhandled_on"] is None


def test_a_period_tells_what_was_answered_how_soon_and_what_failed_beside_the_one_before(
    api: Api, database: Database, workspace: Workspace, clock: Any
) -> None:
    channel_id = add_channel(database, workspace)
    amina, bosco, chantal = (
        make_contact(database, workspace, urn) for urn in ("+250788000111", "+250788000112", "+250788000113")
    )

    def come(uuid: str) -> None:
        make_messages(database, workspace, uuid, channel_id=channel_id)

    def answer(uuid: str) -> None:
        assert api.post("/api/v2/messages.json", {"contact": uuid, "text": "Hello"}).status_code == 201

    come(chantal)
    clock.advance(days=8)
    answer(chantal)  # too late
    come(amina)
    clock.advance(seconds=60)
    come(amina)  # waits with the first one
    come(bosco)
    clock.advance(seconds=40)
    answer(amina)
    answer(amina)
    clock.advance(days=1)
    come(amina)  # a broadcast is no answer
    body = {"text": "News", "contacts": [amina, bosco]}
    assert api.post("/api/v2/broadcasts.json", body).status_code == 201
    nobody = make_contact(database, workspace)
    assert api.post("/api/v2/messages.json", {"contact": nobody, "text": "Hello"}).json()["status"] == "failed"

    week, before = (api.get(WORKSPACE, days=7).json()[part] for part in ("period", "period_before"))

    assert week["messages_in"] == 4 and before["messages_in"] == 1
    assert (week["questions"], week["answered"], week["reply_seconds"], week["failed"]) == (3, 1, 100, 1)
    assert (before["questions"], before["answered"], before["reply_seconds"], before["failed"]) == (1, 0, None, 0)
    assert week["is_exact"] and before["is_exact"]


def test_segments_count_where_and_when_they_are_to_be_sent(
    api: Api, database: Database, workspace: Workspace, clock: Any
) -> None:
    amina = make_contact(database, workspace, "+250788000111")
    messages = "/api/v2/messages.json"
    assert api.post(messages, {"contact": amina, "text": "a" * 400}).json()["status"] == "failed"
    add_channel(database, workspace)
    for text in ("a" * 160, "a" * 161):
        assert api.post(messages, {"contact": amina, "text": text}).json()["status"] == "queued"
    clock.advance(days=1)
    api.post(messages, {"contact": amina, "text": "Where? Где?"})

    found = api.get(WORKSPACE, days=2).json()

    assert [each["segments_out"] for each in found["days"]] == [1, 3]
    (by_channel,) = found["channels"]
    assert [each["segments_out"] for each in by_channel["days"]] == [1, 3]


def test_a_ticket_is_timed_to_its_first_reply_and_its_end(
    api: Api, database: Database, workspace: Workspace, clock: Any
) -> None:
    filled = fill_workspace(database, workspace, 1, now=clock.moment)
    ticket, contact = str(filled.first("ticket").uuid), str(filled.first("contact").uuid)
    for seconds in (60, 120):
        clock.advance(seconds=seconds)
        assert api.post("/api/v2/messages.json", {"contact": contact, "text": "Hello"}).status_code == 201
    assert api.post("/api/v2/ticket_actions.json", {"tickets": [ticket], "action": "close"}).status_code == 204

    (today,) = api.get(WORKSPACE, days=1).json()["days"]

    assert (today["tickets_opened"], today["tickets_closed"]) == (1, 1)
    assert (today["first_reply_seconds"], today["closing_seconds"]) == (60, 180)


def test_a_flow_counts_each_exit_and_category_once_and_where_contacts_wait(
    api: Api, database: Database, workspace: Workspace
) -> None:
    filled = fill_workspace(database, workspace, 1)
    flow, contact = filled.first("flow"), filled.first("contact")
    result = {"name": "Age", "value": "20", "category": "Adult", "node": NODE, "time": "t", "input": None}

    def save(exits: list[str], path: list[str], saved: list[dict[str, Any]]) -> None:
        with database.writing() as tx:
            visits = [{"type": "R", "left_on": "t" if left else None, "results": []} for left in exits]
            visits[0]["results"] = saved
            steps = [{"node": node, "time": "t"} for node in path]
            values = {"path": steps, "visits": visits, "exits": exits, "results": {"age": result}}
            run = RunState(NODE, flow.id, contact.id, "waiting", tx.now, **values)
            save_runs(tx, workspace.id, [run])

    save([""], [NODE], [])
    save([EXIT, ""], [NODE, NEXT], [result])
    save([EXIT, ""], [NODE, NEXT], [])

    found = api.get(FLOW, uuid=str(flow.uuid)).json()

    assert found["exits"] == [{"exit": EXIT, "count": 1}]
    assert [(each["key"], each["category"], each["count"]) for each in found["results"]] == [("age", "Adult", 1)]
    assert found["totals"] == [{"key": "age", "category": "Adult", "count": 1}]
    assert {"node": NEXT, "count": 1} in found["waiting"]
    api.post("/api/v2/contact_actions.json", {"contacts": [str(contact.uuid)], "action": "interrupt"})
    with database.writing() as tx:
        tx.execute(update(flow_run).where(flow_run.c.uuid == NODE).values(status="expired"))
    assert {"node": NEXT, "count": 1} in api.get(FLOW, uuid=str(flow.uuid)).json()["left"]


class TestResults:
    """`/api/v2/flow_results.json`."""

    @pytest.fixture
    def survey(self, api: Api, database: Database, workspace: Workspace) -> int:
        """A flow in which five people answered, four with a category, and one did not; three are in groups."""
        api.post("/api/v2/fields.json", {"name": "District", "type": "text"})
        mothers, elders = (api.post("/api/v2/groups.json", {"name": name}).json()["uuid"] for name in GROUPS)
        flow_id = add_flow(database, workspace)
        told = [
            ("Yes", "Gasabo", [mothers, elders]),
            ("Yes", "Gasabo", [mothers]),
            ("Yes", "Huye", []),
            ("No", "Nyanza", [mothers]),
            (None, None, []),
            ("", None, []),
        ]
        for number, (category, district, groups) in enumerate(told):
            body = {"urns": [f"tel:+25078800020{number}"], "groups": groups, "fields": {"district": district}}
            made = api.post("/api/v2/contacts.json", body).json()["uuid"]
            with database.reading() as tx:
                person = tx.execute(select(contact.c.id).where(contact.c.uuid == made)).scalar_one()
            value = ANSWER | {"category": category, "value": "\x00"}
            add_run(database, workspace, flow_id, person, results={"has_phone": value} if category != "" else {})
        add_run(database, workspace, add_flow(database, workspace, "Other"), person, results={"has_phone": ANSWER})
        return flow_id

    def read(self, api: Api, flow_id: int, **query: Any) -> Any:
        flow_uuid = uuid_of(api.database, flow, flow_id)
        return api.get("/api/v2/flow_results.json", uuid=flow_uuid, **{"result": "has_phone"} | query).json()

    def test_categories_are_told_by_the_values_that_most_contacts_have(
        self, api: Api, survey: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = self.read(api, survey, field="district")
        monkeypatch.setattr(results, "MOST_VALUES", 1)
        short = self.read(api, survey, field="district", result="Has Phone", days=1)

        assert [(each["value"], each["count"]) for each in found["values"]] == [
            ("Gasabo", 2),
            ("Huye", 1),
            ("Nyanza", 1),
        ]
        assert found["categories"] == [
            {"category": "Yes", "count": 3, "counts": [2, 1, 0], "others": 0, "none": 0},
            {"category": "No", "count": 1, "counts": [0, 0, 1], "others": 0, "none": 0},
            {"category": None, "count": 1, "counts": [0, 0, 0], "others": 0, "none": 1},
        ]
        assert (found["answered"], found["is_exact"]) == (5, True)
        assert [each["value"] for each in short["values"]] == ["Gasabo"]
        assert short["categories"][0] == {"category": "Yes", "count": 3, "counts": [2], "others": 1, "none": 0}

    def test_a_contact_counts_in_each_of_its_groups(self, api: Api, survey: int) -> None:
        found = self.read(api, survey)

        assert [(each["group"]["name"], each["count"]) for each in found["values"]] == [(GROUPS[0], 3), (GROUPS[1], 1)]
        assert [(each["counts"], each["none"]) for each in found["categories"]] == [
            ([2, 1], 1),
            ([1, 0], 0),
            ([0, 0], 1),
        ]

    def test_the_last_runs_and_so_many_memberships_are_looked_at(
        self, api: Api, survey: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(results, "MOST_MEMBERSHIPS", 2)
        few = self.read(api, survey)
        monkeypatch.setattr(results, "MOST_LOOKED_AT", 3)
        last = self.read(api, survey, field="district")

        assert (few["answered"], few["is_exact"]) == (5, False)
        assert (last["answered"], last["is_exact"]) == (2, False)
        assert [each["value"] for each in last["values"]] == ["Nyanza"]

    def test_an_unknown_flow_or_field_is_not_found(
        self, api: Api, database: Database, survey: int, other_workspace: Workspace
    ) -> None:
        path, known = "/api/v2/flow_results.json", uuid_of(database, flow, survey)
        foreign = {"key": "colour", "name": "Colour", "name_key": "colour", "type": "text"}
        with database.writing() as tx:
            tx.insert(field, workspace_id=other_workspace.id, created_on=tx.now, **foreign)

        assert api.get(path, uuid=NODE, result="has_phone").status_code == 404
        assert api.get(path, uuid=known, result="has_phone", field="colour").status_code == 404
        assert api.get(path, uuid=known, result="nothing").json()["answered"] == 0
        assert api.get(path, uuid=known).json()["result"] is None

    def test_the_first_result_of_a_flow_is_told_by_default(self, api: Api, database: Database, survey: int) -> None:
        inspected = {"key": "has_phone", "name": "Has Phone", "categories": ["Yes"], "node_uuids": []}
        with database.writing() as tx:
            tx.execute(update(flow).where(flow.c.id == survey).values(results=[inspected]))

        found = api.get("/api/v2/flow_results.json", uuid=uuid_of(database, flow, survey)).json()

        assert (found["result"], found["answered"]) == ("has_phone", 5)


@pytest.mark.together
@pytest.mark.parametrize("days", ["0", "367", "x"])
def test_the_number_of_days_is_bounded(api: Api, days: str) -> None:
    assert api.get(WORKSPACE, days=days).status_code == 400


def test_silent_phones_and_failing_webhooks_of_this_workspace_are_told(
    api: Api, database: Database, workspace: Workspace, other_workspace: Workspace, clock: Any
) -> None:
    silent = add_channel(database, workspace)
    add_channel(database, other_workspace, address="+254733555012")
    clock.advance(minutes=31)
    add_channel(database, workspace, address="+254733555011", name="Alive")
    of_channel = {"channel_id": silent, "began_on": clock.moment, "last_failed_on": clock.moment, "given_up": 3}
    with database.writing() as tx:
        tx.insert(webhook_trouble, workspace_id=workspace.id, **of_channel)
    before = api.get(WORKSPACE).json()
    change_channel(database, silent, webhook_url="https://example.org/hook")
    make_subscriber(api, database)

    found = api.get(WORKSPACE).json()

    assert [each["channel"]["name"] for each in found["silent_phones"]] == ["Front desk"]
    assert before["failing_webhooks"] == []
    hooks = [(each["channel"] and each["channel"]["name"], each["resthook"]) for each in found["failing_webhooks"]]
    assert hooks == [("Front desk", None), (None, "new-birth")]
    assert found["failing_webhooks"][0]["given_up"] == 3
    assert "example.org" not in str(found)
    assert found["oldest_delivery_on"] is None


def make_subscriber(api: Api, database: Database) -> None:
    """A subscriber that fails."""
    database.write(lambda tx: ensure_resthook(tx, api.workspace.id, "new-birth"))
    body = {"resthook": "new-birth", "target_url": "https://example.org/births"}
    subscriber = api.post("/api/v2/resthook_subscribers.json", body).json()["id"]
    with database.writing() as tx:
        facts = {"began_on": tx.now, "last_failed_on": tx.now, "given_up": 1}
        tx.insert(webhook_trouble, workspace_id=api.workspace.id, subscriber_id=subscriber, **facts)
