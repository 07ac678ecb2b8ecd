"""Users and their roles in workspaces."""

from sqlalchemy import FromClause, func, insert, literal_column, null, select

from persistence.database import Transaction
from persistence.errors import InvalidInput, Refused
from persistence.lists import Condition, ListQuery, ListSpec, one_of
from persistence.sql.columns import new_uuid
from persistence.sql.json_sql import declare_record
from persistence.sql.pages import Order
from persistence.tables.accounts import EMAIL_LENGTH, PERSON_NAME_LENGTH, membership, user

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


def find_user(tx: Transaction, uuid: str) -> int | None:
    """The id of the user with this uuid."""
    return tx.execute(select(user.c.id).where(user.c.uuid == uuid)).scalar_one_or_none()


def find_user_reference(tx: Transaction, user_id: int) -> dict[str, str] | None:
    """A user by uuid, name and e-mail address."""
    row = tx.execute(select(user.c.uuid, USER_NAME, user.c.email).where(user.c.id == user_id)).first()
    return None if row is None else {"uuid": row.uuid, "name": row.name.strip(), "email": row.email}


def check_email(email: str) -> str:
    """The address without spaces around it. Raises InvalidInput for one that cannot be an e-mail address."""
    email = email.strip()
    local, _, domain = email.rpartition("@")
    is_plain = email.isprintable() and not any(character in ' @,;<>()[]"\\' for character in local + domain)
    if not local or "." not in domain.strip(".") or not is_plain:
        raise InvalidInput.on("email", f"{email} is no e-mail address." if email else "An empty value is not allowed.")
    if len(email) > EMAIL_LENGTH:
        raise InvalidInput.on("email", f"At most {EMAIL_LENGTH} characters.")
    return email


def add_member(
    tx: Transaction, workspace_id: int, email: str, role: str, *, first_name: str = "", last_name: str = ""
) -> str:
    """Give a user a role in the workspace, creating the user when the address is new; returns the user's uuid.

    Whoever has that role already keeps it; raises Refused when it is another one, InvalidInput on an address or name.
    """
    email = check_email(email)
    names = {"first_name": first_name.strip(), "last_name": last_name.strip()}
    for field, name in names.items():
        if len(name) > PERSON_NAME_LENGTH or "\x00" in name:
            raise InvalidInput.on(field, f"At most {PERSON_NAME_LENGTH} characters.")
    row = tx.execute(select(user.c.id, user.c.uuid).where(user.c.email_key == email.lower())).first()
    if row is None:
        values = {"uuid": new_uuid(), "email": email, "email_key": email.lower(), "is_active": True}
        statement = insert(user).values(created_on=tx.now, **values, **names).returning(user.c.id, user.c.uuid)
        row = tx.execute(statement).one()
    present = read_role(tx, workspace_id, row.id)
    if present not in (None, role):
        raise Refused(f"{email} is {A[present]} of this workspace already; `user change` gives another role.")
    if present is None:
        tx.execute(insert(membership).values(workspace_id=workspace_id, user_id=row.id, role=role, created_on=tx.now))
    uuid: str = row.uuid
    return uuid


def read_role(tx: Transaction, workspace_id: int, user_id: int) -> str | None:
    """The role of a user in a workspace; None for somebody who is not of it."""
    mine = (membership.c.workspace_id == workspace_id) & (membership.c.user_id == user_id)
    return tx.execute(select(membership.c.role).where(mine)).scalar_one_or_none()
