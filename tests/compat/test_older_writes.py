"""Everything the last published client of generation 1 creates, changes, deletes and does in bulk, and its errors."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from persistence.contacts.owners import find_contact
from persistence.tables.contacts import group
from testbed.flow_rows import ask, definition, node, say, store_flow
from testbed.running import wait_until
from testbed.tokens import make_token
from tests.channel_rows import add_channel
from tests.compat.conftest import Tenant
from tests.compat.older_client import load_older_client
from tests.factories import make_contact, make_messages, make_named
from tests.run_rows import add_flow, add_waiting

AMINA = "tel:+250788000111"
UNKNOWN = "0f9e8d7c-6b5a-4c3d-8e2f-1a0b9c8d7e6f"


@pytest.fixture(scope="module")
def older(pytestconfig: pytest.Config) -> ModuleType:
    return load_older_client(pytestconfig)


@pytest.fixture
def client(older: ModuleType, tenant: Tenant) -> Any:
    return older.TembaClient(tenant.url, tenant.token)


@pytest.fixture
def survey(tenant: Tenant) -> str:
    """A flow that asks a question; returns its UUID."""
    nodes = [node("hello", [say("Have you a card?")], "ask"), ask("ask", {"Yes": "bye"}, "bye"), node("bye")]
    made = definition("Survey", nodes, uuid=f"f{tenant.workspace.uuid[1:]}")
    return store_flow(tenant.service.database, tenant.workspace, made)


@pytest.fixture
def nurses(tenant: Tenant) -> str:
    """A group; returns its UUID. The older client makes none."""
    return make_named(tenant.service.database, tenant.workspace, group, ["Nurses"])[0]


@pytest.fixture
def people(client: Any) -> list[str]:
    return [client.create_contact(name, [f"tel:+2507880001{index:02}"], {}, []).uuid for index, name in enumerate("AB")]


class TestWrites:
    def test_a_contact_is_created_changed_and_deleted(self, client: Any, nurses: str) -> None:
        client.create_field("Due Date", "T")

        made = client.create_contact("Amina", [AMINA], {"due_date": "soon"}, [nurses])
        changed = client.update_contact(
            made.uuid, "Amina W", [AMINA, "mailto:a@example.org"], {"due_date": "later"}, []
        )

        assert (made.name, made.urns, made.groups, made.fields) == ("Amina", [AMINA], [nurses], {"due_date": "soon"})
        assert (made.blocked, made.failed, made.language) == (False, False, None)
        assert (changed.uuid, changed.name, changed.groups) == (made.uuid, "Amina W", [])
        assert (changed.urns, changed.fields) == ([AMINA, "mailto:a@example.org"], {"due_date": "later"})

        client.delete_contact(made)

        assert client.get_contacts() == []
        assert [one.uuid for one in client.get_contacts(deleted=True)] == [made.uuid]

    def test_fields_and_labels_are_created_and_labels_renamed(self, client: Any) -> None:
        field = client.create_field("Due Date", "D")
        again = client.create_field("Deadline", "T", key=field.key)
        label = client.create_label("Complaint")
        renamed = client.update_label(label.uuid, "Praise")

        assert (field.key, field.label, field.value_type) == ("due_date", "Due Date", "D")
        assert (again.key, again.label, again.value_type) == ("due_date", "Deadline", "T")
        assert (renamed.uuid, renamed.name, renamed.count) == (label.uuid, "Praise", 0)

    def test_a_broadcast_reaches_everybody_named(
        self, client: Any, tenant: Tenant, nurses: str, people: list[str]
    ) -> None:
        add_channel(tenant.service.database, tenant.workspace)
        client.add_contacts(people, group_uuid=nurses)

        made = client.create_broadcast("Hi", urns=[AMINA], contacts=people[:1], groups=[nurses])

        assert (made.text, made.status) == ("Hi", "I")
        assert (made.urns, made.contacts, made.groups) == ([AMINA], people[:1], [nurses])
        wait_until(lambda: client.get_broadcast(made.id).status == "S", "the broadcast")
        assert [one.text for one in client.get_messages(broadcasts=[made])] == ["Hi"] * 3

    def test_a_campaign_and_its_events_are_created_and_deleted(self, client: Any, nurses: str, survey: str) -> None:
        client.create_field("Due Date", "D")
        campaign = client.create_campaign("Reminders", nurses)

        spoken = client.create_event(campaign, "Due Date", -2, "D", 9, message="See you soon")
        flowing = client.create_event(campaign, "Due Date", 1, "W", -1, flow=survey)

        assert (campaign.name, campaign.group) == ("Reminders", nurses)
        assert (spoken.campaign, spoken.relative_to, spoken.offset) == (campaign.uuid, "Due Date", -2)
        assert (spoken.unit, spoken.delivery_hour, spoken.message, spoken.flow) == ("D", 9, "See you soon", None)
        assert (flowing.flow, flowing.message) == (survey, None)

        client.delete_event(flowing)

        assert [one.uuid for one in client.get_events(campaigns=[campaign])] == [spoken.uuid]

    def test_runs_are_made_at_once_and_waited_for(
        self, client: Any, tenant: Tenant, survey: str, people: list[str]
    ) -> None:
        add_channel(tenant.service.database, tenant.workspace)

        runs = client.create_runs(survey, people, restart_participants=True, extra={"first_name": "Amina"})

        assert sorted(one.contact for one in runs) == sorted(people)
        assert {one.flow for one in runs} == {survey}
        assert len(client.get_runs(flows=[survey])) == 2


class TestContactActions:
    def test_contacts_join_and_leave_a_group(self, client: Any, nurses: str, people: list[str]) -> None:
        client.add_contacts(people, group_uuid=nurses)
        client.remove_contacts(people[:1], group="nurses")

        assert client.get_group(nurses).size == 1

    def test_contacts_are_blocked_and_unblocked(self, client: Any, people: list[str]) -> None:
        client.block_contacts(people)
        blocked = [one.blocked for one in client.get_contacts()]
        client.unblock_contacts(people[:1])

        assert blocked == [True, True]
        assert client.get_contact(people[0]).blocked is False

    def test_their_messages_are_archived_and_their_runs_expire(
        self, client: Any, tenant: Tenant, people: list[str]
    ) -> None:
        database, workspace = tenant.service.database, tenant.workspace
        make_messages(database, workspace, people[0], 2)
        with database.reading() as tx:
            contact_id = find_contact(tx, workspace.id, people[0])
        assert contact_id is not None
        add_waiting(database, workspace, add_flow(database, workspace), contact_id)

        client.archive_contacts(people)
        client.expire_contacts(people)

        assert len(client.get_messages(archived=True)) == 2
        assert client.get_runs()[0].expired_on is not None

    def test_contacts_are_deleted(self, client: Any, people: list[str]) -> None:
        client.delete_contacts(people)

        assert client.get_contacts() == []


class TestMessageActions:
    @pytest.fixture
    def messages(self, tenant: Tenant) -> list[int]:
        uuid = make_contact(tenant.service.database, tenant.workspace)
        return make_messages(tenant.service.database, tenant.workspace, uuid, 3)

    def test_messages_are_labeled_by_name_or_uuid(self, client: Any, messages: list[int]) -> None:
        label = client.create_label("Complaint")

        client.label_messages(messages, label_uuid=label.uuid)
        client.label_messages(messages[:1], label="Praise")
        client.unlabel_messages(messages[1:], label="Complaint")
        client.unlabel_messages(messages[:1], label_uuid=client.get_labels(name="Praise")[0].uuid)

        assert {one.name: one.count for one in client.get_labels()} == {"Complaint": 1, "Praise": 0}

    def test_messages_are_archived_restored_and_deleted(self, client: Any, messages: list[int]) -> None:
        client.archive_messages(messages)
        archived = len(client.get_messages(archived=True))
        client.unarchive_messages(messages[:2])
        client.delete_messages(messages[:1])

        assert archived == 3
        assert [one.id for one in client.get_messages(archived=False)] == messages[1:2]


class TestErrors:
    def test_each_error_of_the_client_is_met(self, older: ModuleType, client: Any, tenant: Tenant) -> None:
        errors = older.TembaClient._request.__globals__
        viewer = make_token(tenant.service.database, tenant.workspace, "viewer")
        cases: list[tuple[str, Callable[[], Any]]] = [
            ("TembaTokenError", lambda: older.TembaClient(tenant.url, "0" * 40).get_groups()),
            ("TembaTokenError", lambda: older.TembaClient(tenant.url, viewer).get_groups()),
            ("TembaNoSuchObjectError", lambda: client.get_contact(UNKNOWN)),
            ("TembaNoSuchObjectError", lambda: client.delete_contact(UNKNOWN)),
            ("TembaNoSuchObjectError", lambda: client.get_groups(pager=client.pager(start_page=9))),
            ("TembaBadRequestError", lambda: client.create_broadcast("x" * 481, urns=[AMINA])),
            ("TembaBadRequestError", lambda: client.create_runs(UNKNOWN, [UNKNOWN], restart_participants=True)),
            ("TembaBadRequestError", lambda: client.update_label(UNKNOWN, "Praise")),
            ("TembaConnectionError", lambda: older.TembaClient("http://127.0.0.1:9", tenant.token).get_groups()),
        ]
        for name, call in cases:
            with pytest.raises(errors[name]):
                call()
