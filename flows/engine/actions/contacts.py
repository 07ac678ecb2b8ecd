"""Actions that change properties, fields and addresses of the contact (flow format, actions on contacts)."""

from __future__ import annotations

from flows.definition import Action
from flows.engine.actions.changes import change_contact
from flows.engine.modifiers import addresses, attributes
from flows.engine.visit import Visit
from flows.environment import is_timezone
from flows.languages import is_language
from flows.urns import Urn, UrnError, normalize

LANGUAGE_LETTERS = 3
HAS_URN_LOCAL = "_has_urn"


def set_contact_name(visit: Visit, action: Action) -> None:
    """Sets the name; an expression in error leaves it."""
    name, is_fine = visit.try_text(action.fields["name"])
    if is_fine:
        change_contact(visit, lambda editor: attributes.change_name(editor, name.strip()))


def set_contact_language(visit: Visit, action: Action) -> None:
    """Sets or clears the language."""
    language, is_fine = visit.try_text(action.fields["language"])
    language = language.strip()
    if not is_fine:
        return
    if language and len(language) != LANGUAGE_LETTERS:
        visit.log.error(f"iso-639-3 codes must be {LANGUAGE_LETTERS} characters, got: {language}")
    elif language and not is_language(language.lower()):
        visit.log.error(f"unrecognized language code: {language}")
    else:
        change_contact(visit, lambda editor: attributes.change_language(editor, language.lower()))


def set_contact_timezone(visit: Visit, action: Action) -> None:
    """Sets or clears the timezone."""
    timezone, is_fine = visit.try_text(action.fields["timezone"])
    timezone = timezone.strip()
    if not is_fine:
        return
    if timezone and not is_timezone(timezone):
        visit.log.error(f"Unrecognized timezone: '{timezone}'", "timezone:invalid", {"timezone": timezone})
        return
    change_contact(visit, lambda editor: attributes.change_timezone(editor, timezone))


def set_contact_status(visit: Visit, action: Action) -> None:
    """Sets the status."""
    change_contact(visit, lambda editor: attributes.change_status(editor, action.fields["status"]))


def set_contact_field(visit: Visit, action: Action) -> None:
    """Sets or clears a field; an expression in error leaves it."""
    text, is_fine = visit.try_text(action.fields.get("value") or "")
    reference = action.fields["field"]
    field = visit.sprint.assets.fields.get(reference["key"])
    if not is_fine:
        return
    if field is None:
        visit.log.missing_dependency("field", reference)
        return
    change_contact(visit, lambda editor: attributes.change_field(editor, field, text))


def set_contact_channel(visit: Visit, action: Action) -> None:
    """Makes a channel the preferred one, or none."""
    reference = action.fields.get("channel")
    channel = visit.sprint.assets.channels.get(reference["uuid"]) if reference else None
    if reference and channel is None:
        visit.log.missing_dependency("channel", reference)
        return
    change_contact(visit, lambda editor: addresses.prefer_channel(editor, channel))


def add_contact_urn(visit: Visit, action: Action) -> None:
    """Adds an address; in generation 14 a local variable says which one the contact now has, if any.

    Of a path with an expression in error, what remains is added.
    """
    path = visit.text(action.fields["path"]).strip()
    if not path:
        visit.log.error("Can't add URN with empty path")
        return
    urn = _normalize(visit, Urn(action.fields["scheme"], path))
    change_contact(visit, lambda editor: addresses.change_routes(editor, [(str(urn), None)], addresses.APPEND))
    if not visit.options.is_early:
        has_urn = visit.sprint.session.contact.has_urn(urn)
        visit.run.locals[HAS_URN_LOCAL] = urn.identity if has_urn else ""


def _normalize(visit: Visit, urn: Urn) -> Urn:
    try:
        return normalize(urn, visit.sprint.environment.default_country)
    except UrnError:
        return urn
