"""What an export file needs in a workspace."""

from __future__ import annotations

from flows.definition.exports import Named, list_needs, read_export
from tests.flows.definition.exports.files import FULL_FILE, make_campaign, make_event, make_file, make_trigger
from tests.flows.definition.specimens import GROUP, SEND, make_flow, make_node, make_uuid


def test_flows_campaigns_and_triggers_need_what_they_refer_to() -> None:
    needs = list_needs(read_export(FULL_FILE))

    assert [field.key for field in needs.fields] == ["due_date"]
    assert needs.groups == (Named(GROUP, "Members"),)
    assert [flow.name for flow in needs.flows] == ["Reminder"]
    assert [(each.kind, each.name) for each in needs.others] == [("channel", "Phone")]


def test_a_date_of_a_campaign_is_a_date_field_even_if_a_flow_knows_its_key_only() -> None:
    message = {"type": "send_msg", "uuid": SEND, "text": "@fields.due_date @fields.age @globals.org"}
    file = make_file(flows=[make_flow(make_node(message))], campaigns=[make_campaign(make_event())])

    needs = list_needs(read_export(file))

    assert [(field.key, field.name, field.type) for field in needs.fields] == [
        ("due_date", "Due Date", "datetime"),
        ("age", "age", "text"),
    ]
    assert needs.global_keys == ("org",)


def test_a_name_that_is_known_only_at_work_is_no_need() -> None:
    action = {"type": "add_contact_groups", "uuid": SEND, "groups": [{"name_match": "@fields.town"}]}
    label = {"type": "add_input_labels", "uuid": make_uuid(12), "labels": [{"name_match": "Spam"}]}

    needs = list_needs(read_export(make_file(flows=[make_flow(make_node(action, label))])))

    assert needs.groups == ()
    assert needs.labels == (Named("", "Spam"),)


def test_groups_of_triggers_are_needed_once_whatever_they_are_called() -> None:
    groups = [{"uuid": GROUP, "name": "Members"}, {"uuid": GROUP, "name": "members"}]
    trigger = make_trigger("C", groups=groups, exclude_groups=[{"uuid": make_uuid(66), "name": "Old"}])

    needs = list_needs(read_export(make_file(triggers=[trigger])))

    assert needs.groups == (Named(GROUP, "Members"), Named(make_uuid(66), "Old"))
