"""API tokens: a recognizable prefix, a public part by which they are looked up, and a secret stored only as a keyed
hash. With them, what is kept for each client: its requests in a window of time (registrations of phones by IP address),
and the responses to its Idempotency-Keys.
"""

import hashlib
import hmac
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Executable, Table, and_, delete, func, insert, literal, or_, select, tuple_

from persistence.database import Transaction, upsert
from persistence.errors import Clash, InvalidInput, LimitReached, LostRace, NotAllowed
from persistence.statements import Statement, parameters_of, statement, update
from persistence.tables.accounts import PUBLIC_LENGTH, TOKEN_NAME_LENGTH, membership, token, user, workspace
from persistence.tables.channels import ADDRESS_LENGTH, registration_window
from persistence.tables.service import kept_answer, rate_window
from persistence.workspaces.records import WORKSPACE_COLUMNS, Workspace, workspace_from_row

PREFIX = "rb_"
SCOPES = ("read", "write")
AREAS = ("contacts", "messages", "tickets", "flows", "campaigns", "channels", "administration")
Areas = Collection[str] | None
"""The areas to which a token is limited; None is all of them."""
LAST_USED_STEP = timedelta(minutes=1)
TOKENS_PER_USER = 50

KEPT_FOR = timedelta(hours=24)
LONGEST_PERIOD = timedelta(days=1)
"""Of a rate limit."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The user of a request, with workspace and role, and whether the token may write. A hash that is keyed with a
    former secret key must be renewed. A browser has a sign-in instead of a token, and sends the CSRF token.
    """

    token_id: int | None
    workspace: Workspace
    user_id: int
    email: str
    role: str
    scope: str
    last_used_step_due: bool = False
    is_hash_former: bool = False
    sign_in_id: int | None = None
    csrf_token: str | None = None
    token_public: str | None = None
    areas: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """What a token is for, when it expires, and the areas of the API that it is limited to (None: all)."""

    name: str = ""
    expires_on: datetime | None = None
    areas: Sequence[str] | None = None


def covers(areas: Areas, area: str) -> bool:
    """Whether a token may see and change what belongs to an area."""
    return areas is None or area in areas


def check_area(areas: Areas, area: str) -> None:
    """Raises NotAllowed if a token that is limited to these areas does not cover one."""
    if not covers(areas, area):
        raise NotAllowed(f'This API token is limited to other areas: this needs "{area}".', "area_not_allowed")


def keyed_hash(key: str, secret_key: str) -> str:
    return hmac.new(secret_key.encode(), key.encode(), hashlib.sha256).hexdigest()


def create_token(
    tx: Transaction,
    workspace_id: int,
    user_id: int,
    secret_key: str,
    scope: str = "write",
    limits: TokenLimits | None = None,
) -> str:
    """Create a token of a user in a workspace; its text is returned once and cannot be read again. Raises InvalidInput
    for a long name or a time that has passed."""
    limits = limits or TokenLimits()
    if len(limits.name) > TOKEN_NAME_LENGTH:
        raise InvalidInput.on("name", f"At most {TOKEN_NAME_LENGTH} characters.")
    if limits.areas is not None and not {*limits.areas} <= {*AREAS}:
        raise InvalidInput.on("areas", f"The areas are {', '.join(AREAS)}.")
    if limits.expires_on is not None and limits.expires_on <= tx.now:
        raise InvalidInput.on("expires_on", "This time has passed.")
    public = secrets.token_hex(PUBLIC_LENGTH // 2)
    key = f"{PREFIX}{public}_{secrets.token_urlsafe(32)}"
    values: dict[str, Any] = {"public": public, "hash": keyed_hash(key, secret_key), "scope": scope}
    areas = None if limits.areas is None else sorted(set(limits.areas))
    values |= {"name": limits.name or None, "expires_on": limits.expires_on, "areas": areas}
    tx.execute(insert(token).values(workspace_id=workspace_id, user_id=user_id, created_on=tx.now, **values))
    return key


def public_part(key: str) -> str | None:
    """The part of a token that may be shown and looked up; None for a string that is not one of our tokens."""
    if not key.startswith(PREFIX) or len(key) > 128:
        return None
    public, separator, secret = key[len(PREFIX) :].partition("_")
    return public if separator and secret and len(public) == PUBLIC_LENGTH and public.isalnum() else None


def find_credentials(tx: Transaction, key: str, secret_key: str, former_keys: Sequence[str] = ()) -> Credentials | None:
    """The credentials of a token; None if it is unknown, revoked or expired, or its user is no longer active in the
    workspace. Hashes keyed with a former secret key are accepted too.
    """
    public = public_part(key)
    if public is None or not public.isascii():
        return None
    rows = _select_token.rows(tx, public, tx.now)
    if not rows:
        return None
    token_id, hashed, scope, last_used_on, areas, user_id, email, role, *of_workspace = rows[0]
    fitting = [hmac.compare_digest(hashed, keyed_hash(key, each)) for each in (secret_key, *former_keys)]
    if not any(fitting):
        return None
    step_due = last_used_on is None or tx.now - last_used_on >= LAST_USED_STEP
    found = workspace_from_row(of_workspace)
    return Credentials(
        token_id,
        found,
        user_id,
        email,
        role,
        scope,
        step_due,
        is_hash_former=not fitting[0],
        token_public=public,
        areas=None if areas is None else tuple(areas),
    )


def note_use(tx: Transaction, token_id: int) -> None:
    """Store the time of use, at most once a minute."""
    stale = or_(token.c.last_used_on.is_(None), token.c.last_used_on <= tx.now - LAST_USED_STEP)
    tx.execute(update(token).where(token.c.id == token_id, stale).values(last_used_on=tx.now))


def renew_hash(tx: Transaction, token_id: int, key: str, secret_key: str) -> None:
    """Replaces the hash of a token that was just used by one with the current secret key."""
    tx.execute(update(token).where(token.c.id == token_id).values(hash=keyed_hash(key, secret_key)))


def revoke_token(tx: Transaction, workspace_id: int, public: str, user_id: int | None = None) -> bool:
    """Revokes the token with this public part, if it is this user's or no user is given; returns whether there was
    one."""
    living = living_tokens(workspace_id, user_id) & (token.c.public == public)
    return tx.execute(update(token).where(living).values(revoked_on=tx.now)).rowcount > 0


def check_token_limit(tx: Transaction, workspace_id: int, user_id: int) -> None:
    """Raises LimitReached for a user with many tokens."""
    statement = select(func.count()).select_from(token).where(living_tokens(workspace_id, user_id))
    if tx.execute(statement).scalar_one() >= TOKENS_PER_USER:
        raise LimitReached.of(TOKENS_PER_USER, "tokens of one person", "revoke those that are not needed")


def living_tokens(workspace_id: int, user_id: int | None = None) -> ColumnElement[bool]:
    """The tokens of a workspace, or of a user there, that are not revoked."""
    living = (token.c.workspace_id == workspace_id) & token.c.revoked_on.is_(None)
    return living if user_id is None else living & (token.c.user_id == user_id)


def list_tokens(tx: Transaction, workspace_id: int) -> list[dict[str, object]]:
    """The tokens of a workspace that are not revoked, expired ones too, without their secrets, newest first."""
    statement = (
        select(
            token.c.public,
            user.c.email,
            token.c.scope,
            token.c.created_on,
            token.c.last_used_on,
            token.c.revoked_on,
            token.c.name,
            token.c.expires_on,
            token.c.areas,
        )
        .join(user, user.c.id == token.c.user_id)
        .where(living_tokens(workspace_id))
        .order_by(token.c.id.desc())
    )
    return [dict(row) for row in tx.execute(statement).mappings()]


class TooManyRegistrations(Exception):
    """An IP address has reached its limit of registrations; `retry_after_seconds` says when it may try again."""

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__(retry_after_seconds)
        self.retry_after_seconds = retry_after_seconds


@dataclass(frozen=True, slots=True)
class Origin:
    """The IP address of a registration, and how many it may make per period."""

    address: str
    limit: int
    period: timedelta


def take_allowance(
    tx: Transaction, workspace_id: int, scope: str, *, limit: int, period: timedelta, wanted: int
) -> tuple[int, int, datetime]:
    """Take up to `wanted` requests of the current window. Returns how many were granted (0: none is left), how many are
    left for others, and when the window ends.
    """
    return take_window(tx, rate_window, {"workspace_id": workspace_id, "scope": scope}, limit, period, wanted)


def read_allowance(
    tx: Transaction, workspace_id: int, scope: str, *, limit: int, period: timedelta
) -> tuple[int, datetime]:
    """How many requests are left in the current window, and when it ends; it only reads."""
    rows = rate_window.c
    mine = (rows.workspace_id == workspace_id) & (rows.scope == scope)
    row = tx.execute(select(rows.began_on, rows.taken).where(mine)).first()
    began_on, taken = row or (tx.now, 0)
    return (limit - taken, began_on + period) if tx.now < began_on + period else (limit, tx.now + period)


def count_registration(tx: Transaction, origin: Origin) -> None:
    """Count one new phone of an IP address. Raises TooManyRegistrations beyond the limit, which is necessary because
    registering needs no token and creates a row.
    """
    address = {"address": origin.address[:ADDRESS_LENGTH]}
    granted, _, ends_on = take_window(tx, registration_window, address, origin.limit, origin.period, 1)
    if not granted:
        raise TooManyRegistrations(int((ends_on - tx.now).total_seconds()) + 1)


def forget_windows(tx: Transaction, before: datetime) -> None:
    """Delete the counts of registrations in windows that began before a time, and those of requests in windows that are
    over: visitors of sites and their addresses have some, and do not come back."""
    tx.execute(delete(registration_window).where(registration_window.c.began_on < before))
    tx.execute(delete(rate_window).where(rate_window.c.began_on < tx.now - LONGEST_PERIOD))


def take_window(
    tx: Transaction, window: Table, key: Mapping[str, int | str], limit: int, period: timedelta, wanted: int
) -> tuple[int, int, datetime]:
    """Takes from the row of a table of windows that has this key; see `take_allowance`."""
    begin, lock, take = _statements(window, tuple(key))
    begin.run(tx, tx.now, **key)
    rows = lock.rows(tx, **key)
    if not rows:  # it was old, and is deleted just now
        raise LostRace
    ((began_on, taken),) = rows
    if tx.now >= began_on + period:
        began_on, taken = tx.now, 0
    granted = max(0, min(wanted, limit - taken))
    take.run(tx, began_on, taken + granted, **key)
    return granted, limit - taken - granted, began_on + period


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    status: int
    body: str | None


def claim_key(tx: Transaction, workspace_id: int, operation: str, key: str, request: bytes) -> KeptAnswer | None:
    """The first response under this key, or None if the key is new and now claimed. A concurrent repeat waits here
    until the first request commits (PostgreSQL: on the unique key, SQLite: on the write lock). Raises Clash if the key
    was used with another request.
    """
    request_hash = hashlib.sha256(request).hexdigest()
    rows = kept_answer.c
    mine = (rows.workspace_id == workspace_id) & (rows.operation == operation) & (rows.key == key)
    tx.execute(delete(kept_answer).where(mine, rows.created_on < tx.now - KEPT_FOR))
    values = {"workspace_id": workspace_id, "operation": operation, "key": key, "request_hash": request_hash}
    claim = tx.upsert(kept_answer).values(created_on=tx.now, **values).on_conflict_do_nothing()
    if tx.execute(claim).rowcount == 1:
        return None
    first_hash, status, body = tx.execute(select(rows.request_hash, rows.status, rows.body).where(mine)).one()
    if first_hash != request_hash:
        raise Clash("This Idempotency-Key was used with another request.")
    assert status is not None, "a key is claimed and answered in one transaction"
    return KeptAnswer(status, body)


def keep_answer(tx: Transaction, workspace_id: int, operation: str, key: str, status: int, body: str | None) -> None:
    """Store the response to the request that claimed the key."""
    rows = kept_answer.c
    mine = (rows.workspace_id == workspace_id) & (rows.operation == operation) & (rows.key == key)
    tx.execute(update(kept_answer).where(mine).values(status=status, body=body))


def trim_answers(tx: Transaction, limit: int) -> int:
    """Deletes responses that are older than KEPT_FOR; returns their number."""
    rows = kept_answer.c
    keys = (rows.workspace_id, rows.operation, rows.key)
    old = select(*keys).where(rows.created_on < tx.now - KEPT_FOR).order_by(rows.created_on).limit(limit)
    return tx.execute(delete(kept_answer).where(tuple_(*keys).in_(old))).rowcount


@statement
def _select_token(public: str, now: datetime) -> Executable:
    rows = token.c
    return (
        select(rows.id, rows.hash, rows.scope, rows.last_used_on, rows.areas)
        .add_columns(user.c.id, user.c.email, membership.c.role, *WORKSPACE_COLUMNS)
        .select_from(token)
        .join(workspace, workspace.c.id == rows.workspace_id)
        .join(user, user.c.id == rows.user_id)
        .join(membership, (membership.c.workspace_id == workspace.c.id) & (membership.c.user_id == user.c.id))
        .where(rows.public == public, rows.revoked_on.is_(None), user.c.is_active)
        .where(or_(rows.expires_on.is_(None), rows.expires_on > now))
    )


@cache
def _statements(window: Table, names: tuple[str, ...]) -> tuple[Statement[...], Statement[...], Statement[...]]:
    """The statements that begin a window if there is none, lock it and write it; most requests need them."""
    rows, key = window.c, parameters_of(window, names)
    mine = and_(*(rows[name] == value for name, value in key.items()))

    @statement
    def begin(now: datetime, *, is_sqlite: bool = False, **_key: Any) -> Executable:
        beginning = upsert(window, is_sqlite=is_sqlite).values(**key, began_on=now, taken=literal(0))
        return beginning.on_conflict_do_nothing()

    @statement
    def take(began_on: datetime, taken: int, **_key: Any) -> Executable:
        return update(window).where(mine).values(began_on=began_on, taken=taken)

    return begin, Statement(lambda: select(rows.began_on, rows.taken).where(mine).with_for_update()), take
