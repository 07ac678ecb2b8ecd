"""Changing the role of a workspace's user, and taking a user out of it. An administrator always stays."""

from sqlalchemy import ColumnElement, delete, select, update

from persistence.database import Transaction
from persistence.errors import RecordMissing, Refused
from persistence.tables.accounts import membership, token, user, workspace
from persistence.users import ADMINISTRATOR, find_member


def change_role(tx: Transaction, workspace_id: int, email: str, role: str) -> None:
    """Raises RecordMissing for somebody who is no user of the workspace, Refused for the last administrator."""
    user_id = _hold(tx, workspace_id, email)
    if role != ADMINISTRATOR:
        _check_another_administrator(tx, workspace_id, user_id, email)
    tx.execute(update(membership).where(_membership_of(workspace_id, user_id)).values(role=role))


def remove_member(tx: Transaction, workspace_id: int, email: str) -> None:
    """Takes a user out of the workspace and revokes the user's tokens for it. Raises like `change_role`."""
    user_id = _hold(tx, workspace_id, email)
    _check_another_administrator(tx, workspace_id, user_id, email)
    living = (token.c.workspace_id == workspace_id) & (token.c.user_id == user_id) & token.c.revoked_on.is_(None)
    tx.execute(update(token).where(living).values(revoked_on=tx.now))
    tx.execute(delete(membership).where(_membership_of(workspace_id, user_id)))


def _hold(tx: Transaction, workspace_id: int, email: str) -> int:
    """The user's id. Two changes of one workspace's users come one after the other, or both could take the last two
    administrators away."""
    tx.execute(select(workspace.c.id).where(workspace.c.id == workspace_id).with_for_update())
    user_id = find_member(tx, workspace_id, email)
    if user_id is None:
        raise RecordMissing(f"{email.strip()} is no user of this workspace.")
    return user_id


def _check_another_administrator(tx: Transaction, workspace_id: int, user_id: int, email: str) -> None:
    statement = (
        select(membership.c.user_id)
        .join(user, user.c.id == membership.c.user_id)
        .where(membership.c.workspace_id == workspace_id, membership.c.role == ADMINISTRATOR, user.c.is_active)
    )
    administrators = set(tx.execute(statement).scalars())
    if administrators == {user_id}:
        raise Refused(f"{email.strip()} is the last administrator of this workspace: make another one first.")


def _membership_of(workspace_id: int, user_id: int) -> ColumnElement[bool]:
    return (membership.c.workspace_id == workspace_id) & (membership.c.user_id == user_id)
