from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    FromClause,
    Index,
    Integer,
    Named,
    String,
    Text,
    TypedColumns,
    false,
    func,
    literal_column,
)

from persistence.secrets.encryption import sealed_column, sealed_json_column
from persistence.sql.columns import (
    Json,
    NumberedColumns,
    RecordColumns,
    UtcDateTime,
    UuidColumns,
    numbered_table,
    partial_index,
    table_of,
)
from persistence.tables.policies import SET_UP, TRIMMED, Audited, policy

PUBLIC_LENGTH = 12
TOKEN_NAME_LENGTH = 64
EMAIL_LENGTH = 254
PERSON_NAME_LENGTH = 150

WORKSPACE_NAME_LENGTH = 128
ORIGIN_LENGTH = 267
"""`https://`, the longest name of a host, and a port."""

ADDRESS_LENGTH = 64
AGENT_LENGTH = 300
HASH_LENGTH = 64
SECRET_PUBLIC_LENGTH = 16
SUBJECT_LENGTH = EMAIL_LENGTH + 16


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


def user_ref(rows: FromClause) -> dict[str, Any]:
    """What records show of a user; `rows` is what the table is called there."""
    name = func.trim(rows.c.first_name + literal_column("' '") + rows.c.last_name)
    return {"email": rows.c.email, "name": name}


class MembershipColumns(TypedColumns):
    workspace_id: Named[int] = Column(Integer, ForeignKey("workspace.id"), primary_key=True)
    user_id: Named[int] = Column(Integer, ForeignKey("app_user.id"), primary_key=True)
    role: Named[str] = Column(String(16))
    is_away: Named[bool] = Column(Boolean, default=False, server_default=false())
    mail_of: Named[str | None] = Column(String(10))
    mail_language: Named[str | None] = Column(String(2))
    mail_root: Named[str | None] = Column(Text)
    mailed_on: Named[datetime | None] = Column(UtcDateTime)
    created_on: Named[datetime] = Column(UtcDateTime)


membership = table_of(
    "membership",
    MembershipColumns,
    Index("ix_membership_page", "workspace_id", "created_on", "user_id"),
    partial_index("ix_membership_mailed", "workspace_id", "user_id", where="mail_of IS NOT NULL"),
    info=policy("a row for each user of a workspace", audited=Audited("users", shown=("role",))),
)
"""`mail_of` is of whose unread conversations somebody is mailed who has not looked for an hour, in which language and
with links to which page; `mailed_on` is when that was done last."""


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


class WorkspaceOriginColumns(TypedColumns):
    workspace_id: Named[int] = Column(Integer, ForeignKey("workspace.id"), primary_key=True)
    origin: Named[str] = Column(String(ORIGIN_LENGTH), primary_key=True)


workspace_origin = table_of(
    "workspace_origin",
    WorkspaceOriginColumns,
    Index("ix_workspace_origin_origin", "origin"),
    info=policy("at most 20 for each workspace"),
)
"""Origins whose pages may call the API with tokens of the workspace, as browsers write them."""


class AccountColumns(NumberedColumns):
    user_id: Named[int] = Column(Integer, ForeignKey("app_user.id"), unique=True)
    password_hash: Named[str | None] = Column(String(255))
    password_changed_on: Named[datetime | None] = Column(UtcDateTime)
    unproven_since: Named[datetime | None] = Column(UtcDateTime)
    totp_secret = sealed_column("account", "totp_secret")
    totp_confirmed_on: Named[datetime | None] = Column(UtcDateTime)
    totp_step: Named[int | None] = Column(BigInteger)
    recovery_hashes: Named[Any] = Column(Json, nullable=True)
    chosen_id: Named[int | None] = Column(Integer, ForeignKey("workspace.id"))


account = numbered_table(
    "account",
    AccountColumns,
    info=policy(
        "a row for each user",
        audited=Audited(
            "account",
            shown=("totp_confirmed_on",),
            hidden=("password_hash", "recovery_hashes"),
            of_user="user_id",
            tells_creation=False,
        ),
    ),
)
"""How a user signs in. `totp_step` is the time step of the last code that was accepted, because each is accepted once;
`chosen_id` is the workspace that the user chose last; `unproven_since` is when an
invitation, whose link the inviter saw too, set the password, until somebody proves the address."""


class SignInColumns(UuidColumns):
    user_id: Named[int] = Column(Integer, ForeignKey("app_user.id"))
    public: Named[str] = Column(String(SECRET_PUBLIC_LENGTH), unique=True)
    hash: Named[str] = Column(String(HASH_LENGTH))
    method: Named[str] = Column(String(10))
    address: Named[str] = Column(String(ADDRESS_LENGTH))
    agent: Named[str] = Column(String(AGENT_LENGTH))
    created_on: Named[datetime] = Column(UtcDateTime)
    seen_on: Named[datetime] = Column(UtcDateTime)


sign_in = numbered_table(
    "sign_in",
    SignInColumns,
    Index("ix_sign_in_page", "user_id", "created_on", "id"),
    Index("ix_sign_in_created", "created_on"),
    Index("ix_sign_in_seen", "seen_on"),
    info=policy(TRIMMED, audited=Audited("sessions", shown=("method",), of_user="user_id")),
)
"""A browser in which a user is signed in, which the API calls a session. Its row is deleted when it ends."""


class SignInLinkColumns(NumberedColumns):
    user_id: Named[int] = Column(Integer, ForeignKey("app_user.id"))
    public: Named[str] = Column(String(SECRET_PUBLIC_LENGTH), unique=True)
    hash: Named[str] = Column(String(HASH_LENGTH))
    created_on: Named[datetime] = Column(UtcDateTime)


sign_in_link = numbered_table(
    "sign_in_link",
    SignInLinkColumns,
    Index("ix_sign_in_link_user", "user_id"),
    Index("ix_sign_in_link_created", "created_on"),
    info=policy(TRIMMED),
)
"""A link that was mailed to a user; its row is deleted when it is used."""


class InvitationColumns(RecordColumns):
    email: Named[str] = Column(String(EMAIL_LENGTH))
    role: Named[str] = Column(String(16))
    user_id: Named[int | None] = Column(Integer, ForeignKey("app_user.id"))
    is_proof: Named[bool] = Column(Boolean)
    public: Named[str] = Column(String(SECRET_PUBLIC_LENGTH), unique=True)
    hash: Named[str] = Column(String(HASH_LENGTH))
    created_on: Named[datetime] = Column(UtcDateTime)
    expires_on: Named[datetime] = Column(UtcDateTime)
    error: Named[str | None] = Column(Text)


invitation = numbered_table(
    "invitation",
    InvitationColumns,
    Index("ix_invitation_page", "workspace_id", "created_on", "id"),
    Index("ix_invitation_created", "created_on"),
    info=policy(TRIMMED, audited=Audited("invitations", "email", ("role",)), is_carried=False),
)
"""`user_id` is the user who invited, null for a command. `is_proof`: the link went only to the mailbox or to an
operator. `error` is why the letter with the link was not sent. The row is deleted when the invitation is accepted."""


class AccountMailColumns(NumberedColumns):
    kind: Named[str] = Column(String(10))
    recipient: Named[str] = Column(String(EMAIL_LENGTH))
    content = sealed_json_column("account_mail", "content")
    attempts: Named[int] = Column(Integer)
    begun: Named[int] = Column(Integer, default=0, server_default="0")
    error: Named[str | None] = Column(Text)
    failed_on: Named[datetime | None] = Column(UtcDateTime)
    invitation_id: Named[int | None] = Column(BigInteger)
    created_on: Named[datetime] = Column(UtcDateTime)
    due_on: Named[datetime] = Column(UtcDateTime)
    expires_on: Named[datetime] = Column(UtcDateTime)


account_mail = numbered_table(
    "account_mail",
    AccountMailColumns,
    Index("ix_account_mail_due", "due_on", "id"),
    Index("ix_account_mail_expires", "expires_on"),
    Index("ix_account_mail_created", "created_on"),
    info=policy(TRIMMED),
)
"""Letters that workers have to send; their links are secrets. `begun` counts how often a worker took it since one said
what came of it, `error` is that. One that failed stays until it expires, without its content."""


class SignInWindowColumns(TypedColumns):
    subject: Named[str] = Column(String(SUBJECT_LENGTH), primary_key=True)
    began_on: Named[datetime] = Column(UtcDateTime)
    taken: Named[int] = Column(Integer)


sign_in_window = table_of(
    "sign_in_window",
    SignInWindowColumns,
    Index("ix_sign_in_window_began", "began_on"),
    info=policy(TRIMMED),
)
"""Attempts to sign in, by IP address and by account."""
