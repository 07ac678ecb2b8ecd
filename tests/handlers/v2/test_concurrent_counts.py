"""Counts of groups and labels, and owners of URNs, when many requests change them at the same time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle

import httpx
from sqlalchemy import func, select

from persistence.database import Database
from persistence.tables.contacts import group, group_membership
from persistence.tables.messages import VISIBLE, label, message, message_label
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import make_contact, make_messages, make_named

CONTACTS = "/api/v2/contacts.json"
CONTACT_ACTIONS = "/api/v2/contact_actions.json"
MESSAGE_ACTIONS = "/api/v2/message_actions.json"
THREADS = 6


def race(*requests: Callable[[], httpx.Response], rounds: int = 6) -> list[int]:
    """Run each of the requests this many times, several at a time; the status codes."""
    order = [request for request, _ in zip(cycle(requests), range(rounds * len(requests)), strict=False)]
    with ThreadPoolExecutor(THREADS) as threads:
        return [done.status_code for done in threads.map(lambda request: request(), order)]


class TestLabelCounts:
    def test_a_count_is_that_of_the_visible_messages_whatever_was_done_to_them_at_once(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        amina = make_contact(database, workspace, "+250788000111")
        ids = make_messages(database, workspace, amina, 5)
        uuid = make_named(database, workspace, label, ["Complaint"])[0]

        def act(action: str, **more: str) -> Callable[[], httpx.Response]:
            return lambda: api.post(MESSAGE_ACTIONS, {"messages": ids, "action": action, **more})

        def archive_all() -> httpx.Response:
            return api.post(CONTACT_ACTIONS, {"contacts": [amina], "action": "archive_messages"})

        codes = race(
            act("label", label=uuid), act("archive"), act("restore"), archive_all, act("unlabel", label=uuid),
            act("archive"), act("label", label=uuid), act("restore"),
        )  # fmt: skip

        assert set(codes) == {204}
        assert label_count(database) == labeled_and_visible(database)

    def test_messages_deleted_twice_at_once_are_taken_off_once(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        ids = make_messages(database, workspace, make_contact(database, workspace, "+250788000111"), 30)
        make_named(database, workspace, label, ["Complaint"])
        api.post(MESSAGE_ACTIONS, {"messages": ids, "action": "label", "label": "Complaint"})

        race(lambda: api.post(MESSAGE_ACTIONS, {"messages": ids[:20], "action": "delete"}))

        assert label_count(database) == 10


class TestGroupCounts:
    def test_a_count_is_that_of_the_members_whatever_was_done_to_them_at_once(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        people = [make_contact(database, workspace, f"+25078800011{number}") for number in range(4)]
        reporters, nurses = make_named(database, workspace, group, ["Reporters", "Nurses"])

        def act(action: str, **more: str) -> Callable[[], httpx.Response]:
            return lambda: api.post(CONTACT_ACTIONS, {"contacts": people, "action": action, **more})

        codes = race(
            act("add", group=reporters), act("block"), act("unblock"), act("add", group=nurses),
            act("remove", group=reporters), lambda: api.post(CONTACTS, {"groups": [nurses]}, uuid=people[0]),
        )  # fmt: skip

        assert set(codes) <= {200, 204, 400}
        assert group_counts(database) == members(database)

    def test_a_blocked_contact_is_in_no_group_whoever_came_first(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        amina = make_contact(database, workspace, "+250788000111")
        reporters = make_named(database, workspace, group, ["Reporters"])[0]

        race(
            lambda: api.post(CONTACT_ACTIONS, {"contacts": [amina], "action": "add", "group": reporters}),
            lambda: api.post(CONTACT_ACTIONS, {"contacts": [amina], "action": "block"}),
        )

        assert api.results(CONTACTS, uuid=amina)[0]["groups"] == []
        assert group_counts(database) == members(database)


class TestAddresses:
    def test_an_address_that_many_claim_at_once_belongs_to_one(self, api: Api, database: Database) -> None:
        codes = race(lambda: api.post(CONTACTS, {"urns": ["tel:+250788000111"]}), rounds=12)

        assert sorted(set(codes)) == [201, 400]
        assert codes.count(201) == 1
        assert [one["urns"] for one in api.results(CONTACTS)] == [["tel:+250788000111"]]

    def test_a_free_address_that_many_claim_at_once_stays_with_the_first(self, api: Api) -> None:
        uuid = api.post(CONTACTS, {"urns": ["tel:+250788000111"]}).json()["uuid"]
        api.post(CONTACTS, {"urns": []}, uuid=uuid)

        codes = race(lambda: api.post(CONTACTS, {"urns": ["tel:+250788000111"]}), rounds=12)

        assert codes.count(201) == 1
        assert sorted(one["urns"] for one in api.results(CONTACTS)) == [[], ["tel:+250788000111"]]

    def test_a_contact_that_many_look_for_by_its_address_is_made_once(self, api: Api) -> None:
        codes = race(lambda: api.post(CONTACTS, {"name": "Amina"}, urn="tel:+250788000111"), rounds=12)

        assert sorted(set(codes)) == [200, 201]
        assert codes.count(201) == 1
        assert len(api.results(CONTACTS)) == 1


def label_count(database: Database) -> int:
    with database.reading() as tx:
        return int(tx.execute(select(label.c.message_count)).scalar_one())


def labeled_and_visible(database: Database) -> int:
    with database.reading() as tx:
        links = select(func.count()).select_from(message_label.join(message)).where(message.c.visibility == VISIBLE)
        return int(tx.execute(links).scalar_one())


def group_counts(database: Database) -> dict[int, int]:
    with database.reading() as tx:
        manual = select(group.c.id, group.c.member_count).where(group.c.member_count != 0)
        return {row.id: row.member_count for row in tx.execute(manual)}


def members(database: Database) -> dict[int, int]:
    with database.reading() as tx:
        counted = select(group_membership.c.group_id, func.count().label("n")).group_by(group_membership.c.group_id)
        return {row.group_id: row.n for row in tx.execute(counted)}
