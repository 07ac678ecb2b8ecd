"""Sign-ins: the browsers in which people are signed in, which the API calls sessions. The secrets that browsers and
mails carry have a prefix, a public part by which they are looked up, and a secret part, of which only a keyed hash is
stored.
"""

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, case, delete, false, insert, select

from persistence.accounts.accounts import Ages
from persistence.database import Transaction
from persistence.errors import NotAllowed, RecordMissing
from persistence.lists import Condition, ListQuery, ListSpec
from persistence.pages import Order, Selection, read_all
from persistence.records import SIGN_IN, Record
from persistence.sql.columns import NO_ID, is_uuid
from persistence.statements import update
from persistence.tables.accounts import (
    ADDRESS_LENGTH,
    AGENT_LENGTH,
    SECRET_PUBLIC_LENGTH,
    account,
    membership,
    sign_in,
    user,
    workspace,
)
from persistence.tokens import Credentials, keyed_hash
from persistence.workspaces.records import WORKSPACE_COLUMNS, workspace_from_row

PREFIX = "rbs_"
SEEN_STEP = timedelta(minutes=1)
BY_PASSWORD, BY_LINK, BY_INVITATION = "password", "link", "invitation"

LONGEST_KEY = 128


@dataclass(frozen=True, slots=True)
class Browser:
    """Where a request comes from: IP address, `User-Agent`, and what a browser keeps in which somebody signed in."""

    address: str
    agent: str
    known: str | None = None


def _mine(query: ListQuery) -> list[Condition]:
    return [sign_in.c.user_id == query.user_id]


SIGN_IN_RECORD = Record(
    {
        "uuid": sign_in.c.uuid,
        "method": sign_in.c.method,
        "address": sign_in.c.address,
        "user_agent": sign_in.c.agent,
        "current": sign_in.c.id == SIGN_IN,
        "created_on": sign_in.c.created_on,
        "last_seen_on": sign_in.c.seen_on,
    }
)
"""`current` is the sign-in that asks."""

NEWEST_FIRST = Order(sign_in.c.created_on, sign_in.c.id)
SIGN_INS = ListSpec(sign_in, SIGN_IN_RECORD, NEWEST_FIRST, standing=_mine)


def create_sign_in(tx: Transaction, user_id: int, method: str, browser: Browser, secret_key: str) -> tuple[int, str]:
    """Signs a user in; returns the id of the sign-in and the secret for the browser, which cannot be read again."""
    secret = make_secret(PREFIX, secret_key)
    values = {
        "user_id": user_id,
        "public": secret.public,
        "hash": secret.hash,
        "method": method,
        "address": browser.address[:ADDRESS_LENGTH],
        "agent": browser.agent.replace("\x00", "")[:AGENT_LENGTH],
        "created_on": tx.now,
        "seen_on": tx.now,
    }
    return tx.execute(insert(sign_in).values(**values).returning(sign_in.c.id)).scalar_one(), secret.text


def read_sign_ins(tx: Transaction, user_id: int, current_id: int | None = None) -> list[str]:
    """The sign-ins of a user as JSON texts, newest first; with an id only that one, as the one that asks."""
    mine = sign_in.c.user_id == user_id
    if current_id is not None:
        mine &= sign_in.c.id == current_id
    asking = {SIGN_IN.key: current_id or NO_ID}
    return read_all(tx, Selection(SIGN_IN_RECORD, sign_in, sign_in.c.id, NEWEST_FIRST, [mine], asking))


def find_by_sign_in(
    tx: Transaction, key: str, secret_keys: Sequence[str], ages: Ages, workspace_uuid: str | None = None
) -> Credentials | None:
    """The credentials of a browser in the workspace with this UUID, or in the one that its user chose last. None if it
    is not signed in (any more) or its user has no workspace. Raises NotAllowed for a workspace of others.
    """
    public = public_of(PREFIX, key)
    if public is None:
        return None
    wanted = workspace.c.uuid == workspace_uuid if workspace_uuid is not None and is_uuid(workspace_uuid) else false()
    preference = case((wanted, 0), (workspace.c.id == account.c.chosen_id, 1), else_=2)
    statement = (
        select(sign_in.c.id, sign_in.c.hash, sign_in.c.seen_on, user.c.id, user.c.email, membership.c.role)
        .add_columns(*WORKSPACE_COLUMNS)
        .select_from(sign_in)
        .join(user, user.c.id == sign_in.c.user_id)
        .join(membership, membership.c.user_id == user.c.id)
        .join(workspace, workspace.c.id == membership.c.workspace_id)
        .outerjoin(account, account.c.user_id == user.c.id)
        .where(sign_in.c.public == public, user.c.is_active, is_alive(tx.now, ages))
        .order_by(preference, membership.c.created_on, membership.c.workspace_id)
        .limit(1)
    )
    row = tx.execute(statement).first()
    if row is None:
        return None
    sign_in_id, hashed, seen_on, user_id, email, role, *of_workspace = row
    if not fits(hashed, key, secret_keys):
        return None
    found = workspace_from_row(of_workspace)
    if workspace_uuid is not None and found.uuid != workspace_uuid.lower():
        raise NotAllowed("This is not one of your workspaces.")
    return Credentials(
        None,
        found,
        user_id,
        email,
        role,
        "write",
        last_used_step_due=tx.now - seen_on >= SEEN_STEP,
        sign_in_id=sign_in_id,
        csrf_token=csrf_token(key),
    )


def is_alive(now: datetime, ages: Ages) -> ColumnElement[bool]:
    """The condition of sign-ins that have not expired."""
    return (sign_in.c.created_on > now - ages.sign_in) & (sign_in.c.seen_on > now - ages.idle)


def csrf_token(key: str) -> str:
    """What a page must send with each change: only a page of ours can read it, and who knows it cannot find the key."""
    return hmac.new(key.encode(), b"relayboard csrf", hashlib.sha256).hexdigest()


def note_sight(tx: Transaction, sign_in_id: int) -> None:
    """Store the time of a request, at most once a minute."""
    stale = sign_in.c.seen_on <= tx.now - SEEN_STEP
    tx.execute(update(sign_in).where(sign_in.c.id == sign_in_id, stale).values(seen_on=tx.now))


def end_sign_in(tx: Transaction, user_id: int, uuid: str) -> None:
    """Ends a sign-in of a user. Raises RecordMissing."""
    mine = (sign_in.c.user_id == user_id) & (sign_in.c.uuid == uuid)
    if not tx.execute(delete(sign_in).where(mine)).rowcount:
        raise RecordMissing


def find_owner(tx: Transaction, uuid: str) -> int | None:
    """The user who is signed in by a sign-in."""
    return tx.execute(select(sign_in.c.user_id).where(sign_in.c.uuid == uuid)).scalar_one_or_none()


def end_other_sign_ins(tx: Transaction, user_id: int, kept_id: int | None = None) -> int:
    """Ends the sign-ins of a user, except one; returns their number."""
    others = sign_in.c.user_id == user_id
    if kept_id is not None:
        others &= sign_in.c.id != kept_id
    return tx.execute(delete(sign_in).where(others)).rowcount


def end_by_key(tx: Transaction, key: str, secret_keys: Sequence[str]) -> None:
    """Ends the sign-in of a browser, if there is one with this secret."""
    public = public_of(PREFIX, key)
    row = tx.execute(select(sign_in.c.id, sign_in.c.hash).where(sign_in.c.public == public)).first()
    if row is not None and fits(row.hash, key, secret_keys):
        tx.execute(delete(sign_in).where(sign_in.c.id == row.id))


@dataclass(frozen=True, slots=True)
class SecretKey:
    """A new secret: its whole text, which is shown once, and the columns that are stored."""

    text: str
    public: str
    hash: str


def make_secret(prefix: str, secret_key: str) -> SecretKey:
    public = secrets.token_hex(SECRET_PUBLIC_LENGTH // 2)
    text = f"{prefix}{public}_{secrets.token_urlsafe(32)}"
    return SecretKey(text, public, keyed_hash(text, secret_key))


def public_of(prefix: str, text: str) -> str | None:
    """The public part of a secret; None for a text that is not one with this prefix."""
    if not text.startswith(prefix) or len(text) > LONGEST_KEY or not text.isascii():
        return None
    public, separator, secret = text[len(prefix) :].partition("_")
    return public if separator and secret and len(public) == SECRET_PUBLIC_LENGTH and public.isalnum() else None


def fits(stored_hash: str, text: str, secret_keys: Sequence[str]) -> bool:
    """Whether a text has this hash with one of the keys; compares with all of them in constant time."""
    fitting = [hmac.compare_digest(stored_hash, keyed_hash(text, each)) for each in secret_keys]
    return any(fitting)
