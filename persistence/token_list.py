"""API tokens as people see them: without their secrets."""

from datetime import UTC, datetime

from sqlalchemy import func, select

from persistence.errors import InvalidInput
from persistence.lists import Condition, ListQuery, ListSpec
from persistence.sql.json_sql import declare_record, json_record
from persistence.sql.pages import Order
from persistence.tables.accounts import membership, token, user
from persistence.tokens import public_part
from persistence.users import ADMINISTRATOR, USER_NAME


def _shown(query: ListQuery) -> list[Condition]:
    """All tokens for an administrator, otherwise one's own."""
    mine = (membership.c.workspace_id == query.workspace.id) & (membership.c.user_id == query.user_id)
    is_administrator = select(membership.c.user_id).where(mine, membership.c.role == ADMINISTRATOR).exists()
    return [token.c.revoked_on.is_(None), (token.c.user_id == query.user_id) | is_administrator]


TOKENS = ListSpec(
    token,
    declare_record(
        {
            "token": token.c.public,
            "name": token.c.name,
            "user": json_record({"uuid": user.c.uuid, "name": func.trim(USER_NAME.element), "email": user.c.email}),
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
