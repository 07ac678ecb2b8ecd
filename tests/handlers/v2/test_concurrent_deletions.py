"""A record that many requests delete at the same time is deleted by one of them; the others find nothing."""

import pytest

from persistence.database import Database
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.campaign_rows import make_campaign
from tests.factories import make_contact, make_field
from tests.handlers.v2.test_concurrent_counts import race

ONE_WINNER = [204, 404, 404, 404, 404, 404]
MAKERS = ("contacts", "groups", "labels", "globals", "fields", "campaign_events")


def make_record(api: Api, database: Database, workspace: Workspace, kind: str) -> dict[str, str]:
    """Makes one record of the kind; the parameter that names it."""
    path = f"/api/v2/{kind}.json"
    if kind == "contacts":
        return {"uuid": make_contact(database, workspace, "+250788000111")}
    if kind == "fields":
        return {"key": make_field(database, workspace, "Age")}
    if kind == "globals":
        return {"key": api.post(path, {"name": "Clinic Phone", "value": "1"}).json()["key"]}
    if kind == "campaign_events":
        make_field(database, workspace, "Due Date", "datetime")
        timing = {"relative_to": "due_date", "offset": 1, "unit": "days", "delivery_hour": 9, "message": "Hi"}
        body = {"campaign": make_campaign(database, workspace, "Reminders"), **timing}
        return {"uuid": api.post(path, body).json()["uuid"]}
    return {"uuid": api.post(path, {"name": "Mine"}).json()["uuid"]}


@pytest.mark.parametrize("kind", MAKERS)
def test_one_of_many_deletions_finds_the_record(api: Api, database: Database, workspace: Workspace, kind: str) -> None:
    named = make_record(api, database, workspace, kind)

    assert sorted(race(lambda: api.delete(f"/api/v2/{kind}.json", **named))) == ONE_WINNER
