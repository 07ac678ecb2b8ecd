"""A worker finds the members of new smart groups, even if a worker dies meanwhile."""

from functools import partial

from sqlalchemy import select

from persistence.contacts.bulk import block_contacts, unblock_contacts
from persistence.groups import smart_groups
from persistence.groups.smart_groups import (
    create_query_group,
    evaluate_some,
    lease_group,
    leave_group,
    renew_groups_about,
)
from persistence.tables.contacts import group, group_membership
from persistence.workspaces.writes import create_workspace
from tests.api import Api
from tests.factories import id_of, make_contact, make_field
from worker import jobs
from worker.jobs import CHUNKS_IN_TURN, begin_groups

CONTACTS = "/api/v2/contacts.json"
GROUPS = "/api/v2/groups.json"


def add_aminas(database, workspace):
    with database.writing() as tx:
        return create_query_group(tx, workspace, "Aminas", "name ~ amina")


def evaluate(runtime):
    step = begin_groups(runtime)
    while step():
        pass


def shown(api: Api):
    record = api.results(GROUPS, name="Aminas")[0]
    return record["status"], record["count"]


def members_of(database, group_id):
    with database.reading() as tx:
        rows = select(group_membership.c.contact_id).where(group_membership.c.group_id == group_id)
        return sorted(tx.execute(rows).scalars())


def test_a_new_smart_group_is_filled_by_a_worker(api: Api, database, workspace, runtime, woken):
    make_contact(database, workspace)
    make_contact(database, workspace, name="Bosco")
    add_aminas(database, workspace)
    assert shown(api) == ("initializing", 0)
    assert "groups" in woken

    evaluate(runtime)

    assert shown(api) == ("ready", 1)


def test_a_group_whose_worker_died_is_evaluated_when_its_lease_ends(api: Api, database, workspace, runtime, clock):
    make_contact(database, workspace)
    add_aminas(database, workspace)
    database.write(partial(lease_group, workspace_id=workspace.id))
    evaluate(runtime)
    assert shown(api)[0] == "evaluating"

    clock.advance(minutes=3)
    evaluate(runtime)

    assert shown(api) == ("ready", 1)


def test_a_group_that_is_left_goes_on_where_it_was(database, workspace, runtime, clock, monkeypatch):
    monkeypatch.setattr(smart_groups, "CHANGED_AT_ONCE", 2)
    ids = [id_of(database, make_contact(database, workspace)) for _ in range(5)]
    group_id = add_aminas(database, workspace)
    leased = database.write(partial(lease_group, workspace_id=workspace.id))
    held = evaluate_some(database, leased)
    assert members_of(database, group_id) == ids[:2]

    clock.advance(minutes=3)
    again = database.write(partial(lease_group, workspace_id=workspace.id))
    assert again.after_id == held.after_id == ids[1]
    assert evaluate_some(database, held) is None, "who was believed dead changes nothing more"
    database.write(partial(leave_group, leased=again))
    evaluate(runtime)

    assert members_of(database, group_id) == ids


def test_a_group_that_is_to_be_evaluated_anew_begins_at_the_beginning(api: Api, database, workspace, runtime):
    make_field(database, workspace, "Age", "number")
    ids = [id_of(database, make_contact(database, workspace)) for _ in range(3)]
    with database.writing() as tx:
        group_id = create_query_group(tx, workspace, "Ageless", 'fields.age = ""')
    evaluate(runtime)
    assert members_of(database, group_id) == ids

    with database.writing() as tx:
        tx.execute(group_membership.delete())
        renew_groups_about(tx, workspace.id, "age")
    evaluate(runtime)

    assert members_of(database, group_id) == ids


def test_a_large_group_of_one_workspace_leaves_turns_to_the_others(database, workspace, runtime, monkeypatch):
    monkeypatch.setattr(smart_groups, "CHANGED_AT_ONCE", 1)
    with database.writing() as tx:
        other = create_workspace(tx, "Mountain School", country="RW", timezone="Africa/Kigali")
    for _ in range(3 * CHUNKS_IN_TURN):
        make_contact(database, workspace)
    contact_id = id_of(database, make_contact(database, other))
    large = add_aminas(database, workspace)
    small = add_aminas(database, other)

    step = begin_groups(runtime)
    step()
    step()

    assert members_of(database, small) == [contact_id]
    assert len(members_of(database, large)) == CHUNKS_IN_TURN


def test_a_group_that_another_worker_took_meanwhile_is_no_work(database, workspace, runtime, monkeypatch):
    add_aminas(database, workspace)
    database.write(partial(lease_group, workspace_id=workspace.id))
    monkeypatch.setattr(jobs, "list_evaluated_workspaces", lambda _tx: [workspace.id])

    assert begin_groups(runtime)() is False


def test_created_and_changed_contacts_move_in_and_out(api: Api, database, workspace, runtime):
    add_aminas(database, workspace)
    evaluate(runtime)

    uuid = api.post(CONTACTS, {"name": "Amina"}).json()["uuid"]
    assert shown(api) == ("ready", 1)

    api.post(CONTACTS, {"name": "Bosco"}, uuid=uuid)
    assert shown(api) == ("ready", 0)


def test_an_unblocked_contact_is_back_in_its_smart_groups(database, workspace, runtime):
    contact_id = id_of(database, make_contact(database, workspace))
    group_id = add_aminas(database, workspace)
    evaluate(runtime)

    with database.writing() as tx:
        block_contacts(tx, workspace.id, [contact_id])
    assert members_of(database, group_id) == []
    with database.writing() as tx:
        unblock_contacts(tx, workspace.id, [contact_id])

    assert members_of(database, group_id) == [contact_id]
    with database.reading() as tx:
        assert tx.execute(select(group.c.member_count).where(group.c.id == group_id)).scalar_one() == 1


def test_a_field_that_a_smart_group_uses_cannot_be_deleted(api: Api, database, workspace):
    make_field(database, workspace, "Age", "number")
    with database.writing() as tx:
        create_query_group(tx, workspace, "Adults", "fields.age >= 18")

    response = api.delete("/api/v2/fields.json", key="age")

    assert (response.status_code, response.json()) == (
        400,
        {"detail": 'The query of the group "Adults" uses this field: change or delete the group first.'},
    )
