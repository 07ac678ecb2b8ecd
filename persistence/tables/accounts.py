from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, Named, String, TypedColumns

from persistence.policies import SET_UP, Audited, policy
from persistence.sql.columns import Json, NumberedColumns, UtcDateTime, UuidColumns, numbered_table, table_of

PUBLIC_LENGTH = 12
TOKEN_NAME_LENGTH = 64


class TokenColumns(NumberedColumns):
    workspace_id: Named[int] = Column(Integer, ForeignKey("workspace.id"))
    user_id: Named[int] = Column(Integer, ForeignKey("app_user.id"))
    public: Named[str] = Column(String(PUBLIC_LENGTH), unique=True)
    hash: Named[str] = Column(String(64))
    scope: Named[str] = Column(String(5))
    created_on: Named[datetime] = Column(UtcDateTime)
    last_used_on: Named[datetime | None] = Column(UtcDateTime)
    revoked_on: Named[datetime | None] = Column(UtcDateTime)
    expires_on: Named[datetime | None] = Column(UtcDateTime)
    name: Named[str | None] = Column(String(TOKEN_NAME_LENGTH))
    areas: Named[Any] = Column(Json, nullable=True)


token = numbered_table(
    "api_token",
    TokenColumns,
    Index("ix_api_token_workspace_id", "workspace_id"),
    info=policy(
        SET_UP,
        audited=Audited("tokens", "public", ("name", "scope", "areas", "expires_on"), ended={"revoked_on": None}),
        is_carried=False,
    ),
)
"""`areas` is a list of the resources that it is limited to, null for all."""
EMAIL_LENGTH = 254
PERSON_NAME_LENGTH = 150


class UserColumns(UuidColumns):
    email: Named[str] = Column(String(EMAIL_LENGTH))
    email_key: Named[str] = Column(String(EMAIL_LENGTH), unique=True)
    first_name: Named[str] = Column(String(PERSON_NAME_LENGTH), default="")
    last_name: Named[str] = Column(String(PERSON_NAME_LENGTH), default="")
    is_active: Named[bool] = Column(Boolean, default=True)
    created_on: Named[datetime] = Column(UtcDateTime)


user = numbered_table(
    "app_user",
    UserColumns,
    info=policy(
        SET_UP,
        audited=Audited("users", "email", ("first_name", "last_name", "is_active"), of_user="id", tells_creation=False),
    ),
)


class MembershipColumns(TypedColumns):
    workspace_id: Named[int] = Column(Integer, ForeignKey("workspace.id"), primary_key=True)
    user_id: Named[int] = Column(Integer, ForeignKey("app_user.id"), primary_key=True)
    role: Named[str] = Column(String(16))
    created_on: Named[datetime] = Column(UtcDateTime)


membership = table_of(
    "membership",
    MembershipColumns,
    Index("ix_membership_page", "workspace_id", "created_on", "user_id"),
    info=policy("a row for each user of a workspace", audited=Audited("users", shown=("role",))),
)

WORKSPACE_NAME_LENGTH = 128


class WorkspaceColumns(UuidColumns):
    name: Named[str] = Column(String(WORKSPACE_NAME_LENGTH))
    country: Named[str] = Column(String(2), default="")
    timezone: Named[str] = Column(String(64), default="UTC")
    languages: Named[Any] = Column(Json, nullable=False)
    date_style: Named[str] = Column(String(12), default="day_first")
    number_format: Named[str | None] = Column(String(7))
    is_anonymous: Named[bool] = Column(Boolean, default=False)
    archiving: Named[Any] = Column(Json, nullable=True)
    created_on: Named[datetime] = Column(UtcDateTime)
    answer_limit: Named[int | None] = Column(Integer)


workspace = numbered_table(
    "workspace",
    WorkspaceColumns,
    info=policy(
        SET_UP,
        audited=Audited(
            "workspace",
            "name",
            ("name", "country", "timezone", "languages", "date_style", "number_format", "is_anonymous", "answer_limit"),
        ),
    ),
)
"""`archiving` has the archives that were begun and are not done, by kind and period: {"attempts", "until"}."""
