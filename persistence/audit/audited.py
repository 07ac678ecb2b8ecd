"""Which changes of which tables the audit log tells, and under which names. This is the only list of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as declared

DELETED_MESSAGE = "deleted"
NAMES = {
    "contact_uuid": "contact",
    "is_active": "active",
    "is_archived": "archived",
    "is_anonymous": "anon",
    "user_id": "user",
    "definition_revision": "revision",
    "totp_confirmed_on": "two_factor",
    "password_hash": "password",
    "recovery_hashes": "recovery_codes",
    "webhook_secret": "webhook_secret",
    "retry_delays": "retry_delays_seconds",
    "per_second": "requests_per_second",
}
"""What a column is called in the log, if it has another name there."""


@dataclass(frozen=True, slots=True)
class Audited:
    """The changes of one table. `shown` columns appear with both values, `hidden` ones hold secrets: only that they
    changed is told. `name` is the column that names the record. `ended` has the values of columns that mean that the
    record is deleted. With `only_end` nothing else is told; `of_user` tables have no workspace, and their changes are
    told in each workspace of the user in that column.
    """

    resource: str
    name: str | None = None
    shown: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    ended: Mapping[str, object] = declared(default_factory=dict)
    only_end: bool = False
    of_user: str | None = None
    tells_creation: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        """What must have changed for an entry."""
        return (*self.ended,) if self.only_end else (*self.shown, *self.hidden, *self.ended)


AUDITED: Mapping[str, Audited] = {
    "membership": Audited("users", shown=("role",)),
    "app_user": Audited("users", "email", ("first_name", "last_name", "is_active"), of_user="id", tells_creation=False),
    "account": Audited(
        "account",
        shown=("totp_confirmed_on",),
        hidden=("password_hash", "recovery_hashes"),
        of_user="user_id",
        tells_creation=False,
    ),
    "sign_in": Audited("sessions", shown=("method",), of_user="user_id"),
    "api_token": Audited("tokens", "public", ("name", "scope", "areas", "expires_on"), ended={"revoked_on": None}),
    "invitation": Audited("invitations", "email", ("role",)),
    "workspace": Audited(
        "workspace",
        "name",
        (
            *("name", "country", "timezone", "languages", "date_style", "number_format", "is_anonymous"),
            "answer_limit",
        ),
    ),
    "channel": Audited(
        "channels",
        "name",
        ("name", "address", "country", "webhook_events", "messages_per_second", "allow_international"),
        ("secret", "config", "webhook_url", "webhook_secret"),
        ended={"is_active": False},
    ),
    "flow": Audited("flows", "name", ("name", "is_archived", "definition_revision", "ignores_triggers")),
    "trigger": Audited("triggers", shown=("type", "keywords", "is_archived")),
    "campaign": Audited("campaigns", "name", ("name", "is_archived")),
    "campaign_event": Audited("campaign_events", ended={"is_deleted": True}),
    "resthook": Audited("resthooks", "slug"),
    "resthook_subscriber": Audited("resthook_subscribers", hidden=("target_url", "webhook_secret")),
    "webhook_receiver": Audited(
        "webhook_receivers",
        shown=("retry_delays", "per_second", "switched_off_on", "signature", "format"),
        hidden=("private_key",),
        tells_creation=False,
    ),
    "contact_group": Audited("groups", "name", ("name",)),
    "contact_field": Audited("fields", "name", ("name", "type", "agent_access")),
    "label": Audited("labels", "name", ("name",)),
    "global_value": Audited("globals", "name", hidden=("value",)),
    "topic": Audited("topics", "name", ("name",)),
    "optin": Audited("optins", "name", ("name",)),
    "classifier": Audited("classifiers", "name", ("name", "intents")),
    "ticketer": Audited("ticketers", "name", ("name",)),
    "template": Audited("templates", "name", ("name",)),
    "contact": Audited("contacts", ended={"is_deleted": True}, only_end=True, tells_creation=False),
    "broadcast": Audited("broadcasts", shown=("status", "scheduled_on")),
    "flow_start": Audited("flow_starts", shown=("start_type",)),
    "contact_import": Audited("contact_imports", "filename", ("status", "cancelled_on", "taken_back_on")),
    "export": Audited("exports", "type", ("type", "format")),
    "data_request": Audited("data_requests", "type", ("type", "contact_uuid")),
    "media": Audited("media", "filename", tells_creation=False),
    "message": Audited("messages", ended={"visibility": DELETED_MESSAGE}, only_end=True, tells_creation=False),
}
"""By the name of the table. `revoked_on` ends a token whatever time it gets."""
