"""Which role may do what, as the specification has it, asked of the service for every operation."""

from collections.abc import Iterator

import pytest

from tests.api import Api
from tests.contract.documents import Operation, token_operations
from tests.contract.services import database_url_for_many_tests, serve

ROLES = ("administrator", "editor", "viewer", "agent", "surveyor")
MAY = {
    "v1": {
        "administrator editor": (
            "act_on_contacts act_on_messages claim_relayer create_broadcast delete_contacts delete_events "
            "list_broadcasts list_calls list_campaigns list_events list_labels list_messages list_relayers "
            "list_runs start_runs write_campaign write_contact write_event write_field write_label"
        ),
        "administrator": ("release_relayers"),
        "administrator editor surveyor": ("list_boundaries list_contacts list_fields list_flows list_groups read_org"),
    },
    "v2": {
        "administrator editor viewer agent surveyor": (
            "delete_token list_boundaries list_contacts list_deletions list_fields list_groups list_tokens "
            "read_account_record read_org read_workspace"
        ),
        "administrator": (
            "act_on_user change_channel_settings change_workspace_settings create_data_request "
            "create_invitation delete_invitation list_audit_events list_channel_settings list_data_requests "
            "list_invitations read_channel_release release_channel rotate_webhook_secret write_webhook_receiver "
            "create_webhook_subscription delete_webhook_subscription delete_team write_team"
        ),
        "administrator editor viewer agent": (
            "check_contact_query find_messages follow_changes list_contact_notes list_conversations list_saved_replies "
            "list_participants "
            "list_teams list_tickets list_topics list_users read_query_words read_timeline"
        ),
        "administrator editor viewer": (
            "list_broadcasts list_campaign_events list_campaigns list_channel_alarms list_channel_events "
            "list_channels list_classifiers list_flow_starts list_globals list_labels list_messages list_optins "
            "list_runs list_templates list_ticketers list_triggers find_triggers read_broadcast_progress "
            "read_calendar read_channel_health read_channel_types read_flow_figures read_flow_results "
            "read_flow_revisions read_flow_texts read_workspace_figures read_figures find_usages read_campaign_figures "
            "read_contact_schedule"
        ),
        "administrator editor": (
            "act_on_broadcasts act_on_contact_import act_on_deliveries act_on_messages check_channel create_broadcast "
            "act_on_campaigns act_on_flow_starts act_on_flows check_flow write_flow_revision run_simulation write_flow "
            "run_flow_tests write_flow_texts "
            "create_export create_flow_start create_optin create_resthook_subscriber delete_broadcast "
            "delete_campaign_event delete_contact delete_field delete_global delete_group delete_label "
            "delete_resthook_subscriber "
            "write_definitions list_archives list_channel_calls list_channel_checks list_contact_doubles "
            "list_contact_imports "
            "list_deliveries "
            "list_exports list_resthook_events list_resthook_subscribers list_resthooks list_webhook_receivers "
            "read_webhook_event_types "
            "merge_contact_doubles merge_contacts upsert_contacts preview_broadcast read_delivery "
            "read_delivery_ledger "
            "create_resthook delete_optin delete_resthook delete_topic delete_trigger write_trigger "
            "renumber_contacts send_channel_test send_webhook_test upload_contact_import write_campaign "
            "write_campaign_event write_field write_global write_group write_label write_topic"
        ),
        "administrator editor agent": (
            "act_on_contact_job act_on_contacts act_on_conversations act_on_tickets attend_conversation "
            "create_contact_job create_contact_note create_message delete_message list_contact_jobs "
            "create_ticket delete_contact_note delete_saved_reply read_contact_route upload_media write_contact "
            "write_saved_reply"
        ),
        "administrator editor viewer surveyor": ("list_flows read_definitions"),
    },
}
"""By generation and roles, the operations that these roles may use and no others."""
ALLOWED = {
    (generation, name): roles.split()
    for generation, groups in MAY.items()
    for roles, names in groups.items()
    for name in names.split()
}


@pytest.fixture(scope="module")
def people(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Api]]:
    folder = tmp_path_factory.mktemp("roles")
    with database_url_for_many_tests("sqlite", request, folder) as url, serve(url, folder) as service:
        api = service.api(service.new_workspace())
        yield {role: api.as_role(role) for role in ROLES}


@pytest.mark.together
@pytest.mark.parametrize("operation", [one for one in token_operations() if one.body.get("x-roles")], ids=str)
def test_exactly_the_roles_of_the_specification_may_use_an_operation(
    people: dict[str, Api], operation: Operation
) -> None:
    path, key = f"/api/{operation.generation}{operation.path}", (operation.generation, operation.body["operationId"])
    body = {"content": b"{}"} if operation.method == "post" else {}

    answers = {
        role: api.client.request(operation.method, path, headers={"Authorization": f"Token {api.token}"}, **body)
        for role, api in people.items()
    }

    assert [role for role, answer in answers.items() if answer.status_code != 403] == ALLOWED.get(key), key
