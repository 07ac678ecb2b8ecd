"""When schedules are due again, and triggers as people describe them."""

from datetime import UTC, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from persistence.database import Database
from persistence.errors import InvalidInput
from persistence.repeating import DAILY, MONTHLY, NEVER, WEEKLY, find_next_due
from persistence.tables.channels import channel
from persistence.tables.contacts import group
from persistence.triggers.forms import TriggerForm, read_trigger_form
from persistence.triggers.records import CATCH_ALL, SCHEDULE
from persistence.workspaces.records import Workspace
from tests.campaign_rows import make_flow, make_group
from tests.channel_rows import add_channel
from tests.run_rows import uuid_of

KIGALI, BERLIN = ZoneInfo("Africa/Kigali"), ZoneInfo("Europe/Berlin")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_schedule_that_never_repeats_is_not_due_again():
    assert find_next_due(at("2026-03-02T08:00"), NEVER, None, KIGALI, at("2026-03-02T08:00")) is None


@pytest.mark.parametrize(
    ("repeat", "days", "expected"),
    [
        (DAILY, None, "2026-03-03T08:00"),
        (WEEKLY, "M", "2026-03-09T08:00"),
        (WEEKLY, "MRS", "2026-03-05T08:00"),
        (MONTHLY, "2", "2026-04-02T08:00"),
    ],
)
def test_schedules_come_again_on_their_days(repeat: str, days: str | None, expected: str):
    assert find_next_due(at("2026-03-02T08:00"), repeat, days, KIGALI, at("2026-03-02T08:00:01")) == at(expected)


def test_what_was_missed_is_passed_over():
    assert find_next_due(at("2026-03-02T08:00"), DAILY, None, KIGALI, at("2026-05-20T12:00")) == at("2026-05-21T08:00")


def test_the_last_day_of_a_short_month_stands_for_the_31st():
    in_february = find_next_due(at("2026-01-31T08:00"), MONTHLY, "31", KIGALI, at("2026-01-31T08:00"))

    assert in_february == at("2026-02-28T08:00")
    assert find_next_due(in_february, MONTHLY, "31", KIGALI, in_february) == at("2026-03-31T08:00")


def test_the_clock_of_the_workspace_counts_when_summer_begins():
    assert find_next_due(at("2026-03-28T07:00"), DAILY, None, BERLIN, at("2026-03-28T07:00")) == at("2026-03-29T06:00")


def test_an_hour_that_clocks_skip_is_kept_for_the_days_after():
    skipped = find_next_due(at("2026-03-28T01:30"), DAILY, None, BERLIN, at("2026-03-28T01:30"), time(2, 30))

    assert skipped == at("2026-03-29T01:30")
    assert find_next_due(skipped, DAILY, None, BERLIN, skipped, time(2, 30)) == at("2026-03-30T00:30")


def test_the_weekday_is_that_of_the_workspace():
    late = at("2026-03-02T22:30")

    assert find_next_due(late, WEEKLY, "T", KIGALI, late) == at("2026-03-09T22:30")


@pytest.mark.parametrize("is_later", [True, False])
@pytest.mark.parametrize(
    ("part", "field"), [("groups", "groups"), ("exclude_groups", "exclude_groups"), ("channel", "channel")]
)
def test_a_trigger_names_no_record_of_another_workspace(
    database: Database, workspace: Workspace, other_workspace: Workspace, part: str, field: str, is_later: bool
) -> None:
    own, other = (workspace, other_workspace) if is_later else (other_workspace, workspace)
    flow = make_flow(database, own, "Survey")
    if part == "channel":
        named: dict[str, Any] = {part: uuid_of(database, channel, add_channel(database, other))}
    else:
        named = {part: [uuid_of(database, group, make_group(database, other))]}

    with database.writing() as tx, pytest.raises(InvalidInput) as refused:
        read_trigger_form(tx, own, TriggerForm(CATCH_ALL, flow, **named))

    assert list(refused.value.errors) == [field]


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00+05:00"])
def test_a_schedule_has_a_time_of_the_calendar(database: Database, workspace: Workspace, text: str) -> None:
    flow, group_id = make_flow(database, workspace, "Survey"), make_group(database, workspace)
    form = TriggerForm(
        SCHEDULE, flow, groups=[uuid_of(database, group, group_id)], scheduled_on=datetime.fromisoformat(text)
    )

    with database.writing() as tx, pytest.raises(InvalidInput) as refused:
        read_trigger_form(tx, workspace, form)

    assert list(refused.value.errors) == ["scheduled_on"]
