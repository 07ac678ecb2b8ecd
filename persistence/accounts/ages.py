"""How long sign-ins, links, invitations and the audit log are kept."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Table, delete, select

from persistence.database import Transaction
from persistence.tables.audit import audit_event
from persistence.tables.sign_ins import account_mail, invitation, sign_in, sign_in_link, sign_in_window
from relayboard.base.settings import Settings

LINK_AGE = timedelta(minutes=15)
INVITATION_AGE = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Ages:
    """`sign_in` is counted from the beginning of a sign-in, `idle` from its last request; `audit` None means for
    ever."""

    sign_in: timedelta
    idle: timedelta
    window: timedelta
    audit: timedelta | None

    @classmethod
    def of(cls, settings: Settings) -> "Ages":
        """The ages in the settings of this process."""
        limits = (settings.sign_in_limit, settings.account_sign_in_limit, settings.address_sign_in_limit)
        window = max(each.period for each in limits)
        audit = timedelta(days=settings.audit_days) if settings.audit_days else None
        return cls(timedelta(days=settings.sign_in_days), timedelta(days=settings.sign_in_idle_days), window, audit)


def trim_accounts(tx: Transaction, ages: Ages, limit: int) -> int:
    """Deletes at most `limit` rows of each kind that are too old; returns the largest number."""
    now = tx.now
    sign_ins = [
        _trim(tx, sign_in, sign_in.c.id, sign_in.c.created_on, now - ages.sign_in, limit),
        _trim(tx, sign_in, sign_in.c.id, sign_in.c.seen_on, now - ages.idle, limit),
        _trim(tx, sign_in_link, sign_in_link.c.id, sign_in_link.c.created_on, now - LINK_AGE, limit),
        _trim(tx, invitation, invitation.c.id, invitation.c.created_on, now - INVITATION_AGE, limit),
        _trim(tx, account_mail, account_mail.c.id, account_mail.c.created_on, now - INVITATION_AGE, limit),
        _trim(tx, sign_in_window, sign_in_window.c.subject, sign_in_window.c.began_on, now - ages.window, limit),
    ]
    if ages.audit is not None:
        sign_ins.append(_trim(tx, audit_event, audit_event.c.id, audit_event.c.created_on, now - ages.audit, limit))
    return max(sign_ins)


def _trim(
    tx: Transaction, table: Table, key: ColumnElement[Any], age: ColumnElement[datetime], before: datetime, limit: int
) -> int:
    old = select(key).where(age <= before).order_by(age, key).limit(limit)
    return tx.execute(delete(table).where(key.in_(old.scalar_subquery()))).rowcount
