"""What records of another server become here, one by one."""

from typing import Any

import pytest
from sqlalchemy import select

from persistence.channels.channels import IS_GATEWAY
from persistence.database import Database
from persistence.flows.records import add_flow_label
from persistence.move.contacts import write_contacts
from persistence.move.flows import write_flows
from persistence.move.history import NO_CHANNEL, NO_CONTACT, write_broadcasts, write_events
from persistence.move.moves import (
    CONTACT,
    EVENT,
    FLOW,
    GROUP,
    RESTHOOK,
    SUBSCRIBER,
    Move,
    Moved,
    count_notes,
    keep_moved,
    list_notes,
    open_move,
)
from persistence.move.runs import write_runs, write_tickets
from persistence.move.setup import write_channels, write_resthooks, write_subscribers, write_users
from persistence.tables.channels import channel, channel_event
from persistence.tables.contacts import contact, group, group_membership
from persistence.tables.flows import flow, flow_label, flow_run, labeled_flow
from persistence.tables.messages import broadcast
from persistence.workspaces.records import Workspace
from relayboard.move.reading import (
    read_broadcast,
    read_contact,
    read_event,
    read_named,
    read_resthook,
    read_run,
    read_subscriber,
    read_ticket,
    read_user,
)
from tests.factories import id_of, make_contact, make_field, make_named
from tests.run_rows import add_flow

THERE = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"


@pytest.fixture
def move(database: Database, workspace: Workspace) -> Move:
    with database.writing() as tx:
        return open_move(tx, workspace, "https://old.example.org")


def keep(database: Database, move: Move, kind: str, reference: str, record: int) -> None:
    """What the move brought before."""
    with database.writing() as tx:
        keep_moved(tx, move, kind, [Moved(reference, record)])


def only(database: Database, *columns: Any) -> Any:
    with database.reading() as tx:
        return tx.execute(select(*columns)).one()


def lost(database: Database, move: Move, kind: str) -> list[Moved]:
    with database.reading() as tx:
        return list(list_notes(tx, move, kind, 10))


def test_reasons_are_counted_by_kind(database: Database, move: Move) -> None:
    with database.writing() as tx:
        keep_moved(tx, move, CONTACT, [Moved("a", None, "A", "too many"), Moved("b", None, "B", "too many")])
        keep_moved(tx, move, CONTACT, [Moved("c", None, "C", "was deleted there"), Moved("d", 7)])

        assert count_notes(tx, move) == {(CONTACT, "too many"): 2, (CONTACT, "was deleted there"): 1}


def test_a_broadcast_keeps_a_language_of_three_letters_and_nobody_counts_whom_it_reached(
    database: Database, move: Move
) -> None:
    with database.writing() as tx:
        write_broadcasts(tx, move, [read_broadcast({"id": 5, "text": {"base": "Hi"}, "base_language": "base"})])

    assert tuple(only(database, broadcast.c.base_language, broadcast.c.total)) == ("bas", -1)


class TestEvents:
    @pytest.fixture(autouse=True)
    def person(self, database: Database, workspace: Workspace, move: Move) -> None:
        keep(database, move, CONTACT, THERE, id_of(database, make_contact(database, workspace)))

    def write(self, database: Database, move: Move, contact: str, channel: dict[str, Any] | None) -> None:
        event = {"id": 3, "type": "mo_call", "contact": {"uuid": contact}, "channel": channel}
        with database.writing() as tx:
            write_events(tx, move, [read_event(event)])

    def test_an_event_of_a_known_contact_and_channel_comes_with_them(self, database: Database, move: Move) -> None:
        self.write(database, move, THERE, {"uuid": OTHER, "name": "Front desk"})

        assert only(database, channel_event.c.type).type == "call-in"
        assert lost(database, move, EVENT) == []

    @pytest.mark.parametrize(
        ("contact", "channel", "why"),
        [
            (OTHER, {"uuid": OTHER, "name": "Front desk"}, NO_CONTACT),
            (THERE, None, NO_CHANNEL),
            (OTHER, None, NO_CONTACT),
        ],
    )
    def test_others_are_named_with_what_they_lack(
        self, database: Database, move: Move, contact: str, channel: dict[str, Any] | None, why: str
    ) -> None:
        self.write(database, move, contact, channel)

        assert [(each.record, each.note) for each in lost(database, move, EVENT)] == [(None, why)]


def test_a_run_that_ended_since_the_last_pass_counts_once_in_what_it_became(
    database: Database, workspace: Workspace, move: Move
) -> None:
    keep(database, move, CONTACT, THERE, id_of(database, make_contact(database, workspace)))
    keep(database, move, FLOW, OTHER, add_flow(database, workspace))
    run: dict[str, Any] = {
        "uuid": THERE,
        "flow": {"uuid": OTHER},
        "contact": {"uuid": THERE},
        "modified_on": "2026-01-01T08:00:00Z",
    }
    run["path"] = [{"node": OTHER, "time": "2026-01-01T08:00:00Z"}]
    for more in ({}, {"exit_type": "completed", "modified_on": "2026-01-02T08:00:00Z"}):
        with database.writing() as tx:
            write_runs(tx, move, [read_run(run | more)])

    counts = only(database, flow.c.interrupted_run_count, flow.c.completed_run_count, flow.c.expired_run_count)
    assert tuple(counts) == (0, 1, 0)


def test_a_run_that_took_no_step_comes_without_visits(database: Database, workspace: Workspace, move: Move) -> None:
    keep(database, move, CONTACT, THERE, id_of(database, make_contact(database, workspace)))
    keep(database, move, FLOW, OTHER, add_flow(database, workspace))
    with database.writing() as tx:
        write_runs(tx, move, [read_run({"uuid": THERE, "flow": {"uuid": OTHER}, "contact": {"uuid": THERE}})])

    assert tuple(only(database, flow_run.c.path, flow_run.c.visits)) == ([], [])


def test_a_contact_has_as_many_open_tickets_as_come_open(database: Database, workspace: Workspace, move: Move) -> None:
    keep(database, move, CONTACT, THERE, id_of(database, make_contact(database, workspace)))
    raw = {"contact": {"uuid": THERE}, "opened_on": "2026-01-01T08:00:00Z"}
    found = []
    for status in ("open", "closed"):
        tickets = [{**raw, "uuid": OTHER, "status": status}, {**raw, "uuid": THERE, "status": "closed"}]
        with database.writing() as tx:
            write_tickets(tx, move, [read_ticket(each) for each in tickets])
        found.append(only(database, contact.c.open_ticket_count).open_ticket_count)

    assert found == [1, 0]


class TestContacts:
    def write(self, database: Database, move: Move, **changes: Any) -> None:
        with database.writing() as tx:
            write_contacts(tx, move, [read_contact({"uuid": THERE, **changes})], is_first=False)

    def test_a_name_of_128_characters_is_kept_whole_and_a_longer_one_cut(self, database: Database, move: Move) -> None:
        self.write(database, move, name="n" * 128)
        assert only(database, contact.c.name).name == "n" * 128

        self.write(database, move, name="m" * 129)
        assert only(database, contact.c.name).name == "m" * 128

    def test_a_contact_has_the_values_of_fields_that_are_here_and_others_are_noted(
        self, database: Database, workspace: Workspace, move: Move
    ) -> None:
        make_field(database, workspace, "Age", "number")
        make_field(database, workspace, "Town")

        self.write(database, move, fields={"age": 20, "town": "Huye", "shoe_size": "44"})

        values = only(database, contact.c.fields).fields.values()
        assert sorted((each["text"], each.get("number")) for each in values) == [("20", "20"), ("Huye", None)]
        assert [each.note for each in lost(database, move, CONTACT)] == ["there is no field shoe_size here"]

    def test_a_contact_is_in_the_groups_that_it_is_in_there_and_groups_count_it(
        self, database: Database, workspace: Workspace, move: Move
    ) -> None:
        uuids = make_named(database, workspace, group, ["Left", "Stays", "Joined"])
        with database.reading() as tx:
            ids = {uuid: number for uuid, number in tx.execute(select(group.c.uuid, group.c.id))}
        left, stays, joined = (ids[uuid] for uuid in uuids)
        for uuid in uuids:
            keep(database, move, GROUP, uuid, ids[uuid])

        self.write(database, move, groups=[{"uuid": uuid} for uuid in uuids[:2]])
        self.write(database, move, groups=[{"uuid": uuid} for uuid in uuids[1:]])

        with database.reading() as tx:
            members = tx.execute(select(group_membership.c.group_id)).scalars().all()
            counts = {number: count for number, count in tx.execute(select(group.c.id, group.c.member_count))}
        assert sorted(members) == [stays, joined]
        assert [counts[number] for number in (left, stays, joined)] == [0, 1, 1]


def test_a_flow_gets_the_labels_that_it_has_there_though_another_flow_here_has_them(
    database: Database, workspace: Workspace, move: Move
) -> None:
    own, other = add_flow(database, workspace), add_flow(database, workspace, "Other")
    keep(database, move, FLOW, THERE, own)
    with database.writing() as tx:
        add_flow_label(tx, workspace.id, own, "Mine")
        add_flow_label(tx, workspace.id, other, "Shared")
        state = read_named({"uuid": THERE, "name": "Registration"})
        write_flows(tx, move, [{**state, "archived": False, "labels": ["Shared"]}])
        on = flow_label.c.id == labeled_flow.c.label_id
        names = tx.execute(
            select(flow_label.c.name).join(labeled_flow, on).where(labeled_flow.c.flow_id == own)
        ).scalars()

        assert sorted(names) == ["Mine", "Shared"]


def test_people_are_named_whom_one_has_to_invite_by_as_much_of_an_address_as_is_kept(
    database: Database, move: Move
) -> None:
    email = f"{'a' * 90}@example.org"
    with database.writing() as tx:
        write_users(tx, move, [read_user({"email": email, "role": "editor"})])

    (missing,) = lost(database, move, "user")
    assert (missing.reference, missing.note) == ("a" * 80, "is editor there: invite them here")


def test_a_channel_is_kept_switched_off_with_as_much_of_its_name_as_fits(database: Database, move: Move) -> None:
    named = read_named({"uuid": THERE, "name": "n" * 70})
    with database.writing() as tx:
        write_channels(tx, move, [named])

    assert tuple(only(database, channel.c.name, channel.c.is_active)) == ("n" * 64, False)
    with database.reading() as tx:
        assert tx.execute(select(channel.c.id).where(IS_GATEWAY)).one()


def test_a_receiver_of_a_hook_that_did_not_come_is_lost_though_another_hook_has_the_same_url(
    database: Database, move: Move
) -> None:
    url = "https://crm.example.org/hook"
    given = [{"id": 1, "resthook": "new-case", "target_url": url}, {"id": 2, "resthook": "gone", "target_url": url}]
    with database.writing() as tx:
        write_resthooks(tx, move, [read_resthook({"resthook": "new-case"})])
        write_subscribers(tx, move, [read_subscriber(each) for each in given])

    assert lost(database, move, RESTHOOK) == []
    assert [(each.reference, each.record) for each in lost(database, move, SUBSCRIBER)] == [("2", None)]
