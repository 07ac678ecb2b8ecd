"""`/api/v2/teams.json` over HTTP, the team of a user, and what an agent of a team lists."""

from typing import Any

import pytest

from persistence.database import Database
from persistence.tickets.topics import find_topic
from persistence.users import add_member
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_contact
from tests.factories import make_contact
from tests.ticket_rows import add_ticket

PATH, USERS, TOPICS = "/api/v2/teams.json", "/api/v2/users.json", "/api/v2/topics.json"
TICKETS, EVENTS = "/api/v2/tickets.json", "/api/v2/audit_events.json"
NOWHERE = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def head(api: Api) -> Api:
    return api.as_role("administrator")


@pytest.fixture
def joel(database: Database, workspace: Workspace) -> str:
    with database.writing() as tx:
        return add_member(tx, workspace.id, "joel@example.org", "agent", first_name="Joel").uuid


@pytest.fixture
def billing(head: Api) -> str:
    uuid: str = head.post(TOPICS, {"name": "Billing"}).json()["uuid"]
    return uuid


def make(head: Api, name: str, **given: Any) -> dict[str, Any]:
    made = head.post(PATH, {"name": name, **given})
    assert made.status_code == 201, made.text
    record: dict[str, Any] = made.json()
    return record


def team_of(head: Api, user: str) -> Any:
    return head.results(USERS, uuid=user)[0]["team"]


def test_a_team_is_made_changed_and_deleted(head: Api, joel: str, billing: str) -> None:
    made = make(head, "Night", topics=[billing.upper()], members=[joel])

    assert made["topics"] == [{"uuid": billing, "name": "Billing"}]
    assert made["members"] == [{"uuid": joel, "email": "joel@example.org", "name": "Joel", "away": False}]
    assert team_of(head, joel) == {"uuid": made["uuid"], "name": "Night"}

    changed = head.post(PATH, {"name": "Nights"}, uuid=made["uuid"])
    assert (changed.status_code, changed.json()) == (200, made | {"name": "Nights"})
    emptied = head.post(PATH, {"name": "Nights", "topics": [], "members": []}, uuid=made["uuid"]).json()
    assert (emptied["topics"], emptied["members"], team_of(head, joel)) == ([], [], None)

    assert head.results(PATH) == [emptied]
    assert [head.delete(PATH, uuid=made["uuid"]).status_code for _ in range(2)] == [204, 404]


def test_a_topic_and_a_user_leave_their_former_team(head: Api, joel: str, billing: str) -> None:
    night = make(head, "Night", topics=[billing], members=[joel])

    day = make(head, "Day", topics=[billing], members=[joel])

    (left,) = head.results(PATH, uuid=night["uuid"])
    assert (left["topics"], left["members"]) == ([], [])
    assert team_of(head, joel)["uuid"] == day["uuid"]
    head.delete(PATH, uuid=day["uuid"])
    assert team_of(head, joel) is None
    assert "Billing" in [each["name"] for each in head.results(TOPICS)]


def test_who_leaves_the_workspace_leaves_the_team_and_a_topic_of_a_team_is_not_deleted(
    head: Api, joel: str, billing: str
) -> None:
    made = make(head, "Night", topics=[billing], members=[joel])

    assert head.post("/api/v2/user_actions.json", {"user": joel, "action": "remove"}).status_code == 204
    refused = head.delete(TOPICS, uuid=billing)

    assert (refused.status_code, 'the team "Night"' in refused.json()["detail"]) == (400, True)
    (used,) = head.get("/api/v2/usages.json", record=billing).json()["results"]
    assert (used["type"], used["uuid"], used["how"]) == ("team", made["uuid"], "tickets")
    (left,) = head.results(PATH, uuid=made["uuid"])
    assert (left["topics"], left["members"]) == ([{"uuid": billing, "name": "Billing"}], [])
    head.post(PATH, {"name": "Night", "topics": []}, uuid=made["uuid"])
    assert head.delete(TOPICS, uuid=billing).status_code == 204


@pytest.mark.parametrize("field", ["topics", "members"])
def test_what_is_not_there_is_refused_and_nothing_changes(
    head: Api, other_api: Api, database: Database, other_workspace: Workspace, billing: str, field: str
) -> None:
    """Neither are topics and users of another workspace."""
    with database.writing() as tx:
        stranger = add_member(tx, other_workspace.id, "zoe@example.org", "agent").uuid
    theirs = {"topics": other_api.post(TOPICS, {"name": "Theirs"}).json()["uuid"], "members": stranger}[field]
    made = make(head, "Night", topics=[billing])

    for unknown in (NOWHERE, theirs):
        refused = head.post(PATH, {"name": "Nights", "topics": [], field: [unknown]}, uuid=made["uuid"])
        assert (refused.status_code, list(refused.json())) == (400, [field])
    assert head.results(PATH) == [made]


def test_names_are_unique_and_administrators_write(api: Api, head: Api) -> None:
    made = make(head, "Night")

    assert list(head.post(PATH, {"name": "NIGHT"}).json()) == ["name"]
    assert api.as_role("editor").post(PATH, {"name": "Day"}).status_code == 403
    assert api.as_role("agent").results(PATH) == [made]


def test_the_log_tells_who_joined_and_what_was_added(head: Api, joel: str, billing: str) -> None:
    made = make(head, "Night", topics=[billing], members=[joel])
    head.post(PATH, {"name": "Night", "topics": [billing], "members": []}, uuid=made["uuid"])

    told = [(each["action"], each["changes"]) for each in head.results(EVENTS, resource="teams")]
    assert told[0] == ("changed", {"members": [["joel@example.org"], []]})
    (created,) = [changes for action, changes in told if action == "created"]
    assert created == {
        **{name: [None, nothing] for name, nothing in (("closed_text", ""), ("hours", []), ("holidays", []))},
        "name": [None, "Night"],
        "assigns_in_turn": [None, False],
        "reply_minutes": [None, 0],
    }
    assert sorted(told[1:], key=str) == [
        ("changed", {"members": [[], ["joel@example.org"]]}),
        ("changed", {"topics": [[], ["Billing"]]}),
        ("created", created),
    ]


def test_agents_of_a_team_list_the_tickets_of_its_topics_and_their_own(
    api: Api, head: Api, database: Database, workspace: Workspace, billing: str
) -> None:
    agent = api.as_role("agent")
    (user,) = [each for each in head.results(USERS) if each["role"] == "agent"]
    with database.reading() as tx:
        topic_id = find_topic(tx, workspace.id, billing)
    numbers = ("+254722000111", "+254722000112", "+254722000113")
    of_topic, own, other = (
        add_ticket(database, workspace, add_contact(database, workspace, number), **given)
        for number, given in zip(numbers, ({"topic_id": topic_id}, {}, {}), strict=True)
    )
    assign = {"tickets": [own], "action": "assign", "assignee": user["email"]}
    assert head.post("/api/v2/ticket_actions.json", assign).status_code == 204

    def seen(by: Api, **query: str) -> set[str]:
        return {each["uuid"] for each in by.results(TICKETS, **query)}

    made = make(head, "Night", members=[user["uuid"]])
    assert seen(agent) == {of_topic, own, other}, "a team without topics sees all"
    head.post(PATH, {"name": "Night", "topics": [billing]}, uuid=made["uuid"])

    assert seen(agent) == {of_topic, own}
    assert seen(agent, status="open", assignee="nobody") == {of_topic}
    assert seen(agent, uuid=other) == {other}
    assert seen(head) == {of_topic, own, other}
    assert seen(head, team=made["uuid"].upper()) == {of_topic}
    assert seen(head, team=NOWHERE) == seen(head, team="Night") == set()


def test_an_agent_may_open_a_ticket_for_another_team(api: Api, head: Api, database: Database, billing: str) -> None:
    agent = api.as_role("agent")
    (user,) = [each for each in head.results(USERS) if each["role"] == "agent"]
    make(head, "Night", topics=[billing], members=[user["uuid"]])
    contact = make_contact(database, api.workspace)

    opened = agent.post(TICKETS, {"contact": contact})

    assert opened.status_code == 201
    assert agent.results(TICKETS) == []
    assert agent.results(TICKETS, contact=contact) == [opened.json()]
