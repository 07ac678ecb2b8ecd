"""Users and their roles in workspaces, each of which keeps an administrator."""

from sqlalchemy import ColumnElement, FromClause, delete, func, insert, literal_column, null, select, update

from persistence.database import Transaction
from persistence.errors import InvalidInput, RecordMissing, Refused
from persistence.lists import Condition, ListQuery, ListSpec, one_of
from persistence.sql.columns import is_uuid
from persistence.sql.json_sql import declare_record
from persistence.sql.pages import Order
from persistence.tables.accounts import EMAIL_LENGTH, PERSON_NAME_LENGTH, membership, token, user
from persistence.workspaces import hold_workspace

ROLES = ("administrator", "editor", "viewer", "agent", "surveyor")
ADMINISTRATOR = ROLES[0]
A = {role: f"an {role}" if role[0] in "ae" else f"a {role}" for role in ROLES}

USER_NAME = (user.c.first_name + literal_column("' '") + user.c.last_name).label("name")

USER_RECORD = declare_record(
    {
        "uuid": user.c.uuid,
        "email": user.c.email,
        "name": func.trim(USER_NAME),
        "first_name": user.c.first_name,
        "last_name": user.c.last_name,
        "role": membership.c.role,
        "team": null(),
        "avatar": null(),
        "created_on": user.c.created_on,
    }
)


def _members(query: ListQuery) -> list[Condition]:
    mine = membership.c.workspace_id == query.workspace.id
    return [mine, membership.c.user_id == user.c.id, user.c.is_active]


def _joined_members(query: ListQuery) -> FromClause:
    mine = membership.c.workspace_id == query.workspace.id
    return user.join(membership, (membership.c.user_id == user.c.id) & mine)


USERS = ListSpec(
    user,
    USER_RECORD,
    Order(membership.c.created_on, membership.c.user_id),
    source=_joined_members,
    standing=_members,
    filters={
        "uuid": one_of(user.c.uuid),
        "email": lambda _query, emails: user.c.email_key.in_([email.lower() for email in emails]),
        "role": one_of(membership.c.role),
    },
)


def find_member(tx: Transaction, workspace_id: int, email: str) -> int | None:
    """The id of the workspace's user with this e-mail address (any case)."""
    statement = (
        select(user.c.id)
        .join(membership, membership.c.user_id == user.c.id)
        .where(membership.c.workspace_id == workspace_id, user.c.email_key == email.strip().lower(), user.c.is_active)
    )
    return tx.execute(statement).scalar_one_or_none()


def find_member_email(tx: Transaction, workspace_id: int, uuid: str) -> str | None:
    """The e-mail address of the workspace's user with this UUID."""
    if not is_uuid(uuid):
        return None
    mine = (membership.c.workspace_id == workspace_id) & (user.c.uuid == uuid) & user.c.is_active
    statement = select(user.c.email).join(membership, membership.c.user_id == user.c.id).where(mine)
    return tx.execute(statement).scalar_one_or_none()


def find_user(tx: Transaction, uuid: str) -> int | None:
    """The id of the user with this uuid."""
    return tx.execute(select(user.c.id).where(user.c.uuid == uuid)).scalar_one_or_none()


def find_user_reference(tx: Transaction, user_id: int) -> dict[str, str] | None:
    """A user by uuid, name and e-mail address."""
    row = tx.execute(select(user.c.uuid, USER_NAME, user.c.email).where(user.c.id == user_id)).first()
    if row is None:
        return None
    uuid, name, address = row
    return {"uuid": uuid, "name": name.strip(), "email": address}


def check_email(email: str) -> str:
    """The address without white space around it. Raises InvalidInput if it cannot be an e-mail address."""
    email = email.strip()
    local, _, domain = email.rpartition("@")
    is_plain = email.isprintable() and not any(character in ' @,;<>()[]"\\' for character in local + domain)
    if not local or "." not in domain.strip(".") or not is_plain:
        raise InvalidInput.on(
            "email", f"{email} is not an e-mail address." if email else "An empty value is not allowed."
        )
    if len(email) > EMAIL_LENGTH:
        raise InvalidInput.on("email", f"At most {EMAIL_LENGTH} characters.")
    return email


def add_member(
    tx: Transaction, workspace_id: int, email: str, role: str, *, first_name: str = "", last_name: str = ""
) -> str:
    """Give a user a role in the workspace, creating the user if the address is new; returns the user's UUID. Nothing
    changes for a member with that role. Raises Refused for a member with another role, InvalidInput for a bad address
    or name.
    """
    email = check_email(email)
    names = {"first_name": first_name.strip(), "last_name": last_name.strip()}
    for field, name in names.items():
        if len(name) > PERSON_NAME_LENGTH or "\x00" in name:
            raise InvalidInput.on(field, f"At most {PERSON_NAME_LENGTH} characters.")
    row = tx.execute(select(user.c.id, user.c.uuid).where(user.c.email_key == email.lower())).first()
    if row is None:
        values = {"email": email, "email_key": email.lower(), "is_active": True, "created_on": tx.now}
        row = tx.execute(insert(user).values(**values, **names).returning(user.c.id, user.c.uuid)).one()
    user_id, uuid = row
    present = read_role(tx, workspace_id, user_id)
    if present not in (None, role):
        raise Refused(f"{email} is {A[present]} of this workspace already; `user change` changes the role.")
    if present is None:
        tx.execute(insert(membership).values(workspace_id=workspace_id, user_id=user_id, role=role, created_on=tx.now))
    return uuid


def read_role(tx: Transaction, workspace_id: int, user_id: int) -> str | None:
    """The role of a user in a workspace; None for a user of other workspaces."""
    mine = (membership.c.workspace_id == workspace_id) & (membership.c.user_id == user_id)
    return tx.execute(select(membership.c.role).where(mine)).scalar_one_or_none()


def change_role(tx: Transaction, workspace_id: int, email: str, role: str) -> None:
    """Change the role of a user. Raises RecordMissing for a user of other workspaces, Refused for the last
    administrator."""
    user_id = _hold_member(tx, workspace_id, email)
    if role != ADMINISTRATOR:
        _check_another_administrator(tx, workspace_id, user_id, email)
    tx.execute(update(membership).where(_membership_of(workspace_id, user_id)).values(role=role))


def remove_member(tx: Transaction, workspace_id: int, email: str) -> None:
    """Removes a user from the workspace and revokes the user's tokens for it. Raises like `change_role`."""
    user_id = _hold_member(tx, workspace_id, email)
    _check_another_administrator(tx, workspace_id, user_id, email)
    living = (token.c.workspace_id == workspace_id) & (token.c.user_id == user_id) & token.c.revoked_on.is_(None)
    tx.execute(update(token).where(living).values(revoked_on=tx.now))
    tx.execute(delete(membership).where(_membership_of(workspace_id, user_id)))


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
