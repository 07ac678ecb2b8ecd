"""Asks the contact to opt in (flow format, request_optin)."""

from flows.definition import Action
from flows.definition.action_types import NOT_OFFLINE, action_type
from flows.definition.fields import reference
from flows.engine.contact import without_query
from flows.engine.recipients import find_asset
from flows.engine.visit import Visit


@action_type(
    {"optin": reference("optin", required=True)},
    allowed_in=NOT_OFFLINE,
    drawn="Ask to opt in to {optin}",
    palette="send",
)
def request_optin(visit: Visit, action: Action) -> None:
    """Asks the contact to opt in; not supported in generation 14."""
    if not visit.options.is_early:
        visit.log.error("opt-in requests are no longer supported", "action:unsupported")
        return
    optin = find_asset(visit, "optin", visit.sprint.assets.optins, action.fields["optin"])
    routes = visit.sprint.session.contact.find_routes(visit.sprint.assets)
    if optin is not None and routes:
        urn, channel = routes[0]
        fields = {"optin": optin.reference, "channel": channel.reference, "urn": without_query(urn)}
        visit.log.add("optin_requested", fields)
