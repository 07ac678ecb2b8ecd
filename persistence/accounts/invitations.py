"""Invitations, links with which people join a workspace, and the letters to people about their accounts, which a worker
hands to the mail server.
"""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, delete, func, or_, select

from persistence import leases
from persistence.accounts.accounts import INVITATION_AGE, check_email, email_key
from persistence.accounts.sign_ins import make_secret
from persistence.database import Transaction
from persistence.errors import InvalidInput, LimitReached, RecordMissing
from persistence.lists import ListSpec
from persistence.pages import Order
from persistence.records import Record
from persistence.statements import update
from persistence.tables.accounts import account_mail, invitation, user
from persistence.users import find_member
from persistence.workspaces.records import Workspace, hold_workspace
from relayboard.base.settings import Settings

PREFIX = "rbi_"
PAGE = "/#/invitation/"
INVITATIONS_PER_WORKSPACE = 100

INVITATIONS = ListSpec(
    invitation,
    Record(
        {
            "uuid": invitation.c.uuid,
            "email": invitation.c.email,
            "role": invitation.c.role,
            "invited_by": select(user.c.email).where(user.c.id == invitation.c.user_id).scalar_subquery(),
            "created_on": invitation.c.created_on,
            "expires_on": invitation.c.expires_on,
            "error": invitation.c.error,
        }
    ),
    Order(invitation.c.created_on, invitation.c.id),
    standing=lambda query: [invitation.c.expires_on > query.tx.now],
)

logger = logging.getLogger("relayboard.worker")

JOB = "mail"
LEASE = timedelta(minutes=5)
FIRST_DELAY = timedelta(seconds=30)
MOST_ATTEMPTS = 8
"""So often the mail server may refuse a letter; what ends workers is given up sooner."""
LATE = "It could not be sent in time"
SIGN_IN, INVITATION, REMINDER = "sign_in", "invitation", "reminder"


@dataclass(frozen=True, slots=True)
class Invited:
    """A new invitation: its id, its link, and whether the link is mailed."""

    id: int
    link: str
    is_mailed: bool


def invite(
    tx: Transaction,
    workspace: Workspace,
    email: str,
    role: str,
    root: str,
    settings: Settings,
    inviter_id: int | None = None,
) -> Invited:
    """Invites somebody, by mail if there is a mail server; a former invitation of the same address ends. `root` is the
    URL of the service in the link; without an inviter it is an operator. Raises InvalidInput, LimitReached.
    """
    hold_workspace(tx, workspace.id)
    email = check_email(email)
    if find_member(tx, workspace.id, email) is not None:
        raise InvalidInput.on("email", f"{email} is a user of this workspace already.")
    rows, is_mailed = invitation.c, settings.smtp_url is not None
    mine = rows.workspace_id == workspace.id
    present = tx.execute(select(rows.id, rows.email).where(mine)).all()
    former = [each.id for each in present if email_key(each.email) == email_key(email)]
    tx.execute(delete(invitation).where(mine, rows.id.in_(former)))
    if len(present) - len(former) >= INVITATIONS_PER_WORKSPACE:
        raise LimitReached.of(INVITATIONS_PER_WORKSPACE, "open invitations", "take back those that are not needed")
    secret = make_secret(PREFIX, settings.secret_key)
    invitation_id = tx.insert(
        invitation,
        workspace_id=workspace.id,
        email=email,
        role=role,
        user_id=inviter_id,
        is_proof=is_mailed or inviter_id is None,
        public=secret.public,
        hash=secret.hash,
        created_on=tx.now,
        expires_on=tx.now + INVITATION_AGE,
    )
    link = f"{root}{PAGE}{secret.text}"
    if is_mailed:
        post(tx, INVITATION, email, {"workspace": workspace.name, "link": link}, INVITATION_AGE, invitation_id)
    return Invited(invitation_id, link, is_mailed)


def withdraw_invitation(tx: Transaction, workspace_id: int, uuid: str) -> None:
    """Deletes an invitation. Raises RecordMissing."""
    mine = (invitation.c.workspace_id == workspace_id) & (invitation.c.uuid == uuid)
    if not tx.execute(delete(invitation).where(mine)).rowcount:
        raise RecordMissing


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter to send: `kind` says what `content` holds, see `persistence.accounts.signing_in`."""

    id: int
    kind: str
    recipient: str
    content: Any


def post(
    tx: Transaction,
    kind: str,
    recipient: str,
    content: dict[str, str],
    lifetime: timedelta,
    invitation_id: int | None = None,
) -> None:
    """Has a worker send a letter; after its lifetime it is not sent any more. Its invitation says why it failed."""
    values = {"kind": kind, "recipient": recipient, "content": content, "attempts": 0, "invitation_id": invitation_id}
    tx.insert(account_mail, created_on=tx.now, due_on=tx.now, expires_on=tx.now + lifetime, **values)
    tx.wake(JOB)


def claim_letter(tx: Transaction) -> int | None:
    """The id of the letter that is due next, for this worker for a few minutes. Letters that came to nothing are given
    up. Commit this before the letter is read: whatever it does to the process is counted."""
    rows = account_mail.c
    waits = rows.failed_on.is_(None)
    hopeless = or_(rows.expires_on <= tx.now, rows.begun >= leases.MOST_ATTEMPTS, rows.attempts >= MOST_ATTEMPTS)
    ended = select(rows.id, rows.begun, rows.error).where(waits, rows.due_on <= tx.now, hopeless)
    for hopeless_id, begun, error in tx.execute(ended.order_by(rows.id).with_for_update(skip_locked=True)).all():
        is_dangerous = begun >= leases.MOST_ATTEMPTS
        _give_up(tx, hopeless_id, leases.GIVEN_UP if is_dangerous else f"{LATE}: {error}" if error else f"{LATE}.")
    due = select(rows.id).where(waits, rows.due_on <= tx.now).order_by(rows.due_on, rows.id).limit(1)
    letter_id = tx.execute(due.with_for_update(skip_locked=True)).scalar()
    if letter_id is not None:
        counted = {"due_on": tx.now + LEASE, "attempts": rows.attempts + 1, "begun": rows.begun + 1}
        tx.execute(update(account_mail).where(rows.id == letter_id).values(counted))
    return letter_id


def read_letter(tx: Transaction, letter_id: int) -> Letter:
    """A letter that was claimed. Raises SecretKeyChanged, SecretDamaged."""
    rows = account_mail.c
    found = select(rows.id, rows.kind, rows.recipient, rows.content).where(rows.id == letter_id)
    return Letter(*tx.execute(found).one())


def finish_letter(tx: Transaction, letter_id: int) -> None:
    tx.execute(delete(account_mail).where(account_mail.c.id == letter_id))


def postpone_letter(tx: Transaction, letter_id: int, reason: str) -> datetime | None:
    """Tries a letter again later, each time after twice as long; returns when. None if it is given up."""
    rows = account_mail.c
    tried, expires_on = tx.execute(select(rows.attempts, rows.expires_on).where(rows.id == letter_id)).one()
    due_on: datetime = tx.now + FIRST_DELAY * 2 ** (tried - 1)
    if tried >= MOST_ATTEMPTS or due_on >= expires_on:
        _give_up(tx, letter_id, f"The mail server did not take it, {tried} times: {reason}")
        return None
    tx.execute(update(account_mail).where(rows.id == letter_id).values(due_on=due_on, begun=0, error=reason))
    return due_on


def read_given_up(tx: Transaction) -> tuple[int, str | None]:
    """How many letters were given up in the last days, and why the last one was."""
    rows = account_mail.c
    failed: ColumnElement[bool] = rows.failed_on.is_not(None)
    last = select(rows.error).where(failed).order_by(rows.failed_on.desc(), rows.id.desc()).limit(1)
    count = tx.execute(select(func.count()).select_from(account_mail).where(failed)).scalar_one()
    return count, tx.execute(last).scalar()


def _give_up(tx: Transaction, letter_id: int, reason: str) -> None:
    """The letter stays, without its link, for operators; its invitation says why it did not come."""
    logger.error("a letter about an account is given up: %s", reason)
    mine = account_mail.c.id == letter_id
    tx.execute(update(account_mail).where(mine).values(failed_on=tx.now, error=reason, content={}))
    its = select(account_mail.c.invitation_id).where(mine).scalar_subquery()
    tx.execute(update(invitation).where(invitation.c.id == its).values(error=f"The letter was not sent. {reason}"))
