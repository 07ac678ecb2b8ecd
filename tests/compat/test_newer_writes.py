"""Everything the published client of generation 2 creates, updates and deletes."""

from collections.abc import Callable
from typing import Any

import pytest
import requests
from temba_client.exceptions import TembaBadRequestError, TembaNoSuchObjectError
from temba_client.v2 import TembaClient

from persistence.resthooks import record_resthook_event
from testbed.flow_rows import ask, definition, node, say, store_flow
from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from tests.channel_rows import add_channel
from tests.compat.conftest import Tenant

AMINA = "tel:+250788000111"


@pytest.fixture
def client(tenant: Tenant) -> TembaClient:
    return TembaClient(tenant.url, tenant.token)


@pytest.fixture
def survey(tenant: Tenant) -> str:
    """A flow that asks a question; returns its UUID."""
    nodes = [node("hello", [say("Have you a card?")], "ask"), ask("ask", {"Yes": "bye"}, "bye"), node("bye")]
    made = definition("Survey", nodes, uuid=f"f{tenant.workspace.uuid[1:]}")
    return store_flow(tenant.service.database, tenant.workspace, made)


class TestContacts:
    def test_a_contact_is_created_changed_and_deleted(self, client: TembaClient) -> None:
        group, other = client.create_group("Nurses"), client.create_group("Reporters")
        client.create_field("Due Date", "text")

        made = client.create_contact(
            name="Amina", language="eng", urns=[AMINA], fields={"due_date": "soon"}, groups=[group, other.uuid]
        )
        changed = client.update_contact(made, name="Amina W", fields={"due_date": "later"}, groups=["Nurses"])
        by_urn = client.update_contact(AMINA, language="kin")

        assert (made.name, made.language, made.urns, made.fields) == ("Amina", "eng", [AMINA], {"due_date": "soon"})
        assert sorted(one.name for one in made.groups) == ["Nurses", "Reporters"]
        assert (changed.uuid, changed.name, changed.fields) == (made.uuid, "Amina W", {"due_date": "later"})
        assert [one.name for one in changed.groups] == ["Nurses"]
        assert (by_urn.uuid, by_urn.language) == (made.uuid, "kin")

        client.delete_contact(made)

        assert client.get_contacts(uuid=made.uuid).first() is None

    def test_a_contact_may_be_made_of_nothing_and_deleted_by_urn(self, client: TembaClient) -> None:
        assert client.create_contact().name is None
        client.create_contact(urns=[AMINA])

        client.delete_contact(AMINA)

        assert client.get_contacts(urn=AMINA).first() is None
        with pytest.raises(TembaNoSuchObjectError):
            client.delete_contact(AMINA)

    def test_a_field_is_created_and_changed(self, client: TembaClient) -> None:
        made = client.create_field("Due Date", "datetime")
        changed = client.update_field(made, "Deadline", "text")

        assert (made.key, made.name, made.type) == ("due_date", "Due Date", "datetime")
        assert (changed.key, changed.name, changed.type) == ("due_date", "Deadline", "text")

    def test_groups_and_labels_are_created_renamed_and_deleted(self, client: TembaClient) -> None:
        group, label = client.create_group("Nurses"), client.create_label("Complaint")
        renamed = client.update_group(group, "Midwives"), client.update_label(label, "Praise")

        assert (group.name, group.query, group.status, group.system, group.count) == ("Nurses", None, "ready", False, 0)
        assert [(one.uuid, one.name) for one in renamed] == [(group.uuid, "Midwives"), (label.uuid, "Praise")]

        client.delete_group(group)
        client.delete_label(label.uuid)

        assert client.get_groups(uuid=group.uuid).first() is None
        assert client.get_labels().all() == []

    def test_a_global_is_created_and_changed(self, client: TembaClient) -> None:
        made = client.create_global("Org Name", "Riverside")
        changed = client.update_global(made, "Hillside")

        assert (made.key, made.name, made.value) == ("org_name", "Org Name", "Riverside")
        assert (changed.key, changed.value) == ("org_name", "Hillside")


class TestMessages:
    def test_a_message_is_sent_with_a_file_and_quick_replies(self, client: TembaClient, tenant: Tenant) -> None:
        add_channel(tenant.service.database, tenant.workspace)
        contact = client.create_contact(urns=[AMINA])
        file = upload(tenant)

        made = client.create_message(contact, "Hi", [file["uuid"]], [{"text": "OK"}, {"text": "No", "extra": "Why?"}])

        assert (made.text, made.direction, made.status, made.urn) == ("Hi", "out", "queued", AMINA)
        assert made.contact.uuid == contact.uuid
        assert [(one.content_type, one.url) for one in made.attachments] == [("image/png", file["url"])]
        assert [(one.text, one.extra) for one in made.quick_replies] == [("OK", None), ("No", "Why?")]
        assert client.create_message(contact.uuid, "Hi", []).quick_replies == []

    def test_a_broadcast_of_plain_text_reaches_everybody(self, client: TembaClient, tenant: Tenant) -> None:
        add_channel(tenant.service.database, tenant.workspace)
        group = client.create_group("Nurses")
        member = client.create_contact(name="Bosco", urns=["tel:+250788000222"], groups=[group])

        made = client.create_broadcast("Hi @contact.name", urns=[AMINA], contacts=[member], groups=[group])

        assert made.text == {"eng": "Hi @contact.name"}
        assert ([one.uuid for one in made.contacts], [one.uuid for one in made.groups]) == ([member.uuid], [group.uuid])
        wait_until(lambda: client.get_broadcasts(uuid=made.uuid).first().status == "completed", "the broadcast")
        assert len(client.get_messages(folder="outbox").all()) == 2

    def test_a_subscriber_of_a_resthook_is_made_and_deleted(self, client: TembaClient, tenant: Tenant) -> None:
        with tenant.service.database.writing() as tx:
            record_resthook_event(tx, tenant.workspace.id, "new-birth", {})

        made = client.create_resthook_subscriber("new-birth", "https://example.org/hook")

        assert (made.resthook, made.target_url) == ("new-birth", "https://example.org/hook")
        assert [one.resthook for one in client.get_resthooks().all()] == ["new-birth"]

        client.delete_resthook_subscriber(made)

        assert client.get_resthook_subscribers().all() == []


class TestFlows:
    def test_a_start_runs_the_flow_for_everybody_named(self, client: TembaClient, tenant: Tenant, survey: str) -> None:
        add_channel(tenant.service.database, tenant.workspace)
        group = client.create_group("Nurses")
        member = client.create_contact(name="Bosco", urns=["tel:+250788000222"], groups=[group])
        flow = client.get_flows(uuid=survey).first()

        made = client.create_flow_start(
            flow,
            urns=[AMINA],
            contacts=[member],
            groups=[group],
            restart_participants=False,
            exclude_active=True,
            params={"first_name": "Amina"},
        )

        assert (made.flow.uuid, made.status, made.params) == (survey, "pending", {"first_name": "Amina"})
        assert (made.restart_participants, made.exclude_active) == (False, True)
        wait_until(lambda: client.get_flow_starts(uuid=made.uuid).first().status == "completed", "the start")
        wait_until(lambda: len(client.get_runs(flow=flow).all()) == 2, "two runs")
        run = client.get_runs(flow=survey, paths=True).first()
        assert (run.start.uuid, run.exit_type, len(run.path)) == (made.uuid, None, 2)

    def test_a_campaign_and_its_events_are_created_changed_and_deleted(self, client: TembaClient, survey: str) -> None:
        client.create_field("Due Date", "datetime")
        group, other = client.create_group("Mothers"), client.create_group("Fathers")

        campaign = client.create_campaign("Reminders", group)
        changed = client.update_campaign(campaign, "Visits", other.uuid)
        spoken = client.create_campaign_event(campaign, "due_date", -2, "days", 9, message="See you soon")
        flowing = client.create_campaign_event(campaign, "due_date", 1, "weeks", -1, flow=survey)
        moved = client.update_campaign_event(spoken, "due_date", 3, "hours", -1, message="See you")

        assert (campaign.group.uuid, campaign.archived) == (group.uuid, False)
        assert (changed.uuid, changed.name, changed.group.name) == (campaign.uuid, "Visits", "Fathers")
        assert (spoken.offset, spoken.unit, spoken.delivery_hour) == (-2, "days", 9)
        assert (spoken.message, spoken.relative_to.key) == ({"eng": "See you soon"}, "due_date")
        assert (flowing.flow.uuid, flowing.message) == (survey, None)
        assert (moved.offset, moved.unit, moved.message) == (3, "hours", {"eng": "See you"})

        client.delete_campaign_event(flowing)

        assert [one.offset for one in client.get_campaign_events(campaign=campaign).all()] == [3]


class TestRefusals:
    @pytest.mark.parametrize(
        "write",
        [
            lambda client: client.create_contact(urns=["tel:x"]),
            lambda client: client.create_contact(fields={"shoe_size": "43"}),
            lambda client: client.create_field("Due Date", "nonsense"),
            lambda client: client.create_group(""),
            lambda client: client.create_broadcast("Hi"),
            lambda client: client.create_message(None, "Hi", []),
            lambda client: client.create_campaign("Reminders", "Nobody"),
            lambda client: client.create_flow_start("0f9e8d7c-6b5a-4c3d-8e2f-1a0b9c8d7e6f"),
            lambda client: client.create_resthook_subscriber("new-birth", "nonsense"),
        ],
    )
    def test_bad_input_is_a_bad_request_that_says_why(
        self, client: TembaClient, write: Callable[[TembaClient], Any]
    ) -> None:
        with pytest.raises(TembaBadRequestError) as caught:
            write(client)

        assert isinstance(caught.value.errors, dict)
        assert str(caught.value)


def upload(tenant: Tenant) -> dict[str, Any]:
    """A picture that messages can attach; the client itself cannot upload."""
    file = {"file": ("leaf.png", b"\x89PNG\r\n\x1a\n", "image/png")}
    headers = {"Authorization": f"Token {tenant.token}"}
    response = requests.post(f"{tenant.url}/api/v2/media.json", files=file, headers=headers, timeout=PATIENCE_SECONDS)
    record: dict[str, Any] = response.json()
    return record
