"""Resolves the recipients of broadcasts and started sessions (flow format, send_broadcast).

Finds the assets that actions refer to, reporting those that do not exist (flow format, references).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from flows.definition import Action
from flows.engine.assets import AssetResolver, Group, Label, User
from flows.engine.visit import Visit
from flows.phones import parse_phone
from flows.queries import QueryError, parse_query
from flows.urns import Urn, UrnError, read_urn

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

T = TypeVar("T")


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


def find_groups(visit: Visit, references: Sequence[Mapping[str, Any]]) -> list[Group]:
    """The groups that exist."""
    assets = visit.sprint.assets
    return _find_all(visit, "group", references, assets.groups, assets.find_group_by_name)


def find_labels(visit: Visit, references: Sequence[Mapping[str, Any]]) -> list[Label]:
    """The labels that exist."""
    assets = visit.sprint.assets
    return _find_all(visit, "label", references, assets.labels, assets.find_label_by_name)


def find_user(visit: Visit, reference: Mapping[str, Any] | None) -> User | None:
    """The user, by UUID or by an e-mail address, which may be a template."""
    if not reference:
        return None
    assets = visit.sprint.assets
    found = assets.users.get(reference.get("uuid") or "-")
    template = reference.get("email_match") or reference.get("email") or ""
    if found is not None:
        return found
    if not template:
        visit.log.missing_dependency("user", reference)
        return None
    email, is_fine = visit.try_text(template)
    user = assets.find_user_by_email(email) if email else None
    if user is None and is_fine:
        visit.log.error(f"No such user with email '{email}'", "user:missing", {"email": email})
    return user


def find_asset(visit: Visit, kind: str, assets: Mapping[str, T], reference: Mapping[str, Any]) -> T | None:
    """The asset of a UUID."""
    found = assets.get(reference.get("uuid", ""))
    if found is None:
        visit.log.missing_dependency(kind, reference)
    return found


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


def _find_all(
    visit: Visit,
    kind: str,
    references: Sequence[Mapping[str, Any]],
    by_uuid: Mapping[str, T],
    by_name: Callable[[str], T | None],
) -> list[T]:
    found = (_find_one(visit, kind, reference, by_uuid, by_name) for reference in references)
    return [item for item in found if item is not None]


def _find_one(
    visit: Visit,
    kind: str,
    reference: Mapping[str, Any],
    by_uuid: Mapping[str, T],
    by_name: Callable[[str], T | None],
) -> T | None:
    if not reference.get("name_match"):
        return find_asset(visit, kind, by_uuid, reference)
    name, is_fine = visit.try_text(reference["name_match"])
    name = name.strip()
    # An incomplete name could be the name of another asset.
    found = by_name(name) if is_fine else None
    if found is None and is_fine:
        visit.log.error(f"No such {kind} with name '{name}'", f"{kind}:missing", {"name": name})
    return found
