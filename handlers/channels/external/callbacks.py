"""What HTTP gateways call: `/c/ex/<channel uuid>/<secret>/<action>`, with parameters in the query or a form. The older
path `/handlers/external/<action>/<channel uuid>/<secret>/` works too (relayer protocol, section 22.2).
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from persistence.channels.gateway_reports import Gateway, GatewayMessage, receive_message, stop_contact
from persistence.database import Transaction
from persistence.errors import Refused
from persistence.relayers.commands import DeliveryReport
from persistence.relayers.reports import record_delivery_reports

ADDRESSES = (
    re.compile(r"/c/ex/(?P<uuid>[^/]+)/(?:(?P<secret>[^/]+)/)?(?P<action>[a-z]+)/?\Z"),
    re.compile(r"/handlers/external/(?P<action>[a-z]+)/(?P<uuid>[^/]+)(?:/(?P<secret>[^/]+))?/?\Z"),
)
PREFIXES = ("/c/ex/", "/handlers/external/")
SECRET_PLACE = re.compile(r"(/c/ex/[^/]*/|/handlers/external/[^/]*/[^/]*/)[^/]{16,}")
"""Actions are shorter than secrets."""
RECEIVE, STOPPED = ("receive", "received"), "stopped"
REPORTS = {"sent": "mt_sent", "delivered": "mt_dlvd", "failed": "mt_fail"}


def carry_out(tx: Transaction, gateway: Gateway, action: str, values: Mapping[str, str]) -> str:
    """Performs what the gateway reports and returns the response text. Raises Refused."""
    config = gateway.config
    if action in RECEIVE:
        sender = first(values, config.get("mo_from_field"), "from", "sender")
        text = first(values, config.get("mo_text_field"), "text", "message")
        if not any(name in values for name in (config.get("mo_from_field"), "from", "sender")):
            raise Refused("The parameter from is required.")
        moment = read_moment(first(values, config.get("mo_date_field"), "date", "time"))
        message_id = receive_message(tx, gateway, GatewayMessage(sender, text, moment))
        return "The message was dropped: its sender is blocked." if message_id is None else f"Message {message_id}"
    if action in REPORTS:
        number = values.get("id", "")
        if not (number.isascii() and number.isdecimal() and len(number) <= 10):
            raise Refused("The parameter id is required; it is the id of a message.")
        moment = read_moment(first(values, None, "date", "time"))
        record_delivery_reports(tx, gateway.source, [DeliveryReport(REPORTS[action], int(number), moment)])
        return f"Message {number} is {action}."
    if action == STOPPED:
        stop_contact(tx, gateway, first(values, config.get("mo_from_field"), "from", "sender"))
        return "The contact is stopped."
    raise Refused("There is no such action.")


def first(values: Mapping[str, str], configured: Any, *names: str) -> str:
    """The first of these parameters that was sent; a configured name replaces the usual ones."""
    wanted = (configured,) if configured else names
    return next((values[name] for name in wanted if values.get(name)), "")


def read_moment(text: str) -> datetime | None:
    """An RFC 3339 time; None for an empty string. Raises Refused."""
    if not text:
        return None
    try:
        written = text.upper()
        moment = datetime.fromisoformat(written.replace(" ", "+") if " " in written and "T" in written else written)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise Refused("The date is not an RFC 3339 time.") from error
