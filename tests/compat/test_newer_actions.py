"""Bulk actions of the published client of generation 2, and the errors it knows."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from temba_client.exceptions import (
    TembaBadRequestError,
    TembaConnectionError,
    TembaHttpError,
    TembaNoSuchObjectError,
    TembaRateExceededError,
    TembaTokenError,
)
from temba_client.v2 import TembaClient

from persistence.contacts.owners import find_contact
from testbed.running import RunningService, forked_service
from testbed.tokens import make_token
from tests.compat.conftest import Tenant
from tests.factories import make_contact, make_messages
from tests.run_rows import add_flow, add_waiting

UNKNOWN = "0f9e8d7c-6b5a-4c3d-8e2f-1a0b9c8d7e6f"


@pytest.fixture
def client(tenant: Tenant) -> TembaClient:
    return TembaClient(tenant.url, tenant.token)


@pytest.fixture
def people(client: TembaClient) -> list[str]:
    return [
        client.create_contact(name=name, urns=[f"tel:+2507880001{index:02}"]).uuid for index, name in enumerate("AB")
    ]


class TestContactActions:
    def test_contacts_join_and_leave_a_group(self, client: TembaClient, people: list[str]) -> None:
        group = client.create_group("Nurses")

        client.bulk_add_contacts([*people, "tel:+250788000100"], group)
        joined = client.get_groups(uuid=group.uuid).first().count
        client.bulk_remove_contacts(people[:1], group.uuid)

        assert joined == 2
        assert [one.uuid for one in client.get_contacts(group=group).all()] == people[1:]

    def test_contacts_are_blocked_and_unblocked(self, client: TembaClient, people: list[str]) -> None:
        client.bulk_block_contacts(people)
        blocked = {one.status for one in client.get_contacts().all()}
        client.bulk_unblock_contacts(client.get_contacts().all())

        assert blocked == {"blocked"}
        assert {one.status for one in client.get_contacts().all()} == {"active"}

    def test_contacts_are_interrupted(self, client: TembaClient, tenant: Tenant, people: list[str]) -> None:
        database, workspace = tenant.service.database, tenant.workspace
        flow_id = add_flow(database, workspace)
        with database.reading() as tx:
            contact_id = find_contact(tx, workspace.id, people[0])
        assert contact_id is not None
        add_waiting(database, workspace, flow_id, contact_id)

        client.bulk_interrupt_contacts(people)

        assert [run.exit_type for run in client.get_runs().all()] == ["interrupted"]

    def test_messages_of_contacts_are_archived(self, client: TembaClient, tenant: Tenant, people: list[str]) -> None:
        make_messages(tenant.service.database, tenant.workspace, people[0], 2)

        client.bulk_archive_contact_messages(people)

        assert {one.visibility for one in client.get_messages().all()} == {"archived"}

    def test_contacts_are_deleted(self, client: TembaClient, people: list[str]) -> None:
        client.bulk_delete_contacts(people)

        assert client.get_contacts().all() == []


class TestMessageActions:
    @pytest.fixture
    def messages(self, tenant: Tenant) -> list[int]:
        uuid = make_contact(tenant.service.database, tenant.workspace)
        return make_messages(tenant.service.database, tenant.workspace, uuid, 3)

    def test_messages_are_labeled_by_object_uuid_or_name(self, client: TembaClient, messages: list[int]) -> None:
        label = client.create_label("Complaint")

        client.bulk_label_messages(messages[:1], label=label)
        client.bulk_label_messages(messages[1:2], label=label.uuid)
        client.bulk_label_messages(messages[2:], label_name="Praise")
        counts = {one.name: one.count for one in client.get_labels().all()}
        client.bulk_unlabel_messages(messages[:1], label=label)
        client.bulk_unlabel_messages(messages[2:], label_name="Praise")
        client.bulk_unlabel_messages(messages, label_name="Never seen")

        assert counts == {"Complaint": 2, "Praise": 1}
        assert {one.name: one.count for one in client.get_labels().all()} == {"Complaint": 1, "Praise": 0}

    def test_messages_are_archived_restored_and_deleted(self, client: TembaClient, messages: list[int]) -> None:
        client.bulk_archive_messages(messages)
        archived = len(client.get_messages(folder="archived").all())
        client.bulk_restore_messages(messages[:2])
        client.bulk_delete_messages(client.get_messages(folder="inbox").all())

        assert archived == 3
        assert len(client.get_messages().all()) == 1


class TestErrors:
    def test_a_token_nobody_gave_out_is_an_error_of_its_own(self, tenant: Tenant) -> None:
        with pytest.raises(TembaTokenError):
            TembaClient(tenant.url, "0" * 40).get_contacts().first()

    def test_a_role_that_may_not_is_the_same_error(self, tenant: Tenant) -> None:
        token = make_token(tenant.service.database, tenant.workspace, "viewer")

        with pytest.raises(TembaTokenError):
            TembaClient(tenant.url, token).create_group("Nurses")

    def test_what_does_not_exist_is_no_such_object(self, client: TembaClient) -> None:
        for change in (
            lambda: client.update_group(UNKNOWN, "Nurses"),
            lambda: client.update_label(UNKNOWN, "Complaint"),
            lambda: client.update_campaign(UNKNOWN, "Reminders", "Nurses"),
            lambda: client.update_contact(UNKNOWN, name="Amina"),
            lambda: client.delete_group(UNKNOWN),
            lambda: client.delete_campaign_event(UNKNOWN),
            lambda: client.delete_resthook_subscriber(99_999),
            lambda: client.get_groups().iterfetches(resume_cursor="nonsense").__next__(),
        ):
            with pytest.raises(TembaNoSuchObjectError):
                change()

    def test_unknown_contacts_of_an_action_are_a_bad_request(self, client: TembaClient) -> None:
        with pytest.raises(TembaBadRequestError) as caught:
            client.bulk_block_contacts([UNKNOWN])

        assert list(caught.value.errors) == ["contacts", "code"]

    def test_other_statuses_are_errors_of_http(self, tenant: Tenant) -> None:
        client = TembaClient(tenant.url, tenant.token)
        client.headers["Content-type"] = "text/plain"

        with pytest.raises(TembaHttpError, match="415"):
            client.create_group("Nurses")

    def test_a_closed_door_is_an_error_of_the_connection(self, tenant: Tenant) -> None:
        with pytest.raises(TembaConnectionError):
            TembaClient("http://127.0.0.1:9", tenant.token).get_groups().first()


class TestRateLimit:
    @pytest.fixture
    def limited(self, tmp_path: Path) -> Iterator[RunningService]:
        with forked_service(
            f"sqlite:///{tmp_path / 'r.db'}", tmp_path, RATE_LIMIT="3/second", PAGE_SIZE="1"
        ) as service:
            yield service

    def test_an_exceeded_limit_says_when_to_come_back_and_the_client_can_wait(self, limited: RunningService) -> None:
        client = TembaClient(limited.url, limited.token)
        for number in range(8):
            make_contact(limited.database, limited.workspace, name=str(number))

        with pytest.raises(TembaRateExceededError) as caught:
            client.get_contacts().all()

        assert caught.value.retry_after >= 1
        assert len(client.get_contacts().all(retry_on_rate_exceed=True)) == 8
