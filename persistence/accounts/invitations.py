"""Invitations: a link with which somebody joins a workspace."""

from dataclasses import dataclass

from sqlalchemy import delete, select

from persistence.accounts.accounts import INVITATION_AGE, check_email, email_key
from persistence.accounts.mail import INVITATION, post
from persistence.accounts.sign_ins import make_secret
from persistence.database import Transaction
from persistence.errors import InvalidInput, LimitReached, RecordMissing
from persistence.lists import ListSpec
from persistence.pages import Order
from persistence.records import Record
from persistence.tables.accounts import user
from persistence.tables.sign_ins import invitation
from persistence.users import find_member
from persistence.workspaces import Workspace, hold_workspace
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
