"""Triggers as people describe them."""

from datetime import datetime

import pytest

from persistence.database import Database
from persistence.errors import InvalidInput
from persistence.tables.channels import channel
from persistence.tables.contacts import group
from persistence.triggers.form import TriggerForm, read_trigger_form
from persistence.triggers.records import CATCH_ALL, SCHEDULE
from persistence.workspaces import Workspace
from tests.campaign_rows import make_flow, make_group
from tests.channel_rows import add_channel
from tests.run_rows import uuid_of


@pytest.mark.parametrize("is_later", [True, False])
@pytest.mark.parametrize(
    ("part", "field"), [("groups", "group"), ("excluded_groups", "exclude_group"), ("channel", "channel")]
)
def test_a_trigger_names_no_record_of_another_workspace(
    database: Database, workspace: Workspace, other_workspace: Workspace, part: str, field: str, is_later: bool
) -> None:
    own, other = (workspace, other_workspace) if is_later else (other_workspace, workspace)
    flow = make_flow(database, own, "Survey")
    if part == "channel":
        named: str | list[str] = uuid_of(database, channel, add_channel(database, other))
    else:
        named = [uuid_of(database, group, make_group(database, other))]

    with database.writing() as tx, pytest.raises(InvalidInput) as refused:
        read_trigger_form(tx, own, TriggerForm(CATCH_ALL, flow, **{part: named}))  # type: ignore[arg-type]

    assert list(refused.value.errors) == [field]


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00+05:00"])
def test_a_schedule_has_a_time_of_the_calendar(database: Database, workspace: Workspace, text: str) -> None:
    flow, group_id = make_flow(database, workspace, "Survey"), make_group(database, workspace)
    form = TriggerForm(SCHEDULE, flow, groups=[uuid_of(database, group, group_id)], at=datetime.fromisoformat(text))

    with database.writing() as tx, pytest.raises(InvalidInput) as refused:
        read_trigger_form(tx, workspace, form)

    assert list(refused.value.errors) == ["at"]
