"""`/api/v2/calendar.json` over HTTP."""

from datetime import UTC, datetime
from typing import Any

import pytest

from persistence.database import Database
from persistence.tables.contacts import group as contact_group
from persistence.triggers.forms import TriggerForm, read_trigger_form
from persistence.triggers.records import SCHEDULE, create_trigger
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.campaign_rows import make_campaign, make_flow, make_group
from tests.factories import make_contact, make_field
from tests.run_rows import uuid_of

PATH = "/api/v2/calendar.json"
BROADCASTS, CONTACTS = "/api/v2/broadcasts.json", "/api/v2/contacts.json"


def test_schedules_campaigns_and_broadcasts_stand_in_the_order_of_time(
    api: Api, database: Database, workspace: Workspace, clock: Any
) -> None:
    clock.moment = datetime(2026, 3, 2, 8, tzinfo=UTC)
    make_field(database, workspace, "Due Date", "datetime")
    flow = make_flow(database, workspace, "Survey")
    campaign = make_campaign(database, workspace, "Reminders")
    (group,) = (each["group"]["uuid"] for each in api.results("/api/v2/campaigns.json"))
    timing = {"relative_to": "due_date", "offset": 1, "unit": "days", "delivery_hour": 9, "message": "Hi"}
    event = api.post("/api/v2/campaign_events.json", {"campaign": campaign, **timing}).json()["uuid"]
    for _ in range(2):
        uuid = make_contact(database, workspace)
        api.post(CONTACTS, {"fields": {"due_date": "2026-03-09"}, "groups": [group]}, uuid=uuid)
    at = datetime(2026, 3, 3, 6, tzinfo=UTC)
    other = api.post("/api/v2/groups.json", {"name": "Fathers"}).json()["uuid"]
    form = TriggerForm(SCHEDULE, flow, groups=[other], scheduled_on=at, repeat="weekly", days="T")
    with database.writing() as tx:
        create_trigger(tx, workspace.id, read_trigger_form(tx, workspace, form))
    body = {"text": "Closed on Friday", "groups": [group], "scheduled_on": "2026-03-05T09:30:00Z"}
    broadcast = api.post(BROADCASTS, body).json()["uuid"]

    found = api.get(PATH, days=10).json()

    assert [each["time"] for each in found["items"]] == sorted(each["time"] for each in found["items"])
    assert sorted((each["time"][:10], each["type"], each["contacts"]) for each in found["items"]) == [
        ("2026-03-03", "schedule", None),
        ("2026-03-05", "broadcast", None),
        ("2026-03-10", "campaign_event", 2),
        ("2026-03-10", "schedule", None),
    ]
    by_type = {each["type"]: each for each in found["items"]}
    due = by_type["campaign_event"]
    assert (due["uuid"], due["name"], due["flow"]) == (event, "Reminders", None)
    assert by_type["schedule"]["flow"]["name"] == "Survey"
    assert (by_type["broadcast"]["uuid"], by_type["broadcast"]["name"]) == (broadcast, "Closed on Friday")
    assert found["is_exact"]
    api.post("/api/v2/broadcast_actions.json", {"broadcasts": [broadcast], "action": "stop"})
    assert [each["type"] for each in api.get(PATH, days=4).json()["items"]] == ["schedule"]


@pytest.mark.together
@pytest.mark.parametrize("days", ["0", "93", "x"])
def test_the_number_of_days_is_bounded(api: Api, days: str) -> None:
    assert api.get(PATH, days=days).status_code == 400


def test_the_calendar_of_another_workspace_is_not_seen(
    api: Api, database: Database, other_workspace: Workspace
) -> None:
    flow = make_flow(database, other_workspace, "Survey")
    group_id = make_group(database, other_workspace, "Fathers")
    group = uuid_of(database, contact_group, group_id)
    form = TriggerForm(SCHEDULE, flow, groups=[group], scheduled_on=datetime(2999, 1, 1, tzinfo=UTC))
    with database.writing() as tx:
        create_trigger(tx, other_workspace.id, read_trigger_form(tx, other_workspace, form))

    assert api.get(PATH).json() == {"items": [], "is_exact": True}
