"""The words that options take. They stand here a second time because their own rooms take long to load; a test compares
them (tests/relayboard/usage/test_choices.py)."""

ROLES = ("administrator", "editor", "viewer", "agent", "surveyor")
SCOPES = ("read", "write")
AREAS = ("contacts", "messages", "tickets", "flows", "campaigns", "channels", "administration")
AUDIT_ACTIONS = ("created", "changed", "deleted", "merged", "read", "failed")
AUDIT_RESOURCES = (
    "account",
    "broadcasts",
    "campaign_events",
    "campaigns",
    "channels",
    "classifiers",
    "contact_imports",
    "contacts",
    "data_requests",
    "exports",
    "fields",
    "flow_starts",
    "flows",
    "globals",
    "groups",
    "invitations",
    "labels",
    "media",
    "messages",
    "optins",
    "resthook_subscribers",
    "resthooks",
    "sessions",
    "templates",
    "ticketers",
    "tokens",
    "topics",
    "triggers",
    "users",
    "webhook_receivers",
    "workspace",
)
TICKETERS = ("internal", "mailgun", "zendesk", "rocketchat")
CLASSIFIERS = ("wit", "luis", "bothub")
TEMPLATE_STATUSES = ("approved", "pending", "rejected", "unsupported_language", "unsupported_components")
FIELD_TYPES = ("text", "number", "datetime", "state", "district", "ward")
FIELD_ACCESSES = ("none", "view", "edit")
TRIGGER_TYPES = (
    "keyword",
    "catch_all",
    "new_conversation",
    "missed_call",
    "incoming_call",
    "schedule",
    "ticket",
)
KEYWORD_MATCHES = ("first", "only")
REPEATS = ("never", "daily", "weekly", "monthly")
DOUBLES = ("old_number", "two_schemes")
CALL_OUTCOMES = ("accepted", "refused", "unanswered")
CHANNEL_EVENTS = ("mo_sms", "mt_sent", "mt_dlvd", "mo_miss", "mo_call", "mt_call", "mt_miss", "alarm", "flow")
DATE_STYLES = ("day_first", "month_first", "year_first")
NUMBER_FORMATS = ("by_country", "1,234.5", "1.234,5", "1 234,5", "1'234.5", "1 234.5", "1'234,5")
DEPENDENCIES = ("none", "flows", "all")
DELIVERY_STATUSES = ("pending", "delivered", "failed")
SIGNATURES = ("symmetric", "ed25519")
SLOWEST_GATEWAY, FASTEST_GATEWAY = 0.01, 10_000.0
"""Messages per second."""
