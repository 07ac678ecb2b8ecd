"""Users and their roles in workspaces, each of which keeps an administrator, and API tokens as people see them: without
their secrets.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, delete, func, insert, literal_column, null, select

from persistence.accounts.accounts import Ended, check_email, email_key, end_unproven, hold_user
from persistence.database import Transaction
from persistence.errors import InvalidInput, RecordMissing, Refused
from persistence.lists import Condition, ListQuery, ListSpec, one_of
from persistence.pages import Order
from persistence.records import WORKSPACE, Record, optional
from persistence.sql.columns import is_uuid
from persistence.statements import update
from persistence.tables.accounts import PERSON_NAME_LENGTH, membership, token, user
from persistence.tables.changes import participant
from persistence.tables.contacts import TEAM_REF, team, team_member
from persistence.teams import leave_team
from persistence.tickets.records import unassign_stranded
from persistence.tokens import public_part
from persistence.workspaces.records import hold_workspace

ROLES = ("administrator", "editor", "viewer", "agent", "surveyor")
ADMINISTRATOR = ROLES[0]
A = {role: f"an {role}" if role[0] in "ae" else f"a {role}" for role in ROLES}

USER_NAME = (user.c.first_name + literal_column("' '") + user.c.last_name).label("name")

USER_RECORD = Record(
    {
        "uuid": user.c.uuid,
        "email": user.c.email,
        "name": func.trim(USER_NAME),
        "first_name": user.c.first_name,
        "last_name": user.c.last_name,
        "role": membership.c.role,
        "team": optional(team.c.id, TEAM_REF),
        "avatar": null(),
        "created_on": user.c.created_on,
    }
)


def _members(query: ListQuery) -> list[Condition]:
    mine = membership.c.workspace_id == query.workspace.id
    return [mine, membership.c.user_id == user.c.id, user.c.is_active]


USERS = ListSpec(
    user,
    USER_RECORD,
    Order(membership.c.created_on, membership.c.user_id),
    source=user.join(membership, (membership.c.user_id == user.c.id) & (membership.c.workspace_id == WORKSPACE))
    .outerjoin(team_member, (team_member.c.user_id == user.c.id) & (team_member.c.workspace_id == WORKSPACE))
    .outerjoin(team, team.c.id == team_member.c.team_id),
    standing=_members,
    filters={
        "uuid": one_of(user.c.uuid),
        "email": lambda _query, emails: user.c.email_key.in_([email_key(each) for each in emails]),
        "role": one_of(membership.c.role),
    },
)


def find_member(tx: Transaction, workspace_id: int, email: str) -> int | None:
    """The id of the workspace's user with this e-mail address (any case)."""
    statement = (
        select(user.c.id)
        .join(membership, membership.c.user_id == user.c.id)
        .where(membership.c.workspace_id == workspace_id, user.c.email_key == email_key(email), user.c.is_active)
    )
    return tx.execute(statement).scalar_one_or_none()


def find_members_called(tx: Transaction, workspace_id: int, text: str) -> list[str]:
    """The e-mail addresses of the workspace's users who have this UUID, address or name, in any case."""
    wanted = " ".join(text.split()).casefold()
    joined = select(user.c.uuid, user.c.email, user.c.first_name, user.c.last_name).join(
        membership, membership.c.user_id == user.c.id
    )
    rows = tx.execute(joined.where(membership.c.workspace_id == workspace_id, user.c.is_active).order_by(user.c.id))
    found = []
    for uuid, email, *names in rows:
        name = " ".join(" ".join(each or "" for each in names).split())
        if wanted in (uuid, email_key(email), name.casefold()):
            found.append(email)
    return found


def find_member_email(tx: Transaction, workspace_id: int, uuid: str) -> str | None:
    """The e-mail address of the workspace's user with this UUID."""
    if not is_uuid(uuid):
        return None
    mine = (membership.c.workspace_id == workspace_id) & (user.c.uuid == uuid) & user.c.is_active
    statement = select(user.c.email).join(membership, membership.c.user_id == user.c.id).where(mine)
    return tx.execute(statement).scalar_one_or_none()


def find_member_uuid(tx: Transaction, workspace_id: int, email: str) -> str | None:
    """The UUID of the workspace's user with this e-mail address (any case)."""
    user_id = find_member(tx, workspace_id, email)
    return None if user_id is None else tx.execute(select(user.c.uuid).where(user.c.id == user_id)).scalar_one()


def find_user_reference(tx: Transaction, user_id: int) -> dict[str, str] | None:
    """A user by uuid, name and e-mail address."""
    row = tx.execute(select(user.c.uuid, USER_NAME, user.c.email).where(user.c.id == user_id)).first()
    if row is None:
        return None
    uuid, name, address = row
    return {"uuid": uuid, "name": name.strip(), "email": address}


@dataclass(frozen=True, slots=True)
class Joined:
    """A user who has a role in a workspace; `ended` is what an unproven account lost by that."""

    id: int
    uuid: str
    ended: Ended | None = None


def add_member(
    tx: Transaction,
    workspace_id: int,
    email: str,
    role: str,
    *,
    first_name: str = "",
    last_name: str = "",
    is_holder: bool = False,
) -> Joined:
    """Give a user a role in the workspace, creating the user if the address is new. Nothing changes for a member with
    that role. What an unproven account has ends, unless its holder asks (`is_holder`). Raises Refused for a member with
    another role, InvalidInput for a bad address or name.
    """
    email = check_email(email)
    names = {"first_name": first_name.strip(), "last_name": last_name.strip()}
    for field, name in names.items():
        if len(name) > PERSON_NAME_LENGTH or "\x00" in name:
            raise InvalidInput.on(field, f"At most {PERSON_NAME_LENGTH} characters.")
    row = tx.execute(select(user.c.id, user.c.uuid).where(user.c.email_key == email_key(email))).first()
    if row is None:
        values = {"email": email, "email_key": email_key(email), "is_active": True, "created_on": tx.now}
        row = tx.execute(insert(user).values(**values, **names).returning(user.c.id, user.c.uuid)).one()
    user_id, uuid = row
    hold_user(tx, user_id)
    present = read_role(tx, workspace_id, user_id)
    if present not in (None, role):
        raise Refused(f"{email} is {A[present]} of this workspace already; `user change` changes the role.")
    if present is not None:
        return Joined(user_id, uuid)
    ended = None if is_holder else end_unproven(tx, user_id)
    tx.execute(insert(membership).values(workspace_id=workspace_id, user_id=user_id, role=role, created_on=tx.now))
    return Joined(user_id, uuid, ended)


def read_role(tx: Transaction, workspace_id: int, user_id: int) -> str | None:
    """The role of a user in a workspace; None for a user of other workspaces."""
    mine = (membership.c.workspace_id == workspace_id) & (membership.c.user_id == user_id)
    return tx.execute(select(membership.c.role).where(mine)).scalar_one_or_none()


def change_role(tx: Transaction, workspace_id: int, email: str, role: str, by_user_id: int | None = None) -> None:
    """Change the role of a user; open tickets do not stay with a role that cannot act on them. Raises RecordMissing for
    a user of other workspaces, Refused for the last administrator."""
    user_id = _hold_member(tx, workspace_id, email)
    if role != ADMINISTRATOR:
        _check_another_administrator(tx, workspace_id, user_id, email)
    tx.execute(update(membership).where(_membership_of(workspace_id, user_id)).values(role=role))
    unassign_stranded(tx, workspace_id, user_id, by_user_id)


def remove_member(tx: Transaction, workspace_id: int, email: str, by_user_id: int | None = None) -> None:
    """Removes a user from the workspace, revokes the user's tokens for it, and makes the user's open tickets nobody's.
    Raises like `change_role`."""
    user_id = _hold_member(tx, workspace_id, email)
    _check_another_administrator(tx, workspace_id, user_id, email)
    living = (token.c.workspace_id == workspace_id) & (token.c.user_id == user_id) & token.c.revoked_on.is_(None)
    tx.execute(update(token).where(living).values(revoked_on=tx.now))
    # In this order, in which tickets are assigned in turn: they hold the role before the place in the team.
    tx.execute(delete(membership).where(_membership_of(workspace_id, user_id)))
    leave_team(tx, workspace_id, user_id)
    unassign_stranded(tx, workspace_id, user_id, by_user_id)
    tx.execute(delete(participant).where(participant.c.workspace_id == workspace_id, participant.c.user_id == user_id))


def _shown(query: ListQuery) -> list[Condition]:
    """All tokens for an administrator, otherwise one's own."""
    mine = (membership.c.workspace_id == query.workspace.id) & (membership.c.user_id == query.user_id)
    is_administrator = select(membership.c.user_id).where(mine, membership.c.role == ADMINISTRATOR).exists()
    return [token.c.revoked_on.is_(None), (token.c.user_id == query.user_id) | is_administrator]


TOKENS = ListSpec(
    token,
    Record(
        {
            "token": token.c.public,
            "name": token.c.name,
            "user": Record({"uuid": user.c.uuid, "name": func.trim(USER_NAME.element), "email": user.c.email}),
            "scope": token.c.scope,
            "areas": token.c.areas,
            "created_on": token.c.created_on,
            "last_used_on": token.c.last_used_on,
            "expires_on": token.c.expires_on,
        }
    ),
    Order(token.c.created_on, token.c.id),
    source=token.join(user, user.c.id == token.c.user_id),
    standing=_shown,
)


def read_token(query: ListQuery, text: str) -> str:
    """The record of a token, which is given as a whole, as JSON text."""
    (record,) = TOKENS.read(query, token.c.public == public_part(text))
    return record


def read_expiry(text: str | None) -> datetime | None:
    """When a token expires, from a request: UTC without a time zone. Raises InvalidInput."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text.upper())
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput.on("expires_on", "A time is required, like 2027-03-02T08:00:00Z.") from error


def _hold_member(tx: Transaction, workspace_id: int, email: str) -> int:
    """The user's id. Concurrent changes of one workspace's users run one after the other, so that an administrator
    remains."""
    hold_workspace(tx, workspace_id)
    user_id = find_member(tx, workspace_id, email)
    if user_id is None:
        raise RecordMissing(f"{email.strip()} is not a user of this workspace.")
    return user_id


def _check_another_administrator(tx: Transaction, workspace_id: int, user_id: int, email: str) -> None:
    statement = (
        select(membership.c.user_id)
        .join(user, user.c.id == membership.c.user_id)
        .where(membership.c.workspace_id == workspace_id, membership.c.role == ADMINISTRATOR, user.c.is_active)
    )
    administrators = set(tx.execute(statement).scalars())
    if administrators == {user_id}:
        raise Refused(f"{email.strip()} is the last administrator of this workspace: add another one first.")


def _membership_of(workspace_id: int, user_id: int) -> ColumnElement[bool]:
    return (membership.c.workspace_id == workspace_id) & (membership.c.user_id == user_id)
