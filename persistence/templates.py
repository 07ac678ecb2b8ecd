"""Templates: texts that a gateway approved in advance, with their translations."""

import re
from dataclasses import dataclass

from sqlalchemy import delete, insert, update

from persistence.channels.channels import SEEN_REF, join_channels
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.lists import ListSpec, reversible
from persistence.records import Record, Related
from persistence.sql.names import check_name, name_key, require_id
from persistence.stamps import stamped
from persistence.tables.channels import channel
from persistence.tables.messages import TEMPLATE_NAME_LENGTH, template, template_translation

STATUSES = ("approved", "pending", "rejected", "unsupported_language", "unsupported_components")
LOCALE = re.compile(r"([a-z]{3})(-[A-Z]{2})?\Z")
VARIABLE = re.compile(r"\{\{\s*(\d+)\s*\}\}")

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
