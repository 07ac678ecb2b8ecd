"""API tokens of users of any role, and the secret key they are made with."""

from collections.abc import Sequence

from persistence.database import Database
from persistence.secrets.encryption import KeyRing
from persistence.statements import update
from persistence.tables.accounts import token
from persistence.tokens import TokenLimits, create_token, public_part
from persistence.users import add_member, find_member
from persistence.workspaces.records import Workspace

SECRET_KEY = "test-secret-key-for-tests-only"
KEYS = KeyRing(SECRET_KEY)


def make_token(
    database: Database, workspace: Workspace, role: str, scope: str = "write", areas: Sequence[str] | None = None
) -> str:
    """A token of a new or known user of this role in the workspace."""
    email = f"{role}@{workspace.uuid[:8]}.example.org"
    with database.writing() as tx:
        add_member(tx, workspace.id, email, role, first_name=role.title(), last_name="Tester")
        user_id = find_member(tx, workspace.id, email)
        assert user_id is not None
        return create_token(tx, workspace.id, user_id, SECRET_KEY, scope, TokenLimits(areas=areas))


def make_used_token(database: Database, workspace: Workspace, role: str, scope: str = "write") -> str:
    """The same, used just now: its first request has nothing to note, which would take a thread and a transaction."""
    key = make_token(database, workspace, role, scope)
    with database.writing() as tx:
        tx.execute(update(token).where(token.c.public == public_part(key)).values(last_used_on=tx.now))
    return key
