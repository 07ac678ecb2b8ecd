"""What the interface specification names, typed from its endpoint tables: parameters, then body fields.

An extension is not listed here; the contract may have more than this, never less.
"""

Listing = dict[str, tuple[str, str]]

V2: Listing = {
    "GET /archives.json": ("archive_type period", ""),
    "GET /boundaries.json": ("", ""),
    "GET /broadcasts.json": ("id uuid before after", ""),
    "POST /broadcasts.json": ("", "text urns contacts groups attachments quick_replies base_language"),
    "GET /campaigns.json": ("uuid before after", ""),
    "POST /campaigns.json": ("uuid", "name group"),
    "GET /campaign_events.json": ("uuid campaign", ""),
    "POST /campaign_events.json": ("uuid", "relative_to offset unit delivery_hour campaign message flow"),
    "DELETE /campaign_events.json": ("uuid", ""),
    "GET /channels.json": ("uuid address", ""),
    "GET /channel_events.json": ("id contact before after", ""),
    "GET /classifiers.json": ("uuid before after", ""),
    "GET /contacts.json": ("uuid urn group deleted before after", ""),
    "POST /contacts.json": ("uuid urn", "name language urns groups fields"),
    "DELETE /contacts.json": ("uuid urn", ""),
    "POST /contact_actions.json": ("", "contacts action group"),
    "GET /definitions.json": ("flow campaign dependencies", ""),
    "GET /fields.json": ("key", ""),
    "POST /fields.json": ("key", "name type label value_type"),
    "GET /flows.json": ("uuid before after type archived", ""),
    "GET /flow_starts.json": ("id uuid before after", ""),
    "POST /flow_starts.json": ("", "flow groups contacts urns restart_participants exclude_active params extra"),
    "GET /globals.json": ("key before after", ""),
    "POST /globals.json": ("key", "value name"),
    "GET /groups.json": ("uuid name", ""),
    "POST /groups.json": ("uuid", "name"),
    "DELETE /groups.json": ("uuid", ""),
    "GET /labels.json": ("uuid name", ""),
    "POST /labels.json": ("uuid", "name"),
    "DELETE /labels.json": ("uuid", ""),
    "GET /messages.json": ("id uuid broadcast contact folder label before after", ""),
    "POST /messages.json": ("", "contact text attachments quick_replies"),
    "POST /message_actions.json": ("", "messages action label"),
    "GET /resthooks.json": ("", ""),
    "GET /resthook_events.json": ("resthook", ""),
    "GET /resthook_subscribers.json": ("id resthook", ""),
    "POST /resthook_subscribers.json": ("", "resthook target_url"),
    "DELETE /resthook_subscribers.json": ("id", ""),
    "GET /runs.json": ("id uuid flow contact responded before after", ""),
    "GET /templates.json": ("", ""),
    "GET /ticketers.json": ("uuid before after", ""),
    "GET /tickets.json": ("contact uuid", ""),
    "POST /ticket_actions.json": ("", "tickets action assignee note"),
    "GET /topics.json": ("", ""),
    "POST /topics.json": ("uuid", "name"),
    "GET /users.json": ("", ""),
    "GET /workspace.json": ("", ""),
}

V1: Listing = {
    "GET /relayers.json": ("relayer phone before after country", ""),
    "POST /relayers.json": ("", "claim_code phone name"),
    "DELETE /relayers.json": ("relayer phone before after country", ""),
    "GET /contacts.json": ("uuid urns group_uuids after before", ""),
    "POST /contacts.json": ("", "urns name language group_uuids fields"),
    "DELETE /contacts.json": ("uuid urns group_uuids", ""),
    "POST /contact_actions.json": ("", "contacts action group label_uuid"),
    "GET /groups.json": ("name uuid", ""),
    "GET /fields.json": ("key", ""),
    "POST /fields.json": ("", "key label value_type"),
    "GET /messages.json": (
        "id contact group_uuids status direction archived type urn label flow broadcast before after relayer",
        "",
    ),
    "POST /message_actions.json": ("", "messages action label label_uuid"),
    "GET /broadcasts.json": ("id status before after", ""),
    "POST /broadcasts.json": ("", "text urns contacts groups channel"),
    "GET /labels.json": ("name uuid", ""),
    "POST /labels.json": ("", "uuid name"),
    "GET /calls.json": ("call call_type phone before after relayer", ""),
    "GET /flows.json": ("flow before after label archived", ""),
    "GET /runs.json": ("run flow_uuid contact group_uuids before after", ""),
    "POST /runs.json": ("", "flow_uuid phone contact extra"),
    "GET /campaigns.json": ("uuid before after", ""),
    "POST /campaigns.json": ("", "uuid name group_uuid"),
    "GET /events.json": ("uuid campaign_uuid before after", ""),
    "POST /events.json": (
        "",
        "uuid campaign_uuid relative_to offset unit delivery_hour message flow_uuid",
    ),
    "DELETE /events.json": ("uuid campaign_uuid", ""),
    "GET /boundaries.json": ("", ""),
}

STATES = {
    "GroupStatus": "initializing evaluating ready",
    "FlowStartStatus": "pending queued started completed failed interrupted",
    "BroadcastStatus": "pending queued started completed failed interrupted",
    "MessageStatus": "queued handled wired sent delivered read errored failed",
    "MessageVisibility": "visible archived deleted",
    "MessageType": "text optin voice",
    "TicketStatus": "open closed",
    "FieldType": "text number datetime state district ward",
    "FlowType": "message voice survey",
    "ContactActionName": "add remove block unblock interrupt archive_messages delete archive",
    "MessageActionName": "label unlabel archive restore delete",
    "TicketActionName": "assign add_note change_topic close reopen",
    "OffsetUnit": "minutes hours days weeks",
}
"""Closed sets of words in v2 by the name of their schema."""

ADDED_STATES = {
    "BroadcastStatus": "draft",
    "ContactActionName": "answer_again restore_messages",
    "MessageActionName": "resend",
}
"""Words of these sets that are additions of this service; they come last."""

RECORDS = {
    "Group": "uuid name query status system count",
    "Label": "uuid name count",
    "Campaign": "uuid name archived group created_on",
    "FlowStart": "uuid flow contacts groups status params created_on modified_on",
    "ResthookSubscriber": "id resthook target_url created_on",
    "ResthookEvent": "resthook data created_on",
    "Broadcast": "uuid urns contacts groups text attachments quick_replies base_language status created_on",
    "Global": "key name value modified_on",
    "Message": (
        "uuid contact urn channel direction type status visibility text attachments quick_replies labels flow "
        "created_on sent_on modified_on"
    ),
    "Field": "key name type",
    "Run": "uuid flow contact start responded values created_on modified_on exited_on exit_type",
    "Flow": "uuid name type archived labels expires runs results parent_refs created_on modified_on",
    "Ticket": ("uuid contact status topic assignee opened_on opened_by opened_in modified_on closed_on"),
}
"""Fields that every v2 record of this kind always has."""

LIMITS = {
    "BroadcastWrite": {"urns": 100, "contacts": 100, "groups": 100},
    "FlowStartWrite": {"groups": 100, "contacts": 100, "urns": 100},
    "MessageWrite": {"attachments": 10, "quick_replies": 10},
}
"""The most items of a list in a v2 request."""
