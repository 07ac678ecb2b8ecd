"""Scheduled fires follow every change of contacts, groups and campaign events."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import select

from flows.urns import Urn
from persistence.campaigns.events import delete_campaign_events
from persistence.campaigns.fires import BATCH, run_next_pass
from persistence.campaigns.records import archive_campaign
from persistence.channels.event_form import Source
from persistence.channels.gateway_reports import Gateway, stop_contact
from persistence.contacts.urns import note_seen
from persistence.contacts.writes import ContactChange, create_contact
from persistence.database import Database
from persistence.groups.smart_groups import create_query_group, evaluate_some, lease_group
from persistence.tables.channels import channel
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.campaign_rows import MOTHERS, make_campaign, make_event, make_group, scheduled
from tests.channel_rows import add_channel
from tests.conftest import Clock
from tests.factories import id_of, make_field

CONTACTS = "/api/v2/contacts.json"
ACTIONS = "/api/v2/contact_actions.json"
EVENTS = "/api/v2/campaign_events.json"
DUE_DATE = "2026-03-20T09:30:00+02:00"
NEXT_DAY = [datetime(2026, 3, 21, 7, 30, tzinfo=UTC)]


@pytest.fixture
def campaign(database: Database, workspace: Workspace) -> str:
    make_field(database, workspace, "Due Date", "datetime")
    return make_campaign(database, workspace, "Antenatal")


@pytest.fixture
def run_passes(database: Database, workspace: Workspace) -> Callable[[], int]:
    def run() -> int:
        count = 0
        while database.write(partial(run_next_pass, workspace_id=workspace.id)):
            count += 1
        return count

    return run


@pytest.fixture
def event(database: Database, workspace: Workspace, campaign: str, run_passes: Callable[[], int]) -> int:
    event_id = make_event(database, workspace, campaign)
    run_passes()
    return event_id


def add_member(api: Api, due_date: str | None = DUE_DATE, **values: Any) -> str:
    body = {"name": "Amina", "groups": [MOTHERS], "fields": {"due_date": due_date}} | values
    response = api.post(CONTACTS, body)
    assert response.status_code == 201, response.text
    return str(response.json()["uuid"])


def act_on_campaign(api: Api, action: str, uuid: str) -> None:
    response = api.post("/api/v2/campaign_actions.json", {"campaigns": [uuid], "action": action})
    assert response.status_code == 204, response.text


def act(api: Api, action: str, uuid: str, **values: Any) -> None:
    response = api.post(ACTIONS, {"contacts": [uuid], "action": action} | values)
    assert response.status_code == 204, response.text


class TestContacts:
    def test_a_new_member_with_a_date_is_scheduled(self, api: Api, database: Database, event: int) -> None:
        add_member(api)

        assert scheduled(database) == NEXT_DAY

    @pytest.mark.parametrize("due_date", [None, "soon", "2026-01-01T09:30:00+02:00"])
    def test_without_a_date_to_come_nothing_is_scheduled(
        self, api: Api, database: Database, event: int, due_date: str | None
    ) -> None:
        add_member(api, due_date)

        assert scheduled(database) == []

    def test_others_than_members_are_not_scheduled(self, api: Api, database: Database, event: int) -> None:
        add_member(api, groups=[])

        assert scheduled(database) == []

    def test_a_changed_date_reschedules_and_a_cleared_one_unschedules(
        self, api: Api, database: Database, event: int
    ) -> None:
        uuid = add_member(api)

        api.post(CONTACTS, {"fields": {"due_date": "2026-04-20T09:30:00+02:00"}}, uuid=uuid)
        assert scheduled(database) == [datetime(2026, 4, 21, 7, 30, tzinfo=UTC)]

        api.post(CONTACTS, {"fields": {"due_date": None}}, uuid=uuid)
        assert scheduled(database) == []

    def test_a_change_of_something_else_changes_nothing(self, api: Api, database: Database, event: int) -> None:
        uuid = add_member(api)

        api.post(CONTACTS, {"name": "Bosco"}, uuid=uuid)

        assert scheduled(database) == NEXT_DAY

    def test_what_is_late_stays_when_the_contact_changes(
        self, api: Api, database: Database, clock: Clock, event: int
    ) -> None:
        uuid = add_member(api)
        clock.advance(days=30)

        api.post(CONTACTS, {"name": "Bosco"}, uuid=uuid)

        assert scheduled(database) == NEXT_DAY

    @pytest.mark.parametrize("action", ["block", "delete"])
    def test_a_contact_that_is_blocked_or_deleted_is_unscheduled(
        self, api: Api, database: Database, event: int, action: str
    ) -> None:
        uuid = add_member(api)

        act(api, action, uuid)

        assert scheduled(database) == []

    def test_a_stopped_contact_is_unscheduled(
        self, api: Api, database: Database, workspace: Workspace, event: int
    ) -> None:
        channel_id = add_channel(database, workspace)
        add_member(api, urns=["tel:+250788000111"])
        with database.writing() as tx:
            uuid = tx.execute(select(channel.c.uuid).where(channel.c.id == channel_id)).scalar_one()
            source = Source(channel_id, uuid, workspace.id, None, "RW")
            stop_contact(tx, Gateway(source, "tel", {}), "+250788000111")

        assert scheduled(database) == []

    def test_the_creation_of_the_contact_is_a_date(
        self, api: Api, database: Database, workspace: Workspace, campaign: str, clock: Clock
    ) -> None:
        make_event(database, workspace, campaign, relative_to="created_on", offset=1, unit="hours")

        add_member(api)

        assert scheduled(database) == [datetime(2026, 3, 2, 9, 1, tzinfo=UTC)]

    def test_each_word_from_the_contact_moves_what_counts_from_it(
        self, api: Api, database: Database, workspace: Workspace, campaign: str, clock: Clock
    ) -> None:
        make_event(database, workspace, campaign, relative_to="last_seen_on", offset=1, unit="weeks", delivery_hour=9)
        contact_id = id_of(database, add_member(api))
        assert scheduled(database) == []

        for day in (9, 12):
            clock.moment = datetime(2026, 3, day - 7, 12, tzinfo=UTC)
            with database.writing() as tx:
                note_seen(tx, workspace.id, [contact_id])

            assert scheduled(database) == [datetime(2026, 3, day, 7, 0, tzinfo=UTC)]


class TestGroups:
    def test_joining_schedules_and_leaving_unschedules(self, api: Api, database: Database, event: int) -> None:
        uuid = add_member(api, groups=[])

        act(api, "add", uuid, group=MOTHERS)
        assert scheduled(database) == NEXT_DAY

        act(api, "remove", uuid, group=MOTHERS)
        assert scheduled(database) == []

    def test_other_groups_do_not_matter(self, api: Api, database: Database, workspace: Workspace, event: int) -> None:
        make_group(database, workspace, "Fathers")
        uuid = add_member(api, groups=[MOTHERS, "Fathers"])

        act(api, "remove", uuid, group="Fathers")

        assert scheduled(database) == NEXT_DAY

    def test_a_contact_given_other_groups_is_unscheduled(self, api: Api, database: Database, event: int) -> None:
        uuid = add_member(api)

        api.post(CONTACTS, {"groups": []}, uuid=uuid)

        assert scheduled(database) == []

    def test_the_members_of_a_smart_group_follow_their_values(
        self, api: Api, database: Database, workspace: Workspace, campaign: str, run_passes: Callable[[], int]
    ) -> None:
        with database.writing() as tx:
            create_query_group(tx, workspace, "Aminas", "name = amina")
        make_event(database, workspace, make_campaign(database, workspace, "Smart", "Aminas"))
        uuid = add_member(api, groups=[])
        assert scheduled(database) == NEXT_DAY

        api.post(CONTACTS, {"name": "Bosco"}, uuid=uuid)

        assert scheduled(database) == []

    def test_a_smart_group_that_is_evaluated_schedules_its_members(
        self, api: Api, database: Database, workspace: Workspace, campaign: str, run_passes: Callable[[], int]
    ) -> None:
        add_member(api, groups=[])
        with database.writing() as tx:
            create_query_group(tx, workspace, "Aminas", "name = amina")
        make_event(database, workspace, make_campaign(database, workspace, "Smart", "Aminas"))
        run_passes()
        assert scheduled(database) == []

        leased = database.write(partial(lease_group, workspace_id=workspace.id))
        assert leased is not None
        evaluate_some(database, leased)

        assert scheduled(database) == NEXT_DAY

    def test_another_group_of_the_campaign_has_its_own_members_scheduled(
        self,
        api: Api,
        database: Database,
        workspace: Workspace,
        campaign: str,
        event: int,
        run_passes: Callable[[], int],
    ) -> None:
        make_group(database, workspace, "Fathers")
        mother = id_of(database, add_member(api))
        father = id_of(database, add_member(api, groups=["Fathers"]))

        api.post("/api/v2/campaigns.json", {"name": "Antenatal", "group": "Fathers"}, uuid=campaign)
        run_passes()

        assert (scheduled(database, mother), scheduled(database, father)) == ([], NEXT_DAY)


class TestEvents:
    def test_a_new_event_schedules_all_members_in_batches(
        self, database: Database, workspace: Workspace, campaign: str, run_passes: Callable[[], int]
    ) -> None:
        group_id = make_group(database, workspace)
        change = ContactChange(group_ids=[group_id], fields={"due_date": DUE_DATE})
        with database.writing() as tx:
            for _ in range(BATCH + 1):
                create_contact(tx, workspace, change)

        make_event(database, workspace, campaign)

        assert scheduled(database) == []
        assert run_passes() == 2
        assert scheduled(database) == NEXT_DAY * (BATCH + 1)

    def test_a_new_event_wakes_its_workers(
        self, database: Database, workspace: Workspace, campaign: str, woken: list[str]
    ) -> None:
        make_event(database, workspace, campaign)

        assert "campaigns" in woken

    @pytest.mark.parametrize(
        ("change", "due"),
        [
            ({"offset": 2}, datetime(2026, 3, 22, 7, 30, tzinfo=UTC)),
            ({"unit": "hours"}, datetime(2026, 3, 20, 8, 30, tzinfo=UTC)),
            ({"delivery_hour": 6}, datetime(2026, 3, 21, 4, 0, tzinfo=UTC)),
            ({"relative_to": "visit"}, datetime(2026, 5, 2, 22, 0, tzinfo=UTC)),
        ],
    )
    def test_a_change_of_its_time_reschedules_everybody(
        self,
        api: Api,
        database: Database,
        workspace: Workspace,
        event: int,
        run_passes: Callable[[], int],
        change: dict[str, Any],
        due: datetime,
    ) -> None:
        make_field(database, workspace, "Visit", "datetime")
        add_member(api, fields={"due_date": DUE_DATE, "visit": "2026-05-02"})
        uuid = api.results(EVENTS)[0]["uuid"]
        body = {"relative_to": "due_date", "offset": 1, "unit": "days", "delivery_hour": -1, "message": "Hello"}

        assert api.post(EVENTS, body | change, uuid=uuid).status_code == 200
        run_passes()

        assert scheduled(database) == [due]

    def test_a_change_of_its_text_needs_no_pass(self, api: Api, event: int, run_passes: Callable[[], int]) -> None:
        uuid = api.results(EVENTS)[0]["uuid"]
        body = {"relative_to": "due_date", "offset": 1, "unit": "days", "delivery_hour": -1, "message": "Hello"}

        api.post(EVENTS, body, uuid=uuid)

        assert run_passes() == 0

    def test_moments_before_the_change_are_past_however_late_the_pass_is(
        self,
        api: Api,
        database: Database,
        workspace: Workspace,
        campaign: str,
        clock: Clock,
        run_passes: Callable[[], int],
    ) -> None:
        early = id_of(database, add_member(api, "2026-02-28T09:30:00+02:00"))
        later = id_of(database, add_member(api, "2026-03-01T20:30:00+02:00"))

        make_event(database, workspace, campaign)
        clock.advance(days=2)
        run_passes()

        assert (scheduled(database, early), len(scheduled(database, later))) == ([], 1)

    def test_a_deleted_event_is_unscheduled_in_passes(
        self, api: Api, database: Database, workspace: Workspace, event: int, run_passes: Callable[[], int]
    ) -> None:
        add_member(api)

        with database.writing() as tx:
            delete_campaign_events(tx, workspace.id, [event])
        run_passes()

        assert scheduled(database) == []

    def test_the_events_of_an_archived_campaign_are_unscheduled(
        self,
        api: Api,
        database: Database,
        workspace: Workspace,
        campaign: str,
        event: int,
        run_passes: Callable[[], int],
    ) -> None:
        add_member(api)

        with database.writing() as tx:
            archive_campaign(tx, workspace.id, campaign)
        run_passes()
        add_member(api)

        assert scheduled(database) == []

    @pytest.mark.parametrize("are_dropped", [True, False], ids=["after a worker", "at once"])
    def test_a_restored_campaign_schedules_the_future_anew_and_nothing_that_is_past(
        self,
        api: Api,
        workspace: Workspace,
        campaign: str,
        event: int,
        run_passes: Callable[[], int],
        clock: Clock,
        *,
        are_dropped: bool,
    ) -> None:
        add_member(api)
        later = NEXT_DAY[0] + timedelta(days=9)
        add_member(api, (later - timedelta(days=1)).isoformat())

        act_on_campaign(api, "archive", campaign)
        if are_dropped:
            run_passes()
        clock.moment = NEXT_DAY[0] + timedelta(minutes=1)
        act_on_campaign(api, "restore", campaign)
        run_passes()

        assert scheduled(api.database) == [later]

    def test_a_pass_that_is_asked_for_again_begins_again(
        self, api: Api, database: Database, workspace: Workspace, campaign: str, run_passes: Callable[[], int]
    ) -> None:
        add_member(api)
        make_event(database, workspace, campaign)
        database.write(partial(run_next_pass, workspace_id=workspace.id))
        uuid = api.results(EVENTS)[0]["uuid"]
        body = {"relative_to": "due_date", "offset": 3, "unit": "days", "delivery_hour": -1, "message": "Hello"}

        api.post(EVENTS, body, uuid=uuid)
        run_passes()

        assert scheduled(database) == [NEXT_DAY[0] + timedelta(days=2)]


def test_contacts_outside_campaigns_cost_one_statement(
    database: Database, workspace: Workspace, event: int, statements: list[str]
) -> None:
    with database.writing() as tx:
        contact_id = create_contact(tx, workspace, ContactChange(urns=[Urn("tel", "+250788000111")]))
    statements.clear()

    with database.writing() as tx:
        note_seen(tx, workspace.id, [contact_id])

    assert sum("campaign" in statement for statement in statements) == 1
