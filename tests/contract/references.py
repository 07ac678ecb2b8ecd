"""Which parameters and body fields name records, of which table, and in which forms.

A new parameter or field needs a line here: its forms, or `NOTHING` when it names no record.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from persistence.tables.complete import metadata
from tests.contract.filled_workspace import Filled

UNKNOWN_UUID = "00000000-0000-4000-8000-000000000000"
UNKNOWN_MARK = "w0r0"
UNKNOWN_NUMBER = "+250780000999"


@dataclass(frozen=True)
class Form:
    """One way to refer to a record: its value for a row of the table, and a value of this form that no record has."""

    table: str
    word: str
    unknown: str | int
    read: Callable[[Any], str | int]

    def own(self, filled: Filled) -> str | int:
        """How the first row of this workspace is named."""
        return self.read(filled.first(self.table))


Forms = Sequence[Form]
NOTHING: Forms = ()

OWN = "of the resource itself"
TABLES = {
    "broadcast_progress": "broadcast",
    "calls": "channel_event",
    "channel_calls": "gateway_call",
    "channel_checks": "channel_check",
    "channel_health": "channel",
    "channel_releases": "channel",
    "channel_settings": "channel",
    "channel_tests": "channel",
    "events": "campaign_event",
    "fields": "contact_field",
    "flow_figures": "flow",
    "flow_results": "flow",
    "campaign_figures": "campaign",
    "flow_revisions": "flow",
    "flow_texts": "flow",
    "globals": "global_value",
    "groups": "contact_group",
    "delivery_actions": "delivery",
    "relayers": "channel",
    "runs": "flow_run",
    "tokens": "api_token",
    "users": "app_user",
}
"""The table of each resource whose records are named by parameters of its own operations, if it is called otherwise."""


def by_uuid(table: str) -> Form:
    return Form(table, "uuid", UNKNOWN_UUID, lambda row: str(row.uuid))


def by_id(table: str) -> Form:
    return Form(table, "id", 2_000_000_000, lambda row: int(row.id))


def by_text(table: str, column: str = "name", unknown: str = UNKNOWN_MARK) -> Form:
    return Form(table, column, unknown, lambda row: str(getattr(row, column)))


def by_number(table: str) -> Form:
    """The id where the contract takes a text."""
    return Form(table, "number", "2000000000", lambda row: str(row.id))


def words(text: str) -> list[str]:
    return text.split()


BY_URN = Form("contact_urn", "urn", f"tel:{UNKNOWN_NUMBER}", lambda row: f"tel:{row.path}")
BY_PHONE = by_text("contact_urn", "path", UNKNOWN_NUMBER)
BY_EMAIL = by_text("app_user", "email", "nobody@example.org")
CONTACT: Forms = (by_uuid("contact"), BY_URN)
GROUP: Forms = (by_uuid("contact_group"), by_text("contact_group"))
LABEL: Forms = (by_uuid("label"), by_text("label"))
FLOW: Forms = (by_uuid("flow"), by_id("flow"))
BROADCAST: Forms = (by_uuid("broadcast"), by_id("broadcast"))
CHANNEL: Forms = (by_id("channel"),)
RECEIVER: Forms = (by_uuid("channel"), by_number("resthook_subscriber"))
SUBSCRIPTION: Forms = (Form("resthook_subscriber", "id", 2_000_000_000, lambda row: int(row.id) - 1),)
"""The subscriber before the first one of a resthook, see tests/contract/filled_workspace.py."""
FIELD_KEY: Forms = (by_text("contact_field", "key"),)
NAME: Forms = (by_text(OWN),)

PARAMETERS: Mapping[str, Forms] = {
    "audit_events.record": (by_text("audit_event", "record_uuid", UNKNOWN_UUID),),
    "audit_events.user": (by_text("audit_event", "actor_email", "nobody@example.org"),),
    **dict.fromkeys(("audit_events.resource", "audit_events.action", "contact_doubles.kind"), NOTHING),
    "address": (by_text(OWN, "address", UNKNOWN_NUMBER),),
    "assignee": (BY_EMAIL,),
    "broadcast": BROADCAST,
    "call": (by_id("channel_event"),),
    "broadcasts.parent": (by_uuid("broadcast"),),
    "campaign": (by_uuid("campaign"),),
    "campaign_uuid": (by_uuid("campaign"),),
    "channel": CHANNEL,
    **dict.fromkeys(
        ("channel_calls.channel", "channel_alarms.channel", "trigger_matches.channel", "v2/messages.channel"),
        (by_uuid("channel"),),
    ),
    "v2/messages.flow": (by_uuid("flow"),),
    "channel_calls.outcome": NOTHING,
    "usages.record": (by_uuid("contact_group"),),
    "channel_checks.channel": (by_uuid("channel"),),
    **dict.fromkeys(("contact", "contacts"), (by_uuid("contact"),)),
    "data_requests.contact": (by_text("data_request", "contact_uuid", UNKNOWN_UUID),),
    "email": (BY_EMAIL,),
    "participants.user": (BY_EMAIL,),
    "flow": FLOW,
    **dict.fromkeys(("flow_texts.language", "flow_texts.since"), NOTHING),
    "flow_revisions.draft": NOTHING,  # drafts are found within their flow, which has its wall
    "message_matches.contact": NOTHING,  # it needs the words: see tests/handlers/v2/test_message_search.py
    "flow_results.field": NOTHING,  # it needs the flow: see tests/handlers/v2/test_figures.py
    "flow_uuid": (by_uuid("flow"),),
    "group": GROUP,
    "group_uuids": (by_uuid("contact_group"),),
    "id": (by_id(OWN),),
    "key": (by_text(OWN, "key"),),
    "label": LABEL,
    "name": NAME,
    "phone": (BY_PHONE,),
    "relayer": CHANNEL,
    "relayers.phone": (by_text("channel", "address", UNKNOWN_NUMBER),),
    "receiver": RECEIVER,
    "resthook": (by_text("resthook", "slug"),),
    "run": (by_id("flow_run"),),
    "tokens.token": (by_text("api_token", "public"),),
    "topic": (by_uuid("topic"),),
    "team": (by_uuid("team"),),
    "triggers.flow": (by_uuid("flow"),),
    "urn": (BY_URN,),
    "urns": (BY_URN,),
    "webhook_subscriptions.id": SUBSCRIPTION,
    "uuid": (by_uuid(OWN),),
    "v1/flows.label": NOTHING,
    "v2/flow_starts.id": (by_number(OWN),),
    "v2/messages.broadcast": (by_uuid("broadcast"), by_number("broadcast")),
    "v1/messages.label": (by_text("label"),),
} | dict.fromkeys(
    words(
        "after archive_type archived before by call_type category count country cursor days deleted dependencies "
        "direction draft event fields folder format geometry here mentioned modified_after node number overdue page "
        "page_size paths period query responded result reverse role scheduled search sort status text type unread"
    ),
    NOTHING,
)
"""Query parameters by name, or by resource and name; cursors have a test of their own."""

FIELDS: Mapping[str, Forms] = {
    "broadcasts": (by_uuid("broadcast"),),
    "broadcast_previews.urns": NOTHING,
    **dict.fromkeys(
        words("contact_actions.list_changed contact_actions.changed_after contact_actions.changed_until"), NOTHING
    ),
    "contact_doubles.kind": NOTHING,
    **dict.fromkeys(("contact_renumberings.old", "contact_renumberings.new", "contact_renumberings.apply"), NOTHING),
    "conversations.unread_count": NOTHING,
    "saved_reply": (by_uuid("saved_reply"),),
    "closes_ticket": NOTHING,
    "assignee": (BY_EMAIL,),
    "attachments": (by_uuid("media"),),
    "campaign": (by_uuid("campaign"),),
    "campaign_uuid": (by_uuid("campaign"),),
    "campaigns": (by_uuid("campaign"),),
    "channel": CHANNEL,
    "contact": CONTACT,
    "contacts": CONTACT,
    "contacts.name": NOTHING,
    "data_requests.contact": (by_uuid("contact"),),
    **dict.fromkeys(("definitions.document", "definitions.media_url"), NOTHING),
    "exports.format": NOTHING,
    "fields": FIELD_KEY,
    "fields.label": NAME,
    "flow": (by_uuid("flow"),),
    "flow_actions.label": NOTHING,
    "flow_issues.definition": NOTHING,
    **dict.fromkeys(
        words(
            "simulations.definition simulations.person simulations.params simulations.session simulations.resume "
            "simulations.services"
        ),
        NOTHING,
    ),
    **dict.fromkeys(("flow_revisions.based_on", "flow_revisions.definition", "flow_revisions.restore"), NOTHING),
    **dict.fromkeys(("flow_revisions.based_on_draft", "flow_revisions.publish"), NOTHING),  # see above
    **dict.fromkeys(words("flow_texts.based_on flow_texts.texts flow_texts.file flow_texts.format"), NOTHING),
    "flow_texts.based_on_draft": NOTHING,  # see above
    **dict.fromkeys(("flow_revisions.tests", "flow_tests.definition", "flow_tests.first"), NOTHING),
    "flow_uuid": (by_uuid("flow"),),
    "flows": (by_uuid("flow"),),
    "flows.copy_of": (by_uuid("flow"),),
    "flows.expires": NOTHING,
    "group": GROUP,
    "group_uuid": (by_uuid("contact_group"),),
    "group_uuids": (by_uuid("contact_group"),),
    **dict.fromkeys(("groups", "exclude_groups", "add_groups", "remove_groups"), GROUP),
    "add_urns": (BY_URN,),
    "contact_upserts.contacts": NOTHING,  # a list of contacts, which has tests of its own
    "import": (by_uuid("contact_import"),),
    "job": (by_uuid("contact_job"),),
    "members_of": GROUP,
    "mentions": (BY_EMAIL,),
    "invitations.email": NOTHING,
    "invitations.role": NOTHING,
    "key": (by_text(OWN, "key"),),
    "label": LABEL,
    "label_name": (by_text("label"),),
    "label_uuid": (by_uuid("label"),),
    "messages": (by_id("message"), by_uuid("message")),
    "other": CONTACT,
    "name": NAME,
    "preset": NOTHING,
    "relative_to": FIELD_KEY,
    "relayers.name": NOTHING,
    "channel_settings.fields": NOTHING,
    "channel_settings.name": NOTHING,
    "channel_checks.channel": (by_uuid("channel"),),
    "channel_checks.kind": NOTHING,
    "deliveries": (by_uuid("delivery"),),
    "receiver": RECEIVER,
    "resthook": (by_text("resthook", "slug"),),
    "starts": (by_uuid("flow_start"),),
    "template": (by_uuid("template"), by_text("template")),
    "tickets": (by_uuid("ticket"),),
    "topic": (by_uuid("topic"),),
    "topics": (by_uuid("topic"),),
    "members": (by_uuid("app_user"),),
    "triggers.channel": (by_uuid("channel"),),
    "triggers.contacts": (by_uuid("contact"),),
    "urn": (BY_URN,),
    "urns": (BY_URN,),
    "user": (by_uuid("app_user"),),
    "user_actions.role": NOTHING,
    "uuid": (by_uuid(OWN),),
    "v1/broadcasts.contacts": (by_uuid("contact"),),
    "v1/broadcasts.groups": (by_uuid("contact_group"),),
    "v1/contact_actions.contacts": (by_uuid("contact"),),
    "v1/contact_actions.group": (by_text("contact_group"),),
    "v1/contact_actions.label_uuid": NOTHING,
    "v1/contacts.fields": (by_text("contact_field", "key"), by_text("contact_field", "name")),
    "v1/message_actions.label": (by_text("label"),),
    "v1/message_actions.messages": (by_id("message"),),
    "v1/runs.contact": (by_uuid("contact"),),
    "v1/runs.contacts": (by_uuid("contact"),),
    "v1/runs.groups": (by_uuid("contact_group"),),
    "v1/runs.phone": (BY_PHONE,),
    **dict.fromkeys(
        (
            "teams.assigns_in_turn",
            "account.away",
            "mail_of",
            "mail_language",
            "closed_text",
            "holidays",
            "hours",
            "reply_minutes",
        ),
        NOTHING,
    ),
    "webhook_receivers.format": NOTHING,
    "workspace_settings.name": NOTHING,
} | dict.fromkeys(
    words(
        "action address after agent_access allow_international answer_limit archived automatic_per_day "
        "base_language before claim_code columns cost_per_segment country date_style days decimal_sign "
        "delivery_hour draft dry_run encoding end_former_secret events exclude_active extra folder is_on keywords "
        "language languages match message messages_per_second note number_format offset origins params phone query "
        "quick_replies repeat repeat_times repeat_until replaces requests_per_second restart_participants "
        "retry_delays_seconds rotate_secret scheduled_on scheme second_phone send_on sending_hours settings signature "
        "since state target_url template_variables text timezone transliterate type unit unread until url value "
        "value_type"
    ),
    NOTHING,
)
"""Body fields by name, or by resource and name. A claim code belongs to a phone that no workspace has yet; a preview
counts URNs, whether they belong to somebody or not. What a message replaces must wait for its time."""

ONE_OR_THE_OTHER = {
    "events.uuid": ("campaign_uuid",),
    "flow_uuid": ("message",),
    "fields.label": ("name",),
    "group_uuid": ("group",),
    "group": ("group_uuid",),
    "label": ("label_name", "label_uuid"),
    "label_name": ("label",),
    "label_uuid": ("label",),
    "flow": ("message",),
    "simulations.contact": ("person",),
}
"""Fields that stand instead of others."""


def find_forms(rules: Mapping[str, Forms], generation: str, resource: str, name: str, kind: str) -> Forms:
    """The forms in which a parameter or field names records; `kind` is the type of its values in the contract.

    Fails when there is no rule for it.
    """
    candidates = (f"{generation}/{resource}.{name}", f"{resource}.{name}", name)
    rule = next((rules[candidate] for candidate in candidates if candidate in rules), None)
    assert rule is not None, (
        f"{generation} {resource}: does {name!r} name a record? Give it a line in tests/contract/references.py "
        "(its forms, or NOTHING), so that the walls between workspaces are tested for it."
    )
    return [
        _of_resource(form, resource) for form in rule if kind == "any" or (kind == "integer") == (form.word == "id")
    ]


def _of_resource(form: Form, resource: str) -> Form:
    if form.table != OWN:
        return form
    singular = f"{resource.removesuffix('ies')}y" if resource.endswith("ies") else resource.removesuffix("s")
    table = TABLES.get(resource, singular)
    assert table in metadata.tables, f"Which table holds {resource}? Name it in TABLES of tests/contract/references.py."
    return Form(table, form.word, form.unknown, form.read)
