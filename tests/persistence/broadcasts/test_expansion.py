"""From broadcasts to messages: who gets what, once."""

from collections import Counter
from typing import Any

import pytest

from persistence.broadcasts import expansion as broadcast_expansion
from persistence.contacts.audience import AudiencePage, SavedAudience
from persistence.contacts.bulk import block_contacts, join_group
from persistence.contacts.deletion import delete_contacts
from persistence.contacts.owners import find_contacts
from persistence.database import Database, Transaction
from persistence.groups.groups import find_manual_groups
from persistence.tables.contacts import contact, group
from persistence.tables.messages import message
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_channel
from tests.factories import id_of, make_contact, make_named

PATH = "/api/v2/broadcasts.json"
MESSAGES = "/api/v2/messages.json"


def expand_next(database: Database) -> bool:
    with database.writing() as tx:
        due = broadcast_expansion.list_broadcasting_workspaces(tx)
        return bool(due) and broadcast_expansion.expand_next(tx, due[0])


def expand(database: Database) -> None:
    while expand_next(database):
        pass


def send(api: Api, **fields: Any) -> dict[str, Any]:
    response = api.post(PATH, {"text": "Hi"} | fields)
    assert response.status_code == 201, response.text
    record: dict[str, Any] = response.json()
    return record


def sent(api: Api, record: dict[str, Any]) -> list[dict[str, Any]]:
    return api.results(MESSAGES, broadcast=record["uuid"])


def texts(api: Api, record: dict[str, Any]) -> list[str]:
    return sorted(one["text"] for one in sent(api, record))


def shown(api: Api, record: dict[str, Any]) -> dict[str, Any]:
    return api.results(PATH, uuid=record["uuid"])[0]


def make_group(database: Database, workspace: Workspace, name: str, *uuids: str) -> None:
    make_named(database, workspace, group, [name])
    with database.writing() as tx:
        (group_id,) = find_manual_groups(tx, workspace.id, [name], field="groups")
        join_group(tx, workspace.id, [id_of(database, uuid) for uuid in uuids], group_id)


def speak(database: Database, uuid: str, language: str) -> None:
    with database.writing() as tx:
        tx.execute(contact.update().where(contact.c.uuid == uuid).values(language=language))


class TestRecipients:
    def test_each_contact_gets_one_message_however_often_it_is_named(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        add_channel(database, workspace, allow_international=True)
        uuid = make_contact(database, workspace, "+250788000111")
        make_group(database, workspace, "Reporters", uuid)
        make_group(database, workspace, "Nurses", uuid)
        urns = ["tel:+250788000111", "tel:+250788000222"]

        record = send(api, contacts=[uuid, uuid], groups=["reporters", "Reporters", "nurses"], urns=urns)
        expand(database)

        assert Counter(one["urn"] for one in sent(api, record)) == Counter(urns)
        assert {one["status"] for one in sent(api, record)} == {"queued"}
        assert shown(api, record)["progress"] == {"total": 2, "started": 2}
        assert [one["uuid"] for one in shown(api, record)["contacts"]] == [uuid]

    def test_members_are_those_of_the_time_of_sending(self, api: Api, database: Database, workspace: Workspace) -> None:
        early, late = make_contact(database, workspace), make_contact(database, workspace, name="Bosco")
        make_group(database, workspace, "Reporters", early)
        record = send(api, text="@contact.name", groups=["Reporters"])
        change = {"contacts": [late], "action": "add", "group": "Reporters"}
        api.post("/api/v2/contact_actions.json", change)
        api.post("/api/v2/contact_actions.json", change | {"contacts": [early], "action": "remove"})

        expand(database)

        assert texts(api, record) == ["Bosco"]

    def test_members_that_were_blocked_get_nothing_and_named_ones_a_failed_message(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        add_channel(database, workspace)
        member, named = make_contact(database, workspace, "+250788000111"), make_contact(database, workspace)
        make_group(database, workspace, "Reporters", member)
        record = send(api, groups=["Reporters"], contacts=[named])
        with database.writing() as tx:
            block_contacts(tx, workspace.id, [id_of(database, member), id_of(database, named)])

        expand(database)

        assert [(one["contact"]["uuid"], one["status"]) for one in sent(api, record)] == [(named, "failed")]

    def test_the_group_may_be_deleted_before_its_turn(self, api: Api, database: Database, workspace: Workspace) -> None:
        make_group(database, workspace, "Reporters", make_contact(database, workspace))
        record = send(api, groups=["Reporters"])
        api.delete("/api/v2/groups.json", uuid=record["groups"][0]["uuid"])

        expand(database)

        assert (shown(api, record)["status"], shown(api, record)["groups"]) == ("completed", [])
        assert sent(api, record) == []


class TestBatches:
    @pytest.fixture(autouse=True)
    def small_batches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(broadcast_expansion, "BATCH", 2)

    def test_batches_make_no_message_twice_and_leave_nobody_out(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        uuids = [make_contact(database, workspace, name=f"C{number}") for number in range(7)]
        make_group(database, workspace, "Odd", *uuids[1::2])
        make_group(database, workspace, "Late", *uuids[3:])

        record = send(api, text="@contact.name", contacts=uuids[:3], groups=["odd", "late"])
        expand(database)

        assert texts(api, record) == [f"C{number}" for number in range(7)]

    def test_status_and_progress_tell_how_far_it_is(self, api: Api, database: Database, workspace: Workspace) -> None:
        record = send(api, contacts=[make_contact(database, workspace) for _ in range(3)])
        seen = []
        for _ in range(2):
            expand_next(database)
            one = shown(api, record)
            seen.append((one["status"], one["progress"]["total"], one["progress"]["started"]))

        assert seen == [("started", 3, 2), ("completed", 3, 3)]
        assert expand_next(database) is False

    def test_a_waiting_broadcast_is_queued_while_another_is_at_work(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        uuids = [make_contact(database, workspace) for _ in range(3)]
        first, second = send(api, contacts=uuids), send(api, contacts=uuids)

        expand_next(database)

        assert (shown(api, first)["status"], shown(api, second)["status"]) == ("started", "queued")

    def test_contacts_deleted_on_the_way_get_nothing(self, api: Api, database: Database, workspace: Workspace) -> None:
        uuids = [make_contact(database, workspace, name=f"C{number}") for number in range(6)]
        make_group(database, workspace, "Reporters", *uuids)
        record = send(api, text="@contact.name", groups=["Reporters"], contacts=uuids[:4])
        with database.writing() as tx:
            delete_contacts(tx, workspace.id, [id_of(database, uuid) for uuid in uuids[:3]])

        expand(database)

        assert texts(api, record) == ["C3", "C4", "C5"]
        assert shown(api, record)["progress"] == {"total": 3, "started": 3}

    def test_a_whole_batch_deleted_between_two_statements_ends_nothing(
        self, api: Api, database: Database, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        uuids = [make_contact(database, workspace, name=f"C{number}") for number in range(3)]
        record = send(api, text="@contact.name", contacts=uuids)
        delete_after_picking(monkeypatch, workspace, [id_of(database, uuid) for uuid in uuids[:2]])

        expand(database)

        assert texts(api, record) == ["C2"]
        assert shown(api, record)["status"] == "completed"


def delete_after_picking(monkeypatch: pytest.MonkeyPatch, workspace: Workspace, contact_ids: list[int]) -> None:
    """Contacts vanish after their ids were picked, as when another transaction commits at that moment."""
    pick = SavedAudience.next_page

    def pick_and_delete(audience: SavedAudience, *arguments: Any) -> AudiencePage:
        page = pick(audience, *arguments)
        if set(page.contact_ids) & set(contact_ids):
            delete_contacts(audience.tx, workspace.id, contact_ids)
        return page

    monkeypatch.setattr(SavedAudience, "next_page", pick_and_delete)


class TestTexts:
    def test_each_gets_its_language_else_the_workspaces_else_the_base(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        names = {"kin": "Bosco", "eng": "Ann", "fra": "Luc"}
        uuids = [make_contact(database, workspace, name=name) for name in names.values()]
        for uuid, language in zip(uuids, names, strict=True):
            speak(database, uuid, language)
        both = {"eng": "Hi @contact", "kin": "Muraho @contact"}

        record = send(api, text=both, contacts=uuids, base_language="kin")
        other = send(api, text={"swa": "Habari @contact"}, contacts=uuids)
        expand(database)

        assert texts(api, record) == ["Hi Ann", "Hi Luc", "Muraho Bosco"]
        assert texts(api, other) == ["Habari Ann", "Habari Bosco", "Habari Luc"]

    def test_expressions_see_names_fields_and_addresses(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        add_channel(database, workspace, allow_international=True)
        uuid = make_contact(database, workspace, "+250788000111", name="Amina Wanjiru")
        api.post("/api/v2/fields.json", {"name": "Age", "type": "number"})
        api.post("/api/v2/contacts.json", {"fields": {"age": "34"}}, uuid=uuid)

        record = send(api, text="@contact.first_name is @(fields.age + 1), call @contact.urn", contacts=[uuid])
        expand(database)

        assert texts(api, record) == ["Amina is 35, call tel:+250788000111"]

    @pytest.mark.parametrize("path", [PATH, "/api/v1/broadcasts.json"])
    def test_both_generations_let_texts_see_groups_and_globals_and_nobody_gets_an_empty_one(
        self, api: Api, database: Database, workspace: Workspace, path: str
    ) -> None:
        member, other = make_contact(database, workspace), make_contact(database, workspace, name="Bosco")
        make_group(database, workspace, "Reporters", member)
        api.post("/api/v2/globals.json", {"name": "Clinic", "value": "Kimironko"})
        text = '@(if(count(contact.groups) > 0, contact.groups[0].name & " of " & globals.clinic, ""))'

        response = api.post(path, {"text": text, "contacts": [member, other]})
        assert response.status_code == 201, response.text
        expand(database)

        assert [one["text"] for one in api.results(MESSAGES, broadcast=response.json()["id"])] == [
            "Reporters of Kimironko"
        ]
        [record] = api.results(PATH)
        assert (record["status"], record["progress"]) == ("completed", {"total": 1, "started": 1})

    def test_files_and_replies_follow_the_language(self, api: Api, database: Database, workspace: Workspace) -> None:
        file = api.upload("/api/v2/media.json", "leaf.png", b"\x89PNG\r\n\x1a\n", "image/png").json()
        first, second = make_contact(database, workspace), make_contact(database, workspace, name="Bosco")
        speak(database, second, "kin")
        replies = {"eng": [{"text": "OK"}], "kin": [{"text": "Yego", "extra": "Ni byiza"}]}

        record = send(
            api,
            text={"eng": "Hi", "kin": "Muraho"},
            contacts=[first, second],
            attachments={"eng": [f"image/png:{file['url']}"], "kin": []},
            quick_replies=replies,
        )
        expand(database)

        by_text = {one["text"]: one for one in sent(api, record)}
        attachment = {"content_type": "image/png", "url": file["url"]}
        assert by_text["Hi"]["attachments"] == by_text["Muraho"]["attachments"] == [attachment]
        assert by_text["Hi"]["quick_replies"] == replies["eng"]
        assert by_text["Muraho"]["quick_replies"] == replies["kin"]

    def test_messages_name_their_broadcast(self, api: Api, database: Database, workspace: Workspace) -> None:
        record = send(api, contacts=[make_contact(database, workspace)])
        expand(database)

        assert [one["broadcast"] for one in api.results(MESSAGES, broadcast=record["id"])] == [record["id"]]


class TestOutgoing:
    def test_a_message_to_a_contact_deleted_at_that_moment_is_deleted_too(
        self, api: Api, database: Database, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        uuid = make_contact(database, workspace)
        contact_id = id_of(database, uuid)

        def find_and_delete(tx: Transaction, *arguments: Any, **options: Any) -> list[int]:
            ids = find_contacts(tx, *arguments, **options)
            delete_contacts(tx, workspace.id, [contact_id])
            return ids

        monkeypatch.setattr("handlers.v2.messages.find_contacts", find_and_delete)

        response = api.post(MESSAGES, {"contact": uuid, "text": "secret"})

        assert (response.status_code, response.json()["visibility"], response.json()["text"]) == (201, "deleted", "")
        with database.reading() as tx:
            assert tx.execute(message.select()).one().status == "failed"
