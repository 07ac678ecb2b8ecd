"""Changing contact fields that others depend on."""

from sqlalchemy import select

from persistence.campaign_events import is_date_used
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.fields import change_field, field

DATE_TYPE = "datetime"


def alter_field(tx: Transaction, workspace_id: int, key: str, name: str, kind: str) -> int:
    """Rename a field or change its type; its id. Raises RecordMissing or InvalidInput.

    A field that campaign events count from holds dates as long as they do.
    """
    held = select(field.c.type).where(field.c.workspace_id == workspace_id, field.c.key == key).with_for_update()
    is_leaving_dates = kind != DATE_TYPE and tx.execute(held).scalar_one_or_none() == DATE_TYPE
    if is_leaving_dates and is_date_used(tx, workspace_id, key):
        raise InvalidInput.on("type", "Campaign events use this date field.")
    return change_field(tx, workspace_id, key, name, kind)
