"""Messages that a gateway takes only as templates which it has approved: how a template is filled for a contact, and
the hours after a person's message in which anything else may be sent (`window_hours` of the channel's type).
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import Executable, Select, func, select

from channels.types import TYPES
from persistence.database import Transaction
from persistence.sql.columns import is_uuid
from persistence.sql.names import must_exist, name_key
from persistence.statements import among, statement
from persistence.tables.contacts import contact
from persistence.tables.messages import INCOMING, message, template, template_translation

NO_TEMPLATE, WINDOW_CLOSED = "no_template", "window_closed"
"""Why messages fail: the template is not approved for the channel; the person has not written for too long."""
VARIABLE = re.compile(r"\{\{\s*(\d+)\s*\}\}")
APPROVED = "approved"
MOST_SENDABLE = 250
WINDOWS = {
    name: timedelta(hours=each.carries.window_hours) for name, each in TYPES.items() if each.carries.window_hours
}


class TemplateWish(NamedTuple):
    """A template with the values of its variables; `locale` if a flow has chosen its translation already, `name` if
    somebody sees it."""

    uuid: str
    variables: tuple[str, ...] = ()
    locale: str = ""
    name: str = ""


class FilledTemplate(NamedTuple):
    """A template as its gateway knows it, with the text that the person reads."""

    @classmethod
    def read(cls, stored: Mapping[str, Any] | None, text: str) -> "FilledTemplate | None":
        """From the form that is stored with a message."""
        if not stored:
            return None
        return cls(stored["name"], stored["language"], tuple(stored["variables"]), text, stored.get("id", ""))

    name: str
    language: str
    variables: tuple[str, ...]
    text: str
    id: str = ""

    @property
    def shown(self) -> dict[str, object]:
        """As the API tells it."""
        return {"name": self.name, "language": self.language, "variables": list(self.variables)}

    @property
    def stored(self) -> dict[str, object]:
        """As it is kept with a message."""
        return self.shown | ({"id": self.id} if self.id else {})


class _Translation(NamedTuple):
    template_uuid: str
    channel_id: int
    name: str
    locale: str
    content: str
    variable_count: int
    gateway_language: str
    external_id: str


class Asked(NamedTuple):
    """A message that is to be made of a template: to whom, and by which channel."""

    wish: TemplateWish
    contact_id: int
    channel_id: int


def find_wish(tx: Transaction, workspace_id: int, body: Mapping[str, Any]) -> TemplateWish | None:
    """The template that a request names by UUID or name, with its `template_variables`, if it names one. Raises
    InvalidInput."""
    reference = body.get("template")
    if not reference:
        return None
    which = template.c.uuid == reference if is_uuid(reference) else template.c.name_key == name_key(reference)
    mine = (template.c.workspace_id == workspace_id) & which
    found = tx.execute(select(template.c.uuid, template.c.name).where(mine)).first()
    uuid, name = must_exist(found, "template", reference)
    return TemplateWish(uuid, tuple(body.get("template_variables") or ()), name=name)


def fill_templates(tx: Transaction, workspace_id: int, asked: Sequence[Asked]) -> list[FilledTemplate | None]:
    """The template of each message in the contact's language, otherwise in the first one; None if it is not approved
    for the channel, or has more variables than there are values. Two statements."""
    if not asked:
        return []
    uuids, channel_ids = {each.wish.uuid for each in asked}, {each.channel_id for each in asked}
    found: dict[tuple[str, int], list[_Translation]] = {}
    for row in _select_translations.rows(tx, workspace_id, sorted(uuids), sorted(channel_ids)):
        known = _Translation(*row)
        found.setdefault((known.template_uuid, known.channel_id), []).append(known)
    languages = dict(_select_languages.rows(tx, workspace_id, sorted({each.contact_id for each in asked})))
    return [
        _fill(each.wish, found.get((each.wish.uuid, each.channel_id), []), languages.get(each.contact_id) or "")
        for each in asked
    ]


def find_closed(tx: Transaction, workspace_id: int, wanted: Mapping[tuple[int, int], str]) -> set[tuple[int, int]]:
    """Of these contacts and channels, given with the type of the channel, those to which only templates may go now: the
    contact has not written by the channel for too long. One statement, none if no type has such a window."""
    bounded = {key: WINDOWS[kind] for key, kind in wanted.items() if kind in WINDOWS}
    if not bounded:
        return set()
    since = tx.now - max(bounded.values())
    contact_ids = sorted({contact_id for contact_id, _ in bounded})
    rows = _select_last.rows(tx, workspace_id, contact_ids, since)
    last = {(contact_id, channel_id): moment for contact_id, channel_id, moment in rows}
    return {key for key, window in bounded.items() if key not in last or last[key] <= tx.now - window}


class WindowState(NamedTuple):
    """Whether a contact takes a text that is no template by a channel now, and until when if nothing more is written;
    None if that does not end, or has."""

    is_open: bool
    until: datetime | None = None


def read_window(tx: Transaction, workspace_id: int, contact_id: int, channel_id: int, kind: str) -> WindowState:
    """The window of a contact by a channel of this type; one statement, none if the type has no window."""
    if kind not in WINDOWS:
        return WindowState(True)
    rows = _select_last.rows(tx, workspace_id, [contact_id], tx.now - WINDOWS[kind])
    last = {channel_id: moment for _, channel_id, moment in rows}.get(channel_id)
    is_open = last is not None and last > tx.now - WINDOWS[kind]
    return WindowState(is_open, last + WINDOWS[kind] if last is not None and is_open else None)


def list_sendable(tx: Transaction, workspace_id: int, contact_id: int, channel_id: int) -> list[dict[str, Any]]:
    """The templates that may go to a contact by a channel now, each in the translation that `fill_templates` takes, by
    name; up to `MOST_SENDABLE`. Two statements."""
    found: dict[str, list[_Translation]] = {}
    for row in _select_sendable.rows(tx, workspace_id, channel_id):
        known = _Translation(*row)
        found.setdefault(known.template_uuid, []).append(known)
    language = dict(_select_languages.rows(tx, workspace_id, [contact_id])).get(contact_id)
    chosen = (_choose(each, (language or "",)) for each in islice(found.values(), MOST_SENDABLE))
    return [
        {
            "uuid": each.template_uuid,
            "name": each.name,
            "locale": each.locale,
            "content": each.content,
            "variable_count": each.variable_count,
        }
        for each in chosen
    ]


def _choose(translations: Sequence[_Translation], wishes: Sequence[str]) -> _Translation:
    """The translation in the first of these locales or languages that there is, otherwise the first one."""
    fitting = (
        each
        for wanted in wishes
        for each in translations
        if wanted and (each.locale == wanted or each.locale.partition("-")[0] == wanted)
    )
    return next(fitting, translations[0])


def _fill(wish: TemplateWish, translations: Sequence[_Translation], language: str) -> FilledTemplate | None:
    if not translations:
        return None
    chosen = _choose(translations, (wish.locale, language))
    if chosen.variable_count > len(wish.variables):
        return None
    values = wish.variables[: chosen.variable_count]
    numbers = {str(number): value for number, value in enumerate(values, start=1)}
    text = VARIABLE.sub(lambda match: numbers.get(match[1], match[0]), chosen.content)
    language = chosen.gateway_language or chosen.locale.replace("-", "_")
    return FilledTemplate(chosen.name, language, values, text, chosen.external_id)


@statement
def _select_translations(workspace_id: int, uuids: Sequence[str], channel_ids: Sequence[int]) -> Executable:
    rows = template_translation.c
    chosen = among(template.c.uuid, uuids, "UUID") & among(rows.channel_id, channel_ids)
    return _select_approved(workspace_id).where(chosen).order_by(rows.id)


@statement
def _select_sendable(workspace_id: int, channel_id: int) -> Executable:
    rows = template_translation.c
    ordered = _select_approved(workspace_id).where(rows.channel_id == channel_id)
    return ordered.order_by(template.c.name_key, rows.id)


def _select_approved(workspace_id: int) -> Select[str, int, str, str, str, int, str, str]:
    rows = template_translation.c
    columns = (rows.channel_id, template.c.name, rows.locale, rows.content, rows.variable_count)
    theirs = (rows.gateway_language, rows.external_id)
    joined = template.join(template_translation, rows.template_id == template.c.id)
    mine = (template.c.workspace_id == workspace_id) & (rows.workspace_id == workspace_id)
    return select(template.c.uuid, *columns, *theirs).select_from(joined).where(mine, rows.status == APPROVED)


@statement
def _select_languages(workspace_id: int, contact_ids: Sequence[int]) -> Executable:
    return select(contact.c.id, contact.c.language).where(
        contact.c.workspace_id == workspace_id, among(contact.c.id, contact_ids)
    )


@statement
def _select_last(workspace_id: int, contact_ids: Sequence[int], since: datetime) -> Executable:
    rows = message.c
    recent = (rows.workspace_id == workspace_id) & among(rows.contact_id, contact_ids) & (rows.created_on > since)
    came = select(rows.contact_id, rows.channel_id, func.max(rows.created_on)).where(recent, rows.direction == INCOMING)
    return came.group_by(rows.contact_id, rows.channel_id)
