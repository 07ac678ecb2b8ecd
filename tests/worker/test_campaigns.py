"""Campaign events fire for each contact once, at their time or late, whatever happens to the workers and the clock."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import select, update

from persistence.campaigns import firing as campaign_firing
from persistence.campaigns import schedules
from persistence.campaigns.events import delete_campaign_events
from persistence.campaigns.records import archive_campaign
from persistence.contacts.writes import ContactChange, change_contact, create_contact
from persistence.database import Database, Transaction
from persistence.leases import PAUSES
from persistence.tables.accounts import workspace as workspace_table
from persistence.tables.campaigns import campaign_event
from persistence.tables.contacts import contact, field, group_membership
from persistence.tables.flows import flow, flow_start, flow_start_contact
from persistence.tables.messages import message
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.campaign_rows import fired, make_campaign, make_event, make_flow, make_group, make_members, scheduled
from tests.conftest import Clock
from tests.factories import make_field
from tests.run_rows import add_waiting, uuid_of
from worker.jobs import begin_campaigns
from worker.runtime import Runtime

DUE_DATE = "2026-03-20T09:30:00+02:00"
DUE = datetime(2026, 3, 21, 7, 30, tzinfo=UTC)
JUST_BEFORE = datetime(2026, 3, 21, 7, 29, 59, tzinfo=UTC)


@pytest.fixture
def campaign(database: Database, workspace: Workspace) -> str:
    make_field(database, workspace, "Due Date", "datetime")
    return make_campaign(database, workspace, "Antenatal")


@pytest.fixture
def run(runtime: Runtime) -> Callable[[], None]:
    step = begin_campaigns(runtime)

    def run_all() -> None:
        while step():
            pass

    return run_all


def add_member(database: Database, workspace: Workspace, due_date: str = DUE_DATE, **values: Any) -> int:
    group_id = make_group(database, workspace)
    change = ContactChange(**{"name": "Amina M", "group_ids": [group_id], "fields": {"due_date": due_date}} | values)
    with database.writing() as tx:
        return create_contact(tx, workspace, change)


def texts(database: Database) -> list[str]:
    with database.reading() as tx:
        return list(tx.execute(select(message.c.text).order_by(message.c.id)).scalars())


def begin(database: Database, workspace: Workspace) -> campaign_firing.Attempt:
    attempt = database.write(partial(campaign_firing.begin_fires, workspace_id=workspace.id))
    assert attempt is not None
    return attempt


def fire(database: Database, workspace: Workspace) -> None:
    attempt = begin(database, workspace)
    database.write(lambda tx: campaign_firing.fire_next(tx, workspace.id, attempt))


def receivers(database: Database) -> list[int]:
    with database.reading() as tx:
        return sorted(tx.execute(select(message.c.contact_id)).scalars())


class TestMessages:
    def test_a_message_is_made_at_the_due_moment_and_not_before(
        self, database: Database, workspace: Workspace, campaign: str, clock: Clock, run: Callable[[], None]
    ) -> None:
        contact_id = add_member(database, workspace)
        make_event(database, workspace, campaign)
        clock.moment = JUST_BEFORE
        run()
        assert (scheduled(database), receivers(database)) == ([DUE], [])

        clock.moment = DUE
        run()

        assert (scheduled(database), fired(database), receivers(database)) == ([], [DUE], [contact_id])
        assert texts(database) == ["Hello Amina"]

    def test_everybody_is_written_to_in_their_language(
        self, database: Database, workspace: Workspace, campaign: str, clock: Clock, run: Callable[[], None]
    ) -> None:
        for language in ("kin", "eng", "fra", None):
            add_member(database, workspace, language=language)
        make_event(database, workspace, campaign, message={"eng": "Hello", "kin": "Muraho"})
        run()

        clock.moment = DUE
        run()

        assert texts(database) == ["Muraho", "Hello", "Hello", "Hello"]

    def test_expressions_see_the_date(
        self, database: Database, workspace: Workspace, campaign: str, clock: Clock, run: Callable[[], None]
    ) -> None:
        add_member(database, workspace)
        make_event(database, workspace, campaign, message={"eng": "On @(format_date(fields.due_date))"})
        run()

        clock.moment = DUE
        run()

        assert texts(database) == ["On 20-03-2026"]


class TestFlows:
    def test_a_flow_event_starts_its_contacts_in_the_flow(
        self,
        database: Database,
        workspace: Workspace,
        campaign: str,
        clock: Clock,
        run: Callable[[], None],
        woken: list[str],
    ) -> None:
        ids = [add_member(database, workspace) for _ in range(2)]
        event_id = make_flow_event(database, workspace, campaign)
        run()

        clock.moment = DUE
        run()

        with database.reading() as tx:
            start = tx.execute(select(flow_start)).one()
            named = list(tx.execute(select(flow_start_contact.c.contact_id)).scalars())
        assert (sorted(named), start.start_type, start.status) == (ids, "campaign", "pending")
        assert start.parent["event"]["type"] == "campaign_fired"
        assert start.parent["event"]["campaign"] == {"uuid": campaign, "name": "Antenatal"}
        assert (start.restart_participants, start.exclude_active, fired(database)) == (True, False, [DUE, DUE])
        assert event_id > 0
        assert "starts" in woken

    def test_a_flow_event_that_skips_leaves_out_contacts_in_a_flow(
        self, database: Database, workspace: Workspace, campaign: str, clock: Clock, run: Callable[[], None]
    ) -> None:
        add_member(database, workspace)
        make_flow_event(database, workspace, campaign, start_mode="S")
        run()

        clock.moment = DUE
        run()

        with database.reading() as tx:
            assert tx.execute(select(flow_start.c.exclude_active)).scalar_one()

    def test_a_flow_that_was_archived_meanwhile_is_not_started(
        self, database: Database, workspace: Workspace, campaign: str, clock: Clock, run: Callable[[], None]
    ) -> None:
        add_member(database, workspace)
        make_flow_event(database, workspace, campaign)
        run()
        with database.writing() as tx:
            tx.execute(update(flow).values(is_archived=True))

        clock.moment = DUE
        run()

        with database.reading() as tx:
            assert tx.execute(select(flow_start)).all() == []
        assert (scheduled(database), fired(database)) == ([], [])


def make_flow_event(database: Database, workspace: Workspace, campaign: str, **values: Any) -> int:
    uuid = make_flow(database, workspace, "Welcome")
    with database.reading() as tx:
        flow_id = tx.execute(select(flow.c.id).where(flow.c.uuid == uuid)).scalar_one()
    return make_event(database, workspace, campaign, message=None, base_language=None, flow_id=flow_id, **values)


class TestClocks:
    def test_what_fell_due_while_no_worker_ran_fires_late_and_once(
        self, database: Database, workspace: Workspace, campaign: str, clock: Clock, run: Callable[[], None]
    ) -> None:
        add_member(database, workspace)
        make_event(database, workspace, campaign)
        run()

        clock.moment = datetime(2026, 4, 30, tzinfo=UTC)
        run()
        run()

        assert (fired(database), texts(database)) == ([DUE], ["Hello Amina"])

    def test_a_clock_that_jumps_ahead_fires_all_on_the_way(
        self, database: Database, workspace: Workspace, campaign: str, clock: Clock, run: Callable[[], None]
    ) -> None:
        add_member(database, workspace)
        for offset in (1, 2, 3):
            make_event(database, workspace, campaign, offset=offset, message={"eng": str(offset)})
        run()

        clock.moment = datetime(2026, 3, 22, 8, tzinfo=UTC)
        run()

        assert texts(database) == ["1", "2"]

    def test_a_clock_that_is_set_back_fires_nothing_again(
        self, database: Database, workspace: Workspace, campaign: str, clock: Clock, run: Callable[[], None]
    ) -> None:
        contact_id = add_member(database, workspace)
        make_event(database, workspace, campaign)
        run()
        clock.moment = DUE
        run()

        clock.advance(days=-3)
        with database.writing() as tx:
            change_contact(tx, workspace, contact_id, ContactChange(name="Bosco"))
        run()
        clock.advance(days=6)
        run()

        assert (fired(database), texts(database)) == ([DUE], ["Hello Amina"])

    def test_a_clock_that_is_set_back_before_the_moment_waits_for_it_again(
        self, database: Database, workspace: Workspace, campaign: str, clock: Clock, run: Callable[[], None]
    ) -> None:
        add_member(database, workspace)
        make_event(database, workspace, campaign)
        run()
        clock.advance(days=-5)
        run()
        clock.moment = JUST_BEFORE
        run()
        assert (scheduled(database), texts(database)) == ([DUE], [])

        clock.moment = DUE
        run()

        assert (scheduled(database), texts(database)) == ([], ["Hello Amina"])

    def test_who_joins_after_the_moment_gets_nothing_when_the_clock_jumps(
        self, database: Database, workspace: Workspace, campaign: str, clock: Clock, run: Callable[[], None]
    ) -> None:
        make_event(database, workspace, campaign)
        run()
        clock.moment = DUE + timedelta(minutes=1)
        add_member(database, workspace)

        clock.advance(days=400)
        run()

        assert (scheduled(database), texts(database)) == ([], [])

    @pytest.mark.parametrize(
        ("zone", "base", "values", "due"),
        [
            ("America/New_York", "2026-03-07T02:30:00-05:00", {"offset": 1}, "2026-03-08T07:30:00+00:00"),
            ("America/New_York", "2026-03-07T12:00:00-05:00", {"offset": 1}, "2026-03-08T16:00:00+00:00"),
            ("America/New_York", "2026-03-07T12:00:00-05:00", {"delivery_hour": 2}, "2026-03-08T07:00:00+00:00"),
            ("America/New_York", "2026-10-31T01:30:00-04:00", {"offset": 1}, "2026-11-01T05:30:00+00:00"),
            ("Europe/London", "2026-03-28T18:00:00+00:00", {"delivery_hour": 1}, "2026-03-29T01:00:00+00:00"),
            ("Europe/London", "2026-10-24T18:00:00+01:00", {"delivery_hour": 1}, "2026-10-25T00:00:00+00:00"),
            ("Australia/Lord_Howe", "2026-10-03T02:15:00+10:30", {"offset": 1}, "2026-10-03T15:45:00+00:00"),
            ("Africa/Cairo", "2026-04-23T12:00:00+02:00", {"delivery_hour": 0}, "2026-04-23T22:00:00+00:00"),
            ("Africa/Kigali", "2026-03-28T01:30:00+02:00", {"unit": "weeks"}, "2026-04-03T23:30:00+00:00"),
            ("Asia/Kathmandu", "2026-03-20T09:30:00+05:45", {"delivery_hour": 6}, "2026-03-21T00:15:00+00:00"),
        ],
    )
    def test_the_time_of_day_is_that_of_the_workspace_over_changes_of_its_clocks(
        self,
        database: Database,
        workspace: Workspace,
        campaign: str,
        clock: Clock,
        run: Callable[[], None],
        zone: str,
        base: str,
        values: dict[str, int],
        due: str,
    ) -> None:
        with database.writing() as tx:
            tx.execute(update(workspace_table).values(timezone=zone))
        add_member(database, workspace, base)
        make_event(database, workspace, campaign, **values)
        run()
        moment = datetime.fromisoformat(due)
        clock.moment = moment - timedelta(seconds=1)
        run()
        assert fired(database) == []
        clock.moment = moment

        run()

        assert fired(database) == [moment]


class TestChangesMeanwhile:
    """Nothing fires for what no longer holds, even where its fire was left behind."""

    @pytest.fixture
    def left_behind(
        self, database: Database, workspace: Workspace, campaign: str, clock: Clock, run: Callable[[], None]
    ) -> tuple[int, int]:
        contact_id = add_member(database, workspace)
        event_id = make_event(database, workspace, campaign)
        run()
        clock.moment = DUE
        return contact_id, event_id

    def test_a_contact_that_left_gets_nothing(
        self, database: Database, run: Callable[[], None], left_behind: tuple[int, int]
    ) -> None:
        with database.writing() as tx:
            tx.execute(group_membership.delete())

        run()

        assert (texts(database), scheduled(database), fired(database)) == ([], [], [])

    def test_a_blocked_contact_gets_nothing(
        self, database: Database, run: Callable[[], None], left_behind: tuple[int, int]
    ) -> None:
        with database.writing() as tx:
            tx.execute(update(contact).values(status="blocked"))

        run()

        assert (texts(database), scheduled(database)) == ([], [])

    def test_a_fire_that_was_overtaken_by_another_date_moves_there(
        self, database: Database, clock: Clock, run: Callable[[], None], left_behind: tuple[int, int]
    ) -> None:
        later = datetime(2026, 5, 2, 9, tzinfo=UTC)
        with database.writing() as tx:
            uuid = tx.execute(select(field.c.uuid)).scalar_one()
            stored = {uuid: {"text": "x", "datetime": "2026-05-01T09:00:00+00:00"}}
            tx.execute(update(contact).values(fields=stored))

        run()

        assert (texts(database), scheduled(database)) == ([], [later])

    def test_a_deleted_event_does_not_fire(
        self, database: Database, workspace: Workspace, run: Callable[[], None], left_behind: tuple[int, int]
    ) -> None:
        with database.writing() as tx:
            delete_campaign_events(tx, workspace.id, [left_behind[1]])
        fire(database, workspace)

        assert (texts(database), scheduled(database)) == ([], [])

    def test_an_archived_campaign_does_not_fire(
        self, database: Database, workspace: Workspace, campaign: str, left_behind: tuple[int, int]
    ) -> None:
        with database.writing() as tx:
            archive_campaign(tx, workspace.id, campaign)
        fire(database, workspace)

        assert (texts(database), scheduled(database)) == ([], [])


class TestWorkers:
    def test_two_workers_at_once_write_to_each_contact_once(
        self,
        database: Database,
        workspace: Workspace,
        campaign: str,
        clock: Clock,
        runtime: Runtime,
        run: Callable[[], None],
    ) -> None:
        make_members(database, workspace, 1200, DUE_DATE)
        make_event(database, workspace, campaign)
        workers = [threading.Thread(target=run) for _ in range(2)]
        run()
        clock.moment = DUE

        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        run()

        made = receivers(database)
        assert (len(made), len(set(made)), len(fired(database))) == (1200, 1200, 1200)

    def test_a_worker_that_dies_before_its_commit_leaves_everything_as_it_was(
        self, database: Database, workspace: Workspace, campaign: str, clock: Clock, run: Callable[[], None]
    ) -> None:
        add_member(database, workspace)
        make_event(database, workspace, campaign)
        run()
        clock.moment = DUE

        attempt = begin(database, workspace)

        def fire_and_die(tx: Transaction) -> None:
            assert campaign_firing.fire_next(tx, workspace.id, attempt)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            database.write(fire_and_die)
        assert (texts(database), scheduled(database)) == ([], [DUE])
        clock.moment = DUE + PAUSES[0]
        run()

        assert (texts(database), fired(database)) == (["Hello Amina"], [DUE])

    def test_what_ended_a_worker_comes_last_in_small_parts_and_the_others_first(
        self, database: Database, workspace: Workspace, campaign: str, clock: Clock, run: Callable[[], None]
    ) -> None:
        make_members(database, workspace, 60, DUE_DATE)
        make_event(database, workspace, campaign)
        run()
        clock.moment = DUE
        sizes = []
        for _ in range(5):  # each time the worker that took them died
            sizes.append(len(begin(database, workspace).fire_ids))
            clock.moment += PAUSES[0]
        run()

        assert sizes == [60, 25, 25, 10, 1]
        assert (len(receivers(database)), len(fired(database))) == (59, 60)


class TestWhatIsToCome:
    """`/api/v2/campaign_figures.json` and `contact_schedule.json`."""

    FIGURES, SCHEDULE = "/api/v2/campaign_figures.json", "/api/v2/contact_schedule.json"
    LATER = "2026-03-25T23:30:00+02:00"

    @pytest.fixture
    def api(self, api: Api, database: Database) -> Api:
        """In Kigali, two hours ahead of UTC."""
        with database.writing() as tx:
            tx.execute(update(workspace_table).values(timezone="Africa/Kigali"))
        return api

    def uuids(self, api: Api) -> list[str]:
        return [event["uuid"] for event in reversed(api.results("/api/v2/campaign_events.json"))]

    def test_scheduled_contacts_are_counted_by_event_and_day_of_the_workspace(
        self, api: Api, database: Database, workspace: Workspace, campaign: str, clock: Clock, run: Callable[[], None]
    ) -> None:
        for due_date in (DUE_DATE, DUE_DATE, self.LATER):
            add_member(database, workspace, due_date)
        make_event(database, workspace, campaign)
        make_event(database, workspace, campaign, offset=2)
        make_event(database, workspace, make_campaign(database, workspace, "Others"))
        run()
        first, second, _ = self.uuids(api)
        clock.moment = datetime(2026, 3, 20, 22, 30, tzinfo=UTC)

        answer = api.get(self.FIGURES, uuid=campaign, days="5").json()

        assert answer["is_exact"]
        assert [(each["day"], each["event"], each["contacts"]) for each in answer["results"]] == sorted(
            [("2026-03-21", first, 2), ("2026-03-22", second, 2)]
        )
        assert [each["day"] for each in api.get(self.FIGURES, uuid=campaign).json()["results"]][2:] == [
            *("2026-03-26", "2026-03-27")
        ]
        clock.moment = datetime(2026, 3, 22, 5, tzinfo=UTC)
        late = api.get(self.FIGURES, uuid=campaign, days="1").json()["results"]
        assert {each["event"]: each["contacts"] for each in late} == {first: 2, second: 2}
        assert {each["day"] for each in late} == {"2026-03-22"}

        with database.writing() as tx:
            archive_campaign(tx, workspace.id, campaign)
        assert api.get(self.FIGURES, uuid=campaign).json() == {"results": [], "is_exact": True}

    def test_the_count_ends_where_it_would_take_too_long(
        self,
        api: Api,
        database: Database,
        workspace: Workspace,
        campaign: str,
        clock: Clock,
        run: Callable[[], None],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(schedules, "MOST_COUNTED", 2)
        make_members(database, workspace, 4, DUE_DATE)
        make_event(database, workspace, campaign)
        run()
        clock.moment = JUST_BEFORE

        assert not api.get(self.FIGURES, uuid=campaign).json()["is_exact"]

    def test_the_schedule_of_a_contact_says_what_became_of_each_event(
        self, api: Api, database: Database, workspace: Workspace, campaign: str, clock: Clock, run: Callable[[], None]
    ) -> None:
        make_field(database, workspace, "Birthday", "datetime")
        amina, flow_uuid = add_member(database, workspace), make_flow(database, workspace, "Survey")
        with database.writing() as tx:
            flow_id = tx.execute(select(flow.c.id).where(flow.c.uuid == flow_uuid)).scalar_one()
        add_waiting(database, workspace, flow_id, amina)
        made = {
            "fired": make_event(database, workspace, campaign),
            "skipped": make_event(database, workspace, campaign, start_mode="S"),
            "scheduled": make_event(database, workspace, campaign, offset=9),
            "past": make_event(database, workspace, campaign, offset=-90),
            "undated": make_event(database, workspace, campaign, relative_to="birthday"),
        }
        run()
        clock.moment = DUE
        run()

        answer = api.get(self.SCHEDULE, contact=uuid_of(database, contact, amina)).json()

        found = {each["status"]: each for each in answer["results"]}
        assert {name: each["event"] for name, each in found.items()} == {
            name: uuid_of(database, campaign_event, event_id) for name, event_id in made.items()
        }
        first, *_, last_but_one, last = (each["status"] for each in answer["results"])
        assert (first, last_but_one, last) == ("scheduled", "past", "undated")
        assert found["fired"] | {"event": None} == {
            "campaign": {"uuid": campaign, "name": "Antenatal"},
            "event": None,
            "relative_to": {"key": "due_date", "name": "Due Date", "label": "Due Date"},
            "offset": 1,
            "unit": "days",
            "delivery_hour": -1,
            "flow": None,
            "text": "Hello @contact.first_name",
            "time": "2026-03-21T07:30:00.000000Z",
            "status": "fired",
        }
        assert found["undated"]["time"] is None

    def test_neither_takes_more_statements_for_more_events_and_contacts(
        self,
        api: Api,
        database: Database,
        workspace: Workspace,
        campaign: str,
        run: Callable[[], None],
        statements: list[str],
    ) -> None:
        amina = uuid_of(database, contact, add_member(database, workspace))
        counts = []
        # The first request of a token is one that nobody has seen before.
        for _ in range(3):
            for _ in range(3):
                make_event(database, workspace, campaign)
                add_member(database, workspace)
            run()
            statements.clear()
            assert api.get(self.FIGURES, uuid=campaign).status_code == 200
            assert len(api.get(self.SCHEDULE, contact=amina).json()["results"]) >= 3
            counts.append(len(statements))

        assert counts[1] == counts[2]
