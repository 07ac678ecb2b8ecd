"""Each table says where it is declared what becomes of its rows: with time, with a person, with a merged contact, in
the audit log and in a file of its workspace."""

import pytest
from sqlalchemy import JSON, String, Table, UniqueConstraint

from openapi.bundle import bundle
from persistence.contacts.deletion import EMPTIED
from persistence.data_requests.requests import LISTS
from persistence.tables.complete import metadata
from persistence.tables.contacts import CLEARED, contact
from persistence.tables.messages import message
from persistence.tables.policies import POLICY, policy_of
from persistence.workspace_files.writing import OWNER

NOT_COPIED = {
    *("broadcast_contact", "flow_start_contact", "trigger_contact", "parked_sprint", "flow_session", "campaign_fire"),
    *("contact_urn", "group_membership", "conversation", "gateway_call", "gateway_part", "imported_contact"),
    *("data_request", "incoming_file", "webchat_visitor", "message_thread", "flow_callback", "participant"),
}
"""What has only ids, or what the copies of other records show."""
FEW = {"data_request", "trigger_contact"}
"""Tables that stay so small that they are read whole."""
NOT_IDS = {(name, "external_id") for name in ("channel_event", "message", "template_translation")}
TABLES = metadata.sorted_tables


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_each_table_says_what_becomes_of_its_rows(table: Table) -> None:
    assert POLICY in table.info, f"{table.name}: give it `info=policy(...)` (persistence/tables/policies.py)"
    rule, names = policy_of(table), {column.key for column in table.c}

    assert rule.stays
    named = {*rule.documents, *rule.queries, *rule.emptied, *rule.refers, *rule.refers_by, *rule.refers_by.values()}
    assert named | ({rule.mentions} if rule.mentions else set()) <= names
    assert set(rule.refers.values()) <= set(metadata.tables)
    if rule.audited is not None:
        assert {*rule.audited.columns, *([rule.audited.name] if rule.audited.name else [])} <= names


@pytest.mark.parametrize("table", [each for each in TABLES if "contact_id" in each.c], ids=lambda table: table.name)
def test_what_belongs_to_a_contact_says_what_erasing_merging_and_copying_do(table: Table) -> None:
    rule = policy_of(table)

    assert rule.has_person, f"{table.name}: what is erased with a person?"
    assert rule.merged in {"apart", "left", "moved", *table.c.keys()}, f"{table.name}: what becomes of it in a merge?"
    is_copied = (rule.copied is not None, table.name in NOT_COPIED)
    assert is_copied in {(True, False), (False, True)}, f"{table.name}: under which name do people get copies of it?"
    unique = [[*each.columns] for each in table.constraints if isinstance(each, UniqueConstraint)]
    keys = [[*table.primary_key], *([*each.columns] for each in table.indexes), *unique]
    begins = {next(column.name for column in key if column.name != OWNER) for key in keys}
    assert ("contact_id" in begins) != (table.name in FEW), f"{table.name}: which index finds the rows of a contact?"


def test_a_deleted_contact_or_message_keeps_nothing_that_tells_of_the_person() -> None:
    marks = {"status", "created_on", "modified_on", "last_seen_on", "merged_into_id", "answers_stopped_on"}
    texts = {each.name for each in message.c if isinstance(each.type, String | JSON)}
    kinds = {"direction", "type", "status", "external_id", "failed_reason", "due_reason", "folder"}

    assert contact.c.keys() - CLEARED.keys() == {"id", OWNER, "uuid", "handling_attempts"} | marks
    assert texts - EMPTIED.keys() == kinds


def test_people_get_copies_of_what_tables_say() -> None:
    said = {policy_of(table).copied: table for table in TABLES if policy_of(table).copied is not None}

    assert {name: spec.table for name, spec in LISTS.items()} == said
    told = bundle("v2")["paths"]["/data_requests.json"]["post"]["description"]
    assert [name for name in said if name not in told] == []


@pytest.mark.parametrize("table", [each for each in TABLES if OWNER in each.c], ids=lambda table: table.name)
def test_what_a_file_of_a_workspace_carries_says_what_its_ids_refer_to(table: Table) -> None:
    rule = policy_of(table)
    ids = {
        column.name
        for column in table.c
        if column.name.endswith(("_id", "_ids")) and not column.foreign_keys and column.name != OWNER
    }
    known = {*rule.refers, *rule.refers_by, *(name for owner, name in NOT_IDS if owner == table.name)}

    assert not rule.is_carried or ids <= known, f"{table.name}: to which tables do {sorted(ids - known)} refer?"
