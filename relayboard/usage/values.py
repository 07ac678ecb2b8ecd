"""The values of options and arguments, checked while they are read.

The words that options take. They stand here a second time because their own rooms take long to load; a test compares
them (tests/relayboard/usage/test_choices.py).
"""

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

LARGEST_PORT = 65_535
LONGEST_SECONDS = 86_400
LARGEST_NUMBER = 2**31 - 1

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
    "contact_jobs",
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
    "teams",
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
WORKSPACE_EVENTS = (
    *("contact.created", "contact.changed", "contact.deleted"),
    *("message.received", "message.sent", "message.failed"),
    *("ticket.opened", "ticket.assigned", "ticket.closed"),
    *("broadcast.done", "flow_start.done", "run.completed", "import.done", "export.done"),
)
DATE_STYLES = ("day_first", "month_first", "year_first")
NUMBER_FORMATS = ("by_country", "1,234.5", "1.234,5", "1 234,5", "1'234.5", "1 234.5", "1'234,5")
DEPENDENCIES = ("none", "flows", "all")
DELIVERY_STATUSES = ("pending", "delivered", "failed")
SIGNATURES = ("symmetric", "ed25519")
SLOWEST_GATEWAY, FASTEST_GATEWAY = 0.01, 10_000.0
"""Messages per second."""


class WholeNumber(click.ParamType[int, Any]):
    """A whole number between two bounds."""

    name = "number"

    def __init__(self, least: int, largest: int = LARGEST_NUMBER) -> None:
        self.least, self.largest = least, largest

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value)
        number = int(text) if text.isascii() and text.removeprefix("-").isdigit() and len(text) <= 20 else None
        if number is None or not self.least <= number <= self.largest:
            self.fail(f"{text!r} is not a whole number between {self.least} and {self.largest}", param, ctx)
        return number


class Number(click.ParamType[float, Any]):
    """A number between two bounds."""

    name = "number"

    def __init__(self, least: float, largest: float) -> None:
        self.least, self.largest = least, largest

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            given = float(value)
        except ValueError:
            given = math.nan
        if not self.least <= given <= self.largest:
            self.fail(f"{value!r} is not a number between {self.least:g} and {self.largest:g}", param, ctx)
        return given


class Moment(click.ParamType[datetime, Any]):
    """A date, or a date and time, with a time zone if it is given; `is_utc` takes it for UTC otherwise."""

    name = "time"

    def __init__(self, *, is_utc: bool = False) -> None:
        self.is_utc = is_utc

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        try:
            read = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is not a time like 2026-03-02T08:00:00Z", param, ctx)
        return read.replace(tzinfo=UTC) if self.is_utc and not read.tzinfo else read


class NewFile(click.ParamType[Path, Any]):
    """The name of a file to make. It may be read while it is written, so standard output is none."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if str(value) == "-":
            self.fail("it is written in several passes and cannot be sent to standard output: name a file", param, ctx)
        return Path(value)


class FileOrOutput(click.ParamType[Any, Any]):
    """The name of a file to write; standard output for -, as without the option."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path | None:
        return None if str(value) == "-" else Path(value)


class Given(click.ParamType[str, Any]):
    """A text that is not empty: an unset variable of a script must not mean something else than the option."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        if not text.strip():
            self.fail("an empty value is not allowed", param, ctx)
        return text


SECONDS = Number(0.001, LONGEST_SECONDS)
PORT = WholeNumber(0, LARGEST_PORT)
