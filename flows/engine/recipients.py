"""Resolves the recipients of broadcasts and started sessions (flow format, send_broadcast)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from flows.definition import Action
from flows.engine.asset_resolver import AssetResolver
from flows.engine.references import find_groups
from flows.engine.visit import Visit
from flows.phones import parse_phone
from flows.queries import QueryError, parse_query
from flows.urns import Urn, UrnError, read_urn

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(slots=True)
class Recipients:
    """Groups and contacts as references, a query, and URNs."""

    groups: list[dict[str, str]] = field(default_factory=list)
    contacts: list[dict[str, str]] = field(default_factory=list)
    contact_query: str = ""
    urns: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether there are no recipients."""
        return not (self.groups or self.contacts or self.contact_query or self.urns)

    @property
    def is_open(self) -> bool:
        """Whether the number of recipients is unknown."""
        return bool(self.groups or self.contact_query)

    def to_json(self) -> dict[str, Any]:
        """The fields of events, without empty parts."""
        written = {
            "groups": self.groups,
            "contacts": self.contacts,
            "contact_query": self.contact_query,
            "urns": self.urns,
        }
        return {name: value for name, value in written.items() if value}


def resolve_recipients(visit: Visit, action: Action) -> Recipients:
    """The recipients of an action; those that cannot be found are reported and left out."""
    fields = action.fields
    recipients = Recipients(
        groups=[group.reference for group in find_groups(visit, fields.get("groups") or ())],
        contacts=[dict(contact) for contact in fields.get("contacts") or ()],
        contact_query=_evaluate_query(visit, fields.get("contact_query") or ""),
    )
    recipients.urns += [str(urn) for urn in fields.get("urns") or ()]
    _add_variables(visit, recipients, fields.get("legacy_vars") or ())
    return recipients


def quote(text: str) -> str:
    """A string as a quoted value of a query, so that it stays one value whatever it contains."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _evaluate_query(visit: Visit, template: str) -> str:
    if not template:
        return ""
    query, is_fine = visit.try_text(template, escape=quote)
    if not is_fine or not query.strip():
        return ""
    try:
        parse_query(query, visit.sprint.session.environment, AssetResolver(visit.sprint.assets))
    except QueryError as error:
        visit.log.error(f"Invalid contact query: {error.message}")
        return ""
    return query


def _add_variables(visit: Visit, recipients: Recipients, templates: Sequence[str]) -> None:
    assets, country = visit.sprint.assets, visit.sprint.environment.default_country
    for template in templates:
        text = visit.text(template).strip()
        group = assets.find_group_by_name(text)
        phone, urn = parse_phone(text, country), _read_urn(text, country)
        if _UUID.fullmatch(text):
            recipients.contacts.append({"uuid": text, "name": ""})
        elif group is not None:
            recipients.groups.append(group.reference)
        elif urn is not None:
            recipients.urns.append(str(urn))
        elif phone:
            recipients.urns.append(f"tel:{phone}")
        else:
            visit.log.error(f"'{text}' couldn't be resolved to a contact, group or URN")


def _read_urn(text: str, country: str) -> Urn | None:
    try:
        return read_urn(text, country)
    except UrnError:
        return None
