from dataclasses import replace

import pytest
from sqlalchemy import insert, select, update

from persistence.contacts.queries import open_group_scope
from persistence.errors import InvalidInput
from persistence.groups import cached_queries, smart_groups
from persistence.groups.smart_groups import (
    CONTACTS_PER_STATEMENT,
    check_group_query,
    find_wrong,
    lease_group,
    refresh_contacts,
    refresh_some,
)
from persistence.leases import GIVEN_UP, MOST_ATTEMPTS
from persistence.tables.contacts import INITIALIZING, contact, field, group, group_membership
from persistence.workspaces.writes import change_workspace
from tests.channel_rows import add_contact

AGE = "6b6a43fa-a26d-4017-bede-328bcdd5c93b"


def add_group(database, workspace, name, query):
    with database.writing() as tx:
        row = {"workspace_id": workspace.id, "name": name, "name_key": name.lower(), "query": query}
        times = {"created_on": tx.now, "modified_on": tx.now}
        return tx.execute(insert(group).values(row | times).returning(group.c.id)).scalar_one()


def add_age(database, workspace):
    with database.writing() as tx:
        row = {"workspace_id": workspace.id, "uuid": AGE, "key": "age", "name": "Age", "name_key": "age"}
        tx.execute(insert(field).values(row | {"type": "number", "created_on": tx.now}))


def change(database, contact_id, **values):
    with database.writing() as tx:
        tx.execute(update(contact).where(contact.c.id == contact_id).values(values))


def refresh(database, workspace, *contact_ids):
    with database.writing() as tx:
        refresh_contacts(tx, workspace, contact_ids)


def members_of(database, group_id):
    with database.reading() as tx:
        count = tx.execute(select(group.c.member_count).where(group.c.id == group_id)).scalar_one()
        rows = tx.execute(select(group_membership.c.contact_id).where(group_membership.c.group_id == group_id))
        members = sorted(rows.scalars())
    assert count == len(members)
    return members


def test_a_contact_moves_in_and_out_with_its_values(database, workspace):
    add_age(database, workspace)
    group_id = add_group(database, workspace, "Adults", "fields.age >= 18")
    contact_id = add_contact(database, workspace)

    change(database, contact_id, fields={AGE: {"text": "18", "number": "18"}})
    refresh(database, workspace, contact_id)
    assert members_of(database, group_id) == [contact_id]

    change(database, contact_id, fields={AGE: {"text": "17", "number": "17"}})
    refresh(database, workspace, contact_id)
    assert members_of(database, group_id) == []


def test_only_the_contacts_that_changed_are_looked_at(database, workspace):
    group_id = add_group(database, workspace, "Aminas", "name ~ amina")
    first, second = add_contact(database, workspace), add_contact(database, workspace, "+254722000112")

    refresh(database, workspace, second)

    assert members_of(database, group_id) == [second]
    assert first not in members_of(database, group_id)


@pytest.mark.parametrize("state", [{"status": "blocked"}, {"is_deleted": True}])
def test_contacts_that_are_not_active_belong_to_no_smart_group(database, workspace, state):
    group_id = add_group(database, workspace, "Aminas", "name ~ amina")
    contact_id = add_contact(database, workspace)
    refresh(database, workspace, contact_id)

    change(database, contact_id, **state)
    refresh(database, workspace, contact_id)

    assert members_of(database, group_id) == []


def test_manual_groups_are_left_alone(database, workspace):
    group_id = add_group(database, workspace, "Chosen", None)
    contact_id = add_contact(database, workspace)
    with database.writing() as tx:
        tx.execute(insert(group_membership).values(workspace_id=workspace.id, group_id=group_id, contact_id=contact_id))
        tx.execute(update(group).values(member_count=1))

    refresh(database, workspace, contact_id)

    assert members_of(database, group_id) == [contact_id]


def test_a_query_that_no_longer_makes_sense_has_no_members(database, workspace):
    group_id = add_group(database, workspace, "Lost", 'fields.gone != ""')
    contact_id = add_contact(database, workspace)
    with database.writing() as tx:
        tx.execute(insert(group_membership).values(workspace_id=workspace.id, group_id=group_id, contact_id=contact_id))
        tx.execute(update(group).where(group.c.id == group_id).values(member_count=1))

    refresh(database, workspace, contact_id)

    assert members_of(database, group_id) == []


def test_a_group_is_filled_and_emptied_by_its_query(database, workspace, other_workspace):
    group_id = add_group(database, workspace, "Aminas", "name = amina")
    first, second = add_contact(database, workspace), add_contact(database, workspace, "+254722000112", "Bob")
    add_contact(database, other_workspace, "+254722000113")

    with database.writing() as tx:
        chunk = find_wrong(tx, workspace, group_id, 0)
        assert (chunk.wrong_ids, chunk.last_id) == ([first], second)
        refresh_some(tx, workspace, group_id, chunk.wrong_ids)
    assert members_of(database, group_id) == [first]

    with database.writing() as tx:
        tx.execute(update(group).where(group.c.id == group_id).values(query="name = bob"))
        chunk = find_wrong(tx, workspace, group_id, 0)
        assert chunk.wrong_ids == [first, second]
        refresh_some(tx, workspace, group_id, chunk.wrong_ids)
    assert members_of(database, group_id) == [second]
    with database.reading() as tx:
        assert find_wrong(tx, workspace, group_id, second) is None


def test_a_portion_ends_with_so_many_changes_or_so_many_looks(database, workspace, monkeypatch):
    monkeypatch.setattr(smart_groups, "LOOKED_AT", 3)
    monkeypatch.setattr(smart_groups, "CHANGED_AT_ONCE", 2)
    group_id = add_group(database, workspace, "Aminas", "name = amina")
    names = ["Amina", "Bob", "Amina", "Amina", "Bob", "Bob", "Bob"]
    ids = [add_contact(database, workspace, f"+25472200011{number}", name) for number, name in enumerate(names)]

    found, after_id = [], 0
    with database.reading() as tx:
        while (chunk := find_wrong(tx, workspace, group_id, after_id)) is not None:
            found.append((chunk.wrong_ids, chunk.last_id))
            after_id = chunk.last_id

    assert found == [([ids[0], ids[2]], ids[2]), ([ids[3]], ids[5]), ([], ids[6])]


def test_a_kept_statement_follows_the_fields_that_its_queries_name(database, workspace):
    add_age(database, workspace)
    group_id = add_group(database, workspace, "Adults", "fields.age >= 18")
    contact_id = add_contact(database, workspace)
    change(database, contact_id, fields={AGE: {"text": "20", "number": "20"}})
    for _ in range(2):
        refresh(database, workspace, contact_id)
        assert members_of(database, group_id) == [contact_id]

    with database.writing() as tx:
        tx.execute(update(field).where(field.c.key == "age").values(type="text"))
    refresh(database, workspace, contact_id)
    assert members_of(database, group_id) == []


def test_queries_are_translated_once(database, workspace, monkeypatch):
    group_id = add_group(database, workspace, "Aminas", "name = amina")
    contact_id = add_contact(database, workspace)
    refresh(database, workspace, contact_id)
    assert members_of(database, group_id) == [contact_id]

    monkeypatch.delattr(cached_queries, "membership")
    change(database, contact_id, name="Bob")
    refresh(database, workspace, contact_id)

    assert members_of(database, group_id) == []


def test_many_contacts_and_groups_take_few_statements(database, workspace, statements):
    for number in range(20):
        add_group(database, workspace, f"Group {number}", f'name != "{number}"')
    with database.writing() as tx:
        row = {"workspace_id": workspace.id, "fields": {}, "created_on": tx.now, "modified_on": tx.now}
        made = [row | {"id": number} for number in range(1, CONTACTS_PER_STATEMENT + 2)]
        tx.execute(insert(contact), made)
    refresh(database, workspace, *range(1, CONTACTS_PER_STATEMENT + 2))
    statements.clear()

    refresh(database, workspace, *range(1, CONTACTS_PER_STATEMENT + 2))

    assert len(statements) <= 10


def test_a_condition_on_a_name_is_a_short_text(database, workspace):
    """A statement has those of a hundred groups; to build it must not take long within a transaction."""
    with database.reading() as tx:
        clause = cached_queries.membership(workspace.id, 'name != "Zoë"', open_group_scope(tx, workspace))
        text = str(clause.compile(dialect=tx.dialect))

    assert len(text) < 2500


def test_addresses_decide_even_where_people_may_not_see_them(database, workspace):
    group_id = add_group(database, workspace, "Reachable", "urns.tel ~ 722000111")
    contact_id = add_contact(database, workspace)

    refresh(database, replace(workspace, is_anonymous=True), contact_id)

    assert members_of(database, group_id) == [contact_id]


def test_a_query_for_a_group_is_brought_into_its_canonical_form(database, workspace):
    add_age(database, workspace)

    with database.reading() as tx:
        assert check_group_query(tx, workspace, "age>18 and name has bob") == 'fields.age > 18 AND name ~ "bob"'


@pytest.mark.together
@pytest.mark.parametrize("text", ["status = active", "beers > 1", "name =", "group = x", ""])
def test_queries_that_cannot_define_a_group_are_refused(database, workspace, text):
    with database.reading() as tx, pytest.raises(InvalidInput):
        check_group_query(tx, workspace, text)


def test_what_was_given_up_says_what_tries_anew_also_for_the_group_that_nobody_can_save(database, workspace):
    add_group(database, workspace, "Mothers", "name ~ ann")
    mine = group.c.workspace_id == workspace.id
    with database.writing() as tx:
        tx.execute(update(group).where(mine).values(status=INITIALIZING, attempts=MOST_ATTEMPTS))
        assert lease_group(tx, workspace.id) is None
        rows = tx.execute(select(group.c.id, group.c.name, group.c.error).where(mine)).all()
        errors = {name: error.partition(GIVEN_UP)[0] for _, name, error in rows}
        assert errors == {
            "Mothers": "Its members are not complete; saving its name again tries anew. ",
            "Open Tickets": "Its members are not complete; another time zone, order of dates or number format of the "
            "workspace, and back, tries anew. ",
        }
        changed = change_workspace(tx, workspace, {"date_style": "year_first"})
        change_workspace(tx, changed, {"date_style": workspace.date_style})
        assert {lease_group(tx, workspace.id).group_id for _ in rows} == {group_id for group_id, _, _ in rows}
