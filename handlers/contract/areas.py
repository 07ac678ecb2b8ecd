"""The areas to which API tokens can be limited: each resource of the API belongs to one."""

from collections.abc import Mapping

from handlers.contract.operations import OperationRules

AREA_RESOURCES: Mapping[str, str] = {
    "contacts": "boundaries contact_actions contact_import_actions contact_imports contact_notes contact_queries "
    "contact_timeline contacts fields groups optins",
    "messages": "archives broadcast_actions broadcast_progress broadcasts conversations labels media message_actions "
    "messages saved_replies stream templates",
    "tickets": "ticket_actions ticketers tickets topics",
    "flows": "classifiers definitions flow_revisions flow_starts flows globals resthook_events resthook_subscribers"
    " resthooks runs",
    "campaigns": "campaign_events campaigns events",
    "channels": "calls channel_events channel_settings channels relayers",
    "administration": "audit_events data_requests exports figures invitations tokens user_actions users"
    " workspace_settings",
}
"""Resources of both generations by area. A resource without an area is closed to limited
tokens, except those that tell a client what it is."""
OF_EVERY_TOKEN = "account org workspace"
AREA_OF = {resource: area for area, resources in AREA_RESOURCES.items() for resource in resources.split()}


def covers(areas: tuple[str, ...] | None, rules: OperationRules) -> bool:
    """Whether a token that is limited to these areas, or to none, may use an operation."""
    resource = rules.id.split(".")[2]
    return areas is None or resource in OF_EVERY_TOKEN.split() or AREA_OF.get(resource) in areas
