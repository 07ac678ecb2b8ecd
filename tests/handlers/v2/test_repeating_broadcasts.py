"""Broadcasts that repeat, drafts, and changes of what has not begun."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from persistence.broadcasts.expansion import expand_next
from persistence.broadcasts.schedules import begin_next
from persistence.database import Database
from persistence.sql.columns import time_text
from persistence.tables.accounts import workspace as workspace_table
from persistence.tables.contacts import group
from persistence.tables.messages import broadcast
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_channel
from tests.conftest import Clock
from tests.factories import make_contact, make_named

PATH, PROGRESS = "/api/v2/broadcasts.json", "/api/v2/broadcast_progress.json"
PREVIEWS, ACTIONS, MESSAGES = (
    "/api/v2/broadcast_previews.json",
    "/api/v2/broadcast_actions.json",
    "/api/v2/messages.json",
)
CONTACT_ACTIONS, CALENDAR = "/api/v2/contact_actions.json", "/api/v2/calendar.json"
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
TIMES = ("scheduled_on", "repeat", "days", "repeat_until", "repeat_times", "repeated")


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> str:
    add_channel(database, workspace)
    return make_contact(database, workspace, "+250788000111", name="Amina")


def write(api: Api, status: int, uuid: str | None = None, **body: Any) -> Any:
    answer = api.post(PATH, body, **({} if uuid is None else {"uuid": uuid}))
    assert answer.status_code == status, answer.text
    return answer.json()


def work(database: Database, workspace: Workspace) -> None:
    """What a worker does about the broadcasts of a workspace."""
    while database.write(lambda tx: begin_next(tx, workspace.id)):
        pass
    while database.write(lambda tx: expand_next(tx, workspace.id)):
        pass


def show(api: Api, uuid: str) -> dict[str, Any]:
    (found,) = api.results(PATH, uuid=uuid)
    return found


def made_by(api: Api, parent: str) -> list[str]:
    """For when each broadcast of one that repeats was, the oldest first."""
    return [each["scheduled_on"] for each in reversed(api.results(PATH, parent=parent))]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


class TestRepeating:
    def test_each_time_makes_a_broadcast_of_its_own_for_those_who_are_meant_then(
        self, api: Api, database: Database, workspace: Workspace, amina: str, clock: Clock
    ) -> None:
        (mothers,) = make_named(database, workspace, group, ["Mothers"])
        first = clock.moment + HOUR
        parent = write(
            api,
            201,
            text="Come",
            groups=["Mothers"],
            query="name = Bosco",
            scheduled_on=time_text(first),
            repeat="daily",
        )
        clock.advance(hours=1)
        work(database, workspace)
        make_contact(database, workspace, "+250788000112", name="Bosco")
        api.post(CONTACT_ACTIONS, {"contacts": [amina], "action": "add", "group": mothers})
        clock.advance(days=1)
        work(database, workspace)

        made = api.results(PATH, parent=parent["uuid"])
        assert [each["progress"]["total"] for each in made] == [2, 0]
        assert made_by(api, parent["uuid"]) == [time_text(first), time_text(first + DAY)]
        assert {each["parent"] for each in made} == {parent["uuid"]} and {each["repeat"] for each in made} == {None}
        assert [each["uuid"] for each in api.results(PATH)] == [each["uuid"] for each in made]
        (told,) = api.results(PATH, scheduled="true")
        assert (told["status"], told["repeated"], told["parent"]) == ("pending", 2, None)
        assert told["scheduled_on"] == time_text(first + 2 * DAY)
        assert api.results(MESSAGES, broadcast=parent["uuid"]) == []

    def test_times_that_were_missed_are_made_up_for_once_and_nothing_comes_twice(
        self, api: Api, database: Database, workspace: Workspace, amina: str, clock: Clock
    ) -> None:
        first = clock.moment + HOUR
        parent = write(api, 201, text="Hi", contacts=[amina], scheduled_on=time_text(first), repeat="daily")
        clock.advance(days=10)
        work(database, workspace)
        work(database, workspace)

        assert made_by(api, parent["uuid"]) == [time_text(first)]
        assert show(api, parent["uuid"])["scheduled_on"] == time_text(first + 10 * DAY)

    @pytest.mark.parametrize("end", ["repeat_times", "repeat_until"])
    def test_it_ends_after_so_many_times_or_with_its_last_day(
        self, api: Api, database: Database, workspace: Workspace, amina: str, clock: Clock, end: str
    ) -> None:
        first = clock.moment + HOUR
        ends = {"repeat_times": 2} if end == "repeat_times" else {"repeat_until": str((first + DAY).date())}
        parent = write(api, 201, text="Hi", contacts=[amina], scheduled_on=time_text(first), repeat="daily", **ends)
        coming = [time_text(first), time_text(first + DAY)]
        assert api.get(PROGRESS, uuid=parent["uuid"]).json()["next_times"] == coming
        assert parent[end] == ends[end]
        for _ in range(4):
            clock.advance(days=1)
            work(database, workspace)

        assert made_by(api, parent["uuid"]) == coming
        ended = show(api, parent["uuid"])
        assert (ended["status"], ended["repeated"]) == ("completed", 2)
        assert [each["uuid"] for each in api.results(PATH, scheduled="true")] == [parent["uuid"]]
        assert api.get(PROGRESS, uuid=parent["uuid"]).json()["next_times"] == []

    def test_one_that_is_stopped_makes_no_more(
        self, api: Api, database: Database, workspace: Workspace, amina: str, clock: Clock
    ) -> None:
        parent = write(
            api, 201, text="Hi", contacts=[amina], scheduled_on=time_text(clock.moment + HOUR), repeat="daily"
        )
        clock.advance(hours=1)
        work(database, workspace)
        for wish in ({"draft": True}, {"repeat_times": 1}):
            assert wish.keys() == write(api, 400, parent["uuid"], **wish).keys() - {"code"}
        assert api.post(ACTIONS, {"broadcasts": [parent["uuid"]], "action": "stop"}).status_code == 204
        clock.advance(days=3)
        work(database, workspace)

        assert len(made_by(api, parent["uuid"])) == 1
        assert show(api, parent["uuid"])["status"] == "interrupted"

    def test_the_time_of_day_is_that_of_the_workspace_when_clocks_change(
        self, api: Api, database: Database, workspace: Workspace, amina: str, clock: Clock
    ) -> None:
        with database.writing() as tx:
            tx.execute(workspace_table.update().values(timezone="Europe/Berlin"))
        clock.moment = at("2026-03-27T12:00:00+00:00")
        times = {"scheduled_on": "2026-03-28T08:00:00+01:00", "repeat": "daily", "repeat_times": 2}
        found = api.post(PREVIEWS, {"text": "Hi", "contacts": [amina], **times}).json()
        parent = write(api, 201, text="Hi", contacts=[amina], **times)
        for _ in range(3):
            clock.advance(days=1)
            work(database, workspace)

        expected = ["2026-03-28T07:00:00.000000Z", "2026-03-29T06:00:00.000000Z"]
        assert made_by(api, parent["uuid"]) == found["next_times"] == expected

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("how", "days", "expected"),
        [
            ({"repeat": "monthly"}, "31", ["2027-01-31T06:00", "2027-02-28T06:00", "2027-03-31T06:00"]),
            ({"repeat": "monthly", "days": "30"}, "30", ["2027-01-31T06:00", "2027-02-28T06:00", "2027-03-30T06:00"]),
            ({"repeat": "weekly", "days": "MU"}, "MU", ["2027-01-31T06:00", "2027-02-01T06:00", "2027-02-07T06:00"]),
        ],
    )
    def test_the_next_three_times_are_told(
        self, api: Api, amina: str, clock: Clock, how: dict[str, str], days: str, expected: list[str]
    ) -> None:
        clock.moment = at("2027-01-01T12:00:00+00:00")
        body = {"text": "Hi", "contacts": [amina], "scheduled_on": "2027-01-31T08:00:00+02:00", **how}
        made = write(api, 201, **body)

        coming = [f"{moment}:00.000000Z" for moment in expected]
        assert api.post(PREVIEWS, body).json()["next_times"] == coming
        assert (made["repeat"], made["days"], made["scheduled_on"]) == (how["repeat"], days, coming[0])
        assert api.get(PROGRESS, uuid=made["uuid"]).json()["next_times"] == coming
        told = [each["time"] for each in api.get(CALENDAR, days=59).json()["items"] if each["uuid"] == made["uuid"]]
        assert told[: len(coming)][:2] == coming[:2]

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"repeat": "daily", "scheduled_on": None}, "scheduled_on"),
            ({"repeat": "weekly"}, "days"),
            ({"repeat": "monthly", "days": "MF"}, "days"),
            ({"repeat": "daily", "days": "MF"}, "days"),
            ({"days": "MF"}, "days"),
            ({"repeat_times": 2}, "repeat_times"),
            ({"repeat": "daily", "repeat_until": "2020-01-01"}, "repeat_until"),
            ({"repeat": "daily", "repeat_until": "2027-02-30"}, "repeat_until"),
            ({"repeat": "daily", "repeat_times": 0}, "repeat_times"),
            ({"repeat": "hourly"}, "repeat"),
        ],
        ids=str,
    )
    def test_what_is_wrong_is_named_and_nothing_is_stored(
        self, api: Api, amina: str, clock: Clock, body: dict[str, Any], field: str
    ) -> None:
        refused = write(
            api, 400, **{"text": "Hi", "contacts": [amina], "scheduled_on": time_text(clock.moment + HOUR), **body}
        )

        assert field in refused, refused
        assert api.results(PATH, scheduled="true") == api.results(PATH) == []


class TestDrafts:
    def test_a_draft_waits_until_it_is_sent(
        self, api: Api, database: Database, workspace: Workspace, amina: str, clock: Clock
    ) -> None:
        draft = write(api, 201, text="Hi", draft=True)
        clock.advance(hours=1)
        work(database, workspace)
        assert draft["status"] == "draft"
        assert api.results(PATH) == api.results(PATH, scheduled="true") == []
        assert api.results("/api/v1/broadcasts.json") == []
        assert [each["uuid"] for each in api.results(PATH, draft="true")] == [draft["uuid"]]
        assert "At least one URN" in str(write(api, 400, draft["uuid"], draft=False))

        changed = write(api, 200, draft["uuid"], text={"eng": "Hello", "fra": "Bonjour"}, contacts=[amina])
        assert (changed["status"], changed["text"]) == ("draft", {"eng": "Hello", "fra": "Bonjour"})
        clock.advance(hours=1)
        moment = time_text(clock.moment)
        sent = write(api, 200, draft["uuid"], draft=False)
        work(database, workspace)

        assert (sent["uuid"], sent["status"]) == (draft["uuid"], "pending")
        assert [each["uuid"] for each in api.results(PATH, after=moment)] == [draft["uuid"]]
        assert [each["text"] for each in api.results(MESSAGES, broadcast=draft["uuid"])] == ["Hello"]
        assert api.results(PATH, draft="true") == []

    def test_a_draft_is_scheduled_and_made_a_draft_again(
        self, api: Api, database: Database, workspace: Workspace, amina: str, clock: Clock
    ) -> None:
        when = time_text(clock.moment + HOUR)
        draft = write(api, 201, text="Hi", contacts=[amina], draft=True, scheduled_on=when, repeat="daily")
        assert write(api, 200, draft["uuid"], draft=False)["status"] == "pending"
        again = write(api, 200, draft["uuid"], draft=True)
        clock.advance(hours=2)
        work(database, workspace)

        assert {name: again[name] for name in TIMES} == {name: draft[name] for name in TIMES}
        assert api.results(PATH) == []
        assert "scheduled_on" in write(api, 400, draft["uuid"], draft=False)
        assert write(api, 200, draft["uuid"], text="Ho")["text"] == {"eng": "Ho"}
        assert write(api, 200, draft["uuid"], draft=False, scheduled_on=None)["repeat"] is None
        work(database, workspace)
        assert len(api.results(MESSAGES, broadcast=draft["uuid"])) == 1

    def test_only_a_draft_is_deleted(self, api: Api, other_api: Api, amina: str, clock: Clock) -> None:
        draft = write(api, 201, text="Hi", contacts=[amina], draft=True)
        scheduled = write(api, 201, text="Hi", contacts=[amina], scheduled_on=time_text(clock.moment + HOUR))
        sent = write(api, 201, text="Hi", contacts=[amina])

        assert other_api.delete(PATH, uuid=draft["uuid"]).status_code == 404
        assert other_api.post(PATH, {"text": "Ho"}, uuid=draft["uuid"]).status_code == 404
        for each in (scheduled, sent):
            assert api.delete(PATH, uuid=each["uuid"]).status_code == 400
        assert api.delete(PATH, uuid=draft["uuid"]).status_code == 204
        assert api.delete(PATH, uuid=draft["uuid"]).status_code == 404
        assert api.results(PATH, draft="true") == []
        assert [each["uuid"] for each in api.results("/api/v2/deletions.json", type="broadcast")] == [draft["uuid"]]


class TestChanges:
    def test_what_is_given_changes_and_the_rest_stays(
        self, api: Api, database: Database, workspace: Workspace, amina: str, clock: Clock
    ) -> None:
        make_named(database, workspace, group, ["Mothers"])
        urn = "tel:+250788000113"
        made = write(
            api,
            201,
            text={"eng": "Hi", "fra": "Salut"},
            base_language="fra",
            quick_replies={"fra": [{"text": "Oui"}]},
            contacts=[amina],
            urns=[urn],
            groups=["Mothers"],
            query="name = Bosco",
            scheduled_on=time_text(clock.moment + HOUR),
            repeat="weekly",
            days="MF",
            repeat_times=5,
        )
        uuid = made["uuid"]
        stays = {
            name: made[name] for name in made if name not in ("text", "modified_on", "quick_replies", "attachments")
        }

        changed = write(api, 200, uuid, text={"eng": "Hello", "fra": "Bonjour", "kin": "Muraho"})
        assert {name: changed[name] for name in stays} == stays
        assert changed["text"]["kin"] == "Muraho" and changed["quick_replies"]["fra"] == [{"text": "Oui"}]
        assert changed["modified_on"] > made["modified_on"]
        assert api.get(PROGRESS, uuid=uuid).json()["query"] == "name = Bosco"

        fewer = write(api, 200, uuid, groups=[], urns=[], query=None)
        assert (fewer["groups"], fewer["urns"], fewer["contacts"]) == ([], [], made["contacts"])
        assert "non_field_errors" in write(api, 400, uuid, contacts=[])
        later = write(api, 200, uuid, scheduled_on=time_text(clock.moment + 2 * HOUR), repeat_times=None)
        assert (later["repeat"], later["days"], later["repeat_times"]) == ("weekly", "MF", None)
        once = write(api, 200, uuid, repeat="never")
        assert (once["repeat"], once["days"], once["scheduled_on"]) == (None, None, later["scheduled_on"])
        clock.advance(hours=2)
        work(database, workspace)

        assert [each["text"] for each in api.results(MESSAGES, broadcast=uuid)] == ["Hello"]

    def test_another_language_takes_the_place_of_the_former_one(self, api: Api, amina: str, clock: Clock) -> None:
        made = write(api, 201, text={"eng": "Hi"}, contacts=[amina], scheduled_on=time_text(clock.moment + HOUR))

        changed = write(api, 200, made["uuid"], text={"fra": "Salut"})

        assert (changed["text"], changed["base_language"]) == ({"fra": "Salut"}, "fra")

    def test_a_day_of_the_month_that_february_lacks_outlives_a_change_of_the_end(
        self, api: Api, database: Database, workspace: Workspace, amina: str, clock: Clock
    ) -> None:
        clock.moment = at("2027-01-30T12:00:00+00:00")
        times = {"scheduled_on": "2027-01-31T06:00:00Z", "repeat": "monthly"}
        made = write(api, 201, text="Hi", contacts=[amina], **times)
        clock.moment = at("2027-02-01T12:00:00+00:00")
        work(database, workspace)

        changed = write(api, 200, made["uuid"], repeat_times=9)

        assert (changed["days"], changed["scheduled_on"]) == ("31", "2027-02-28T06:00:00.000000Z")

    @pytest.mark.parametrize("state", ["begun", "sent", "stopped", "made by another"])
    def test_what_has_begun_or_was_stopped_is_not_changed(
        self, api: Api, database: Database, workspace: Workspace, amina: str, clock: Clock, state: str
    ) -> None:
        body: dict[str, Any] = {"text": "Hi", "contacts": [amina], "scheduled_on": time_text(clock.moment + HOUR)}
        made = write(api, 201, **(body | ({"repeat": "daily"} if state == "made by another" else {})))
        clock.advance(hours=1)
        if state == "stopped":
            api.post(ACTIONS, {"broadcasts": [made["uuid"]], "action": "stop"})
        else:
            database.write(lambda tx: begin_next(tx, workspace.id))
        if state == "sent":
            work(database, workspace)
        if state == "made by another":
            (made,) = api.results(PATH, parent=made["uuid"])
        before = show(api, made["uuid"])

        refused = write(api, 400, made["uuid"], text="Ho")

        assert refused["detail"].startswith("This broadcast has begun or was stopped")
        assert show(api, made["uuid"]) == before

    def test_more_than_so_many_do_not_repeat_at_a_time(
        self, api: Api, database: Database, amina: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("persistence.broadcasts.forms.REPEATING_PER_WORKSPACE", 1)
        body: dict[str, Any] = {"text": "Hi", "contacts": [amina], "scheduled_on": time_text(clock.moment + HOUR)}
        made = write(api, 201, **body, repeat="daily")

        assert "stop those that are not needed" in write(api, 409, **body, repeat="daily")["detail"]
        draft = write(api, 201, **body, repeat="daily", draft=True)
        write(api, 409, draft["uuid"], draft=False)
        write(api, 200, made["uuid"], text="Ho", repeat="daily")
        with database.reading() as tx:
            assert len(tx.execute(select(broadcast.c.id)).all()) == 2
