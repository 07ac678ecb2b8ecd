"""Messages that a gateway takes only as templates which it has approved: how a template is filled for a contact, and
the hours after a person's message in which anything else may be sent (`window_hours` of the channel's type).
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Executable, func, select

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
WINDOWS = {
    name: timedelta(hours=each.carries.window_hours) for name, each in TYPES.items() if each.carries.window_hours
}


class TemplateWish(NamedTuple):
    """A template with the values of its variables; `locale` if a flow has chosen its translation already."""

    uuid: str
    variables: tuple[str, ...] = ()
    locale: str = ""


class FilledTemplate(NamedTuple):
    """A template as its gateway knows it, with the text that the person reads."""

    @classmethod
    def read(cls, stored: Mapping[str, Any] | None, text: str) -> "FilledTemplate | None":
        """From the form that is stored with a message."""
        return (stored and cls(stored["name"], stored["language"], tuple(stored["variables"]), text)) or None

    name: str
    language: str
    variables: tuple[str, ...]
    text: str

    @property
    def stored(self) -> dict[str, object]:
        return {"name": self.name, "language": self.language, "variables": list(self.variables)}


class _Translation(NamedTuple):
    template_uuid: str
    channel_id: int
    name: str
    locale: str
    content: str
    variable_count: int
    gateway_language: str


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
    uuid = must_exist(tx.execute(select(template.c.uuid).where(mine)).scalar_one_or_none(), "template", reference)
    return TemplateWish(uuid, tuple(body.get("template_variables") or ()))


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


def _fill(wish: TemplateWish, translations: Sequence[_Translation], language: str) -> FilledTemplate | None:
    chosen = next(
        (
            each
            for wanted in (wish.locale, language)
            for each in translations
            if wanted and (each.locale == wanted or each.locale.partition("-")[0] == wanted)
        ),
        translations[0] if translations else None,
    )
    if chosen is None or chosen.variable_count > len(wish.variables):
        return None
    values = wish.variables[: chosen.variable_count]
    numbers = {str(number): value for number, value in enumerate(values, start=1)}
    text = VARIABLE.sub(lambda match: numbers.get(match[1], match[0]), chosen.content)
    return FilledTemplate(chosen.name, chosen.gateway_language or chosen.locale.replace("-", "_"), values, text)


@statement
def _select_translations(workspace_id: int, uuids: Sequence[str], channel_ids: Sequence[int]) -> Executable:
    rows = template_translation.c
    columns = (rows.channel_id, template.c.name, rows.locale, rows.content, rows.variable_count, rows.gateway_language)
    joined = template.join(template_translation, rows.template_id == template.c.id)
    mine = (template.c.workspace_id == workspace_id) & (rows.workspace_id == workspace_id)
    chosen = mine & among(template.c.uuid, uuids, "UUID") & among(rows.channel_id, channel_ids)
    return (
        select(template.c.uuid, *columns).select_from(joined).where(chosen, rows.status == APPROVED).order_by(rows.id)
    )


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
