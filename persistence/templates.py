"""Templates: texts that a gateway approved in advance, with their translations. Workers read those of gateways that
list them every few hours, and when it is asked for.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, insert, select

from channels.declaration import FoundTemplate
from flows.languages import read_locale_tag
from persistence.channels.channels import SEEN_REF, join_channels
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.lists import ListSpec, reversible
from persistence.messages.templated import APPROVED, VARIABLE
from persistence.records import Record, Related
from persistence.secrets.encryption import open_or_none, sealed_text
from persistence.sql.names import check_name, name_key, require_id
from persistence.stamps import stamped
from persistence.statements import update
from persistence.tables.channels import channel
from persistence.tables.messages import TEMPLATE_NAME_LENGTH, template, template_translation

STATUSES = (APPROVED, "pending", "rejected", "unsupported_language", "unsupported_components")
LOCALE = re.compile(r"([a-z]{3})(-[A-Z]{2})?\Z")

TRANSLATION_RECORD = Record(
    {
        "language": template_translation.c.language,
        "locale": template_translation.c.locale,
        "content": template_translation.c.content,
        "namespace": template_translation.c.namespace,
        "variable_count": template_translation.c.variable_count,
        "status": template_translation.c.status,
        "channel": Record(SEEN_REF),
    }
)

TEMPLATE_RECORD = Record(
    {
        "uuid": template.c.uuid,
        "name": template.c.name,
        "translations": Related(
            template_translation.c.template_id,
            join_channels(template_translation, template_translation),
            TRANSLATION_RECORD,
            template_translation.c.id,
        ),
        "created_on": template.c.created_on,
        "modified_on": template.c.modified_on,
    }
)


TEMPLATES = ListSpec(
    template,
    TEMPLATE_RECORD,
    reversible(template.c.modified_on, template.c.id),
    options=frozenset({"reverse"}),
)


@dataclass(frozen=True, slots=True)
class Translation:
    """A text in one locale on one channel, and the result of the gateway's approval."""

    channel_uuid: str
    locale: str
    content: str
    namespace: str = ""
    status: str = "approved"


def set_translation(tx: Transaction, workspace_id: int, name: str, translation: Translation) -> int:
    """Stores a translation, replacing the one with the same locale and channel; returns the id of its template. The
    template is created with its first translation. Raises InvalidInput.
    """
    name = check_name(name, length=TEMPLATE_NAME_LENGTH)
    locale = LOCALE.match(translation.locale)
    if locale is None:
        raise InvalidInput.on("locale", "A language of three letters, and a country if needed, as in swa-KE.")
    if translation.status not in STATUSES:
        raise InvalidInput.on("status", f"One of {', '.join(STATUSES)}.")
    if not translation.content.strip():
        raise InvalidInput.on("content", "An empty value is not allowed.")
    channel_id = require_id(tx, workspace_id, channel, translation.channel_uuid, channel.c.is_active, field="channel")
    template_id = _ensure_template(tx, workspace_id, name)
    rows = template_translation.c
    same = (rows.template_id == template_id) & (rows.channel_id == channel_id) & (rows.locale == translation.locale)
    tx.execute(delete(template_translation).where(rows.workspace_id == workspace_id, same))
    values = {
        "template_id": template_id,
        "channel_id": channel_id,
        "language": locale.group(1),
        "locale": translation.locale,
        "content": translation.content,
        "namespace": translation.namespace,
        "variable_count": len(set(VARIABLE.findall(translation.content))),
        "status": translation.status,
    }
    tx.execute(insert(template_translation).values(workspace_id=workspace_id, **values))
    return template_id


def _ensure_template(tx: Transaction, workspace_id: int, name: str) -> int:
    mine = (template.c.workspace_id == workspace_id) & (template.c.name_key == name_key(name))
    statement = (
        update(template).where(mine).values(modified_on=stamped(tx, template, workspace_id)).returning(template.c.id)
    )
    template_id = tx.execute(statement).scalar_one_or_none()
    if template_id is not None:
        return template_id
    times = {"created_on": tx.now, "modified_on": stamped(tx, template, workspace_id)}
    return tx.insert(template, workspace_id=workspace_id, name=name, name_key=name_key(name), **times)


READ_AGAIN_AFTER, TRY_AGAIN_AFTER = timedelta(hours=6), timedelta(hours=1)
MOST_TEMPLATES, CONTENT_LENGTH, LANGUAGE_LENGTH, ID_LENGTH = 2000, 8192, 16, 64
UNKNOWN_LOCALE = "und"
GATEWAY_STATUSES = {"unsupported": "unsupported_components"}
WAKE = "templates"


@dataclass(frozen=True, slots=True)
class TemplateReading:
    """A channel whose templates are to be read; `config` is None if its settings cannot be decrypted."""

    workspace_id: int
    channel_id: int
    channel_type: str
    config: dict[str, Any] | None


def ask_for_templates(tx: Transaction, workspace_id: int, channel_id: int) -> None:
    """Has a worker read the templates of a channel now."""
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.id == channel_id) & channel.c.is_active
    tx.execute(update(channel).where(mine).values(templates_due_on=tx.now))
    tx.wake(WAKE)


def lease_reading(tx: Transaction) -> TemplateReading | None:
    """The channel whose templates are due for longest; it is due again in an hour, whatever happens to this worker."""
    rows = channel.c
    due = select(rows.id).where(rows.templates_due_on <= tx.now, rows.is_active)
    due = due.order_by(rows.templates_due_on, rows.id).limit(1).with_for_update(skip_locked=True, key_share=True)
    taking = update(channel).where(rows.id == due.scalar_subquery()).values(templates_due_on=tx.now + TRY_AGAIN_AFTER)
    found = tx.execute(taking.returning(rows.workspace_id, rows.id, rows.type, sealed_text(rows.config))).first()
    if found is None:
        return None
    workspace_id, channel_id, channel_type, sealed = found
    assert workspace_id is not None, "gateways are created in a workspace"
    return TemplateReading(workspace_id, channel_id, channel_type, open_or_none(tx.dialect, rows.config, sealed))


def note_failed_reading(tx: Transaction, reading: TemplateReading, reason: str) -> None:
    """Says why the templates of a channel could not be read; what was read before stays."""
    mine = (channel.c.workspace_id == reading.workspace_id) & (channel.c.id == reading.channel_id)
    tx.execute(update(channel).where(mine).values(templates_error=reason))


def store_reading(tx: Transaction, reading: TemplateReading, found: Sequence[FoundTemplate]) -> None:
    """Makes the translations of a channel those that its gateway has: gone ones are deleted. A template without any
    stays, because flows may name it. A constant number of statements if nothing has changed."""
    mine = (channel.c.workspace_id == reading.workspace_id) & (channel.c.id == reading.channel_id)
    held = tx.execute(select(channel.c.is_active).where(mine).with_for_update(key_share=True)).scalar_one_or_none()
    if not held:
        return
    wanted = {key: row for each in found[:MOST_TEMPLATES] for key, row in [_read_found(each)] if row is not None}
    rows = template_translation.c
    theirs = (rows.workspace_id == reading.workspace_id) & (rows.channel_id == reading.channel_id)
    columns = (rows.content, rows.variable_count, rows.status, rows.gateway_language, rows.external_id)
    joined = template.join(template_translation, rows.template_id == template.c.id)
    known = {
        (key, locale): (number, template_id, tuple(values))
        for number, template_id, key, locale, *values in tx.execute(
            select(rows.id, rows.template_id, template.c.name_key, rows.locale, *columns)
            .select_from(joined)
            .where(theirs, template.c.workspace_id == reading.workspace_id)
        )
    }
    gone = {key: each for key, each in known.items() if key not in wanted}
    for number, template_id, _ in gone.values():
        tx.execute(delete(template_translation).where(theirs, rows.id == number))
        _touch(tx, reading.workspace_id, template_id)
    for key, (name, values) in wanted.items():
        former = known.get(key)
        if former is not None and former[2] == tuple(values[each.key] for each in columns):
            continue
        template_id = _ensure_template(tx, reading.workspace_id, name)
        if former is not None:
            tx.execute(update(template_translation).where(theirs, rows.id == former[0]).values(values))
        else:
            owners = {"workspace_id": reading.workspace_id, "channel_id": reading.channel_id}
            tx.execute(insert(template_translation).values(template_id=template_id, **owners, **values))
    tx.execute(update(channel).where(mine).values(templates_due_on=tx.now + READ_AGAIN_AFTER, templates_error=None))


Key = tuple[str, str]


def _read_found(found: FoundTemplate) -> tuple[Key, tuple[str, dict[str, Any]] | None]:
    """The key of a translation, and the name and columns of it; None for one that cannot be kept."""
    locale = read_locale_tag(found.language)
    status = GATEWAY_STATUSES.get(found.status, found.status) if locale else "unsupported_language"
    locale = locale or UNKNOWN_LOCALE
    key = (name_key(found.name), locale)
    lengths = (
        (found.name, TEMPLATE_NAME_LENGTH),
        (found.language, LANGUAGE_LENGTH),
        (found.text, CONTENT_LENGTH),
        (found.external_id, ID_LENGTH),
    )
    if not found.name or not found.text.strip() or any(len(text) > most for text, most in lengths):
        return key, None
    values = {
        "language": locale[:3],
        "locale": locale,
        "content": found.text,
        "namespace": "",
        "variable_count": found.variables,
        "status": status,
        "gateway_language": found.language,
        "external_id": found.external_id,
    }
    return key, (found.name, values)


def _touch(tx: Transaction, workspace_id: int, template_id: int) -> None:
    mine = (template.c.workspace_id == workspace_id) & (template.c.id == template_id)
    tx.execute(update(template).where(mine).values(modified_on=stamped(tx, template, workspace_id)))
