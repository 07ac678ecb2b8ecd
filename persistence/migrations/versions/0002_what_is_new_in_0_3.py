"""What the version after 0.2.0 adds: accounts of people, the audit log, limits of tokens, settings of webhook receivers.

Older programs work with it: each table and column is new and optional. They do not know the limits of tokens, so
upgrade all nodes before you create the first limited one. Conversations, day figures and the live stream do not show
what older programs write: they are complete once all nodes are upgraded, a conversation from its next message on. Nor do
they know settings of webhook receivers: change those once all nodes are upgraded. Of contacts that they delete, the
numbers are not found by later requests of persons.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from persistence.migrations import keys

revision = "0002"
down_revision = "0001"
works_for = "0001"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite")
TICKET_FILTERS = {"ix_ticket_status": "status", "ix_ticket_topic": "topic_id", "ix_ticket_desk": "assignee_id"}
UUID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")


def upgrade() -> None:
    _accounts()
    _live()
    _moves()
    _data_jobs()
    _receivers()
    _pending_touches()
    op.add_column("media", sa.Column("former_contact_id", ID, nullable=True))
    op.add_column("contact", sa.Column("merged_into_id", ID, nullable=True))
    op.add_column("contact_urn", sa.Column("former_contact_id", ID, nullable=True))
    _gateway_calls()


def downgrade() -> None:
    _no_gateway_calls()
    op.drop_column("contact_urn", "former_contact_id")
    op.drop_column("contact", "merged_into_id")
    op.drop_column("media", "former_contact_id")
    op.drop_table("pending_touch")
    _no_receivers()
    _no_data_jobs()
    _no_moves()
    _no_live()
    _no_accounts()


def _accounts() -> None:
    op.create_table(
        "sign_in_window",
        sa.Column("subject", sa.String(length=270), nullable=False),
        sa.Column("began_on", TIME, nullable=False),
        sa.Column("taken", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("subject", name=op.f("pk_sign_in_window")),
    )
    op.create_index("ix_sign_in_window_began", "sign_in_window", ["began_on"])
    op.create_table(
        "write_mark",
        sa.Column("token_id", ID, autoincrement=False, nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("noted_on", TIME, nullable=False),
        sa.Column("primary_until", TIME, nullable=True),
        sa.PrimaryKeyConstraint("token_id", name=op.f("pk_write_mark")),
        prefixes=["UNLOGGED"] if op.get_context().dialect.name == "postgresql" else [],
    )
    op.create_table(
        "account",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("password_hash", sa.String(length=255), nullable=True),
        sa.Column("password_changed_on", TIME, nullable=True),
        sa.Column("totp_secret", sa.Text(), nullable=True),
        sa.Column("totp_confirmed_on", TIME, nullable=True),
        sa.Column("totp_step", sa.BigInteger(), nullable=True),
        sa.Column("recovery_hashes", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("chosen_id", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["chosen_id"], ["workspace.id"], name=op.f("fk_account_chosen_id")),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.id"], name=op.f("fk_account_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_account")),
        sa.UniqueConstraint("user_id", name=op.f("uq_account_user_id")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "audit_event",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("uuid", UUID, nullable=False),
        sa.Column("resource", sa.String(length=32), nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("record_uuid", UUID, nullable=True),
        sa.Column("record_name", sa.Text(), nullable=False),
        sa.Column("changes", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("via", sa.String(length=8), nullable=False),
        sa.Column("actor_email", sa.String(length=254), nullable=True),
        sa.Column("token", sa.String(length=16), nullable=True),
        sa.Column("command", sa.String(length=64), nullable=True),
        sa.Column("address", sa.String(length=64), nullable=True),
        sa.Column("created_on", TIME, nullable=False),
        keys.primary_key("audit_event", "id"),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_audit_event_workspace_id")),
        sa.UniqueConstraint("uuid", "workspace_id", name=op.f("uq_audit_event_uuid_workspace_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_audit_event_action", "audit_event", ["workspace_id", "action", "created_on", "id"])
    op.create_index("ix_audit_event_actor", "audit_event", ["workspace_id", "actor_email", "created_on", "id"])
    op.create_index("ix_audit_event_created", "audit_event", ["created_on"])
    op.create_index("ix_audit_event_page", "audit_event", ["workspace_id", "created_on", "id"])
    op.create_index("ix_audit_event_record", "audit_event", ["workspace_id", "record_uuid", "created_on", "id"])
    op.create_index("ix_audit_event_resource", "audit_event", ["workspace_id", "resource", "created_on", "id"])
    op.create_table(
        "invitation",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("uuid", UUID, nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("is_proof", sa.Boolean(), nullable=False),
        sa.Column("public", sa.String(length=16), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("created_on", TIME, nullable=False),
        sa.Column("expires_on", TIME, nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.id"], name=op.f("fk_invitation_user_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_invitation_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitation")),
        sa.UniqueConstraint("public", name=op.f("uq_invitation_public")),
        sa.UniqueConstraint("uuid", "workspace_id", name=op.f("uq_invitation_uuid_workspace_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_invitation_created", "invitation", ["created_on"])
    op.create_index("ix_invitation_page", "invitation", ["workspace_id", "created_on", "id"])
    op.create_table(
        "sign_in",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("uuid", UUID, nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("public", sa.String(length=16), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("method", sa.String(length=10), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("agent", sa.String(length=300), nullable=False),
        sa.Column("created_on", TIME, nullable=False),
        sa.Column("seen_on", TIME, nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.id"], name=op.f("fk_sign_in_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_in")),
        sa.UniqueConstraint("public", name=op.f("uq_sign_in_public")),
        sa.UniqueConstraint("uuid", name=op.f("uq_sign_in_uuid")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_sign_in_created", "sign_in", ["created_on"])
    op.create_index("ix_sign_in_page", "sign_in", ["user_id", "created_on", "id"])
    op.create_index("ix_sign_in_seen", "sign_in", ["seen_on"])
    op.create_table(
        "sign_in_link",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("public", sa.String(length=16), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("created_on", TIME, nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.id"], name=op.f("fk_sign_in_link_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_in_link")),
        sa.UniqueConstraint("public", name=op.f("uq_sign_in_link_public")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_sign_in_link_created", "sign_in_link", ["created_on"])
    op.create_index("ix_sign_in_link_user", "sign_in_link", ["user_id"])
    op.create_table(
        "account_mail",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("recipient", sa.String(length=254), nullable=False),
        sa.Column("content", sa.Text(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("created_on", TIME, nullable=False),
        sa.Column("due_on", TIME, nullable=False),
        sa.Column("expires_on", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_account_mail")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_account_mail_due", "account_mail", ["due_on", "id"])
    op.create_index("ix_account_mail_expires", "account_mail", ["expires_on"])
    op.create_index("ix_account_mail_created", "account_mail", ["created_on"])
    with op.batch_alter_table("api_token", schema=None) as batch_op:
        batch_op.add_column(sa.Column("expires_on", TIME, nullable=True))
        batch_op.add_column(sa.Column("name", sa.String(length=64), nullable=True))
        batch_op.add_column(sa.Column("areas", sa.JSON(none_as_null=True), nullable=True))


def _no_accounts() -> None:
    with op.batch_alter_table("api_token", schema=None) as batch_op:
        for column in ("areas", "name", "expires_on"):
            batch_op.drop_column(column)
    for table in ("sign_in_link", "sign_in", "invitation", "audit_event", "account", "sign_in_window", "account_mail"):
        op.drop_table(table)
    op.drop_table("write_mark")


ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _live() -> None:
    op.create_table(
        "record_stamp",
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=9), nullable=False),
        sa.Column("record", ID, autoincrement=False, nullable=False),
        sa.Column("stamped_on", TIME, nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_record_stamp_workspace_id")),
        keys.primary_key("record_stamp", "kind", "record", "workspace_id"),
    )
    page = ["workspace_id", "kind", "stamped_on", "record"]
    op.create_index("ix_record_stamp_page", "record_stamp", page)
    _conversation()
    op.create_table(
        "day_count",
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("subject", ID, autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_day_count_workspace_id")),
        keys.primary_key("day_count", "kind", "day", "subject", "workspace_id"),
    )
    op.create_index("ix_day_count_page", "day_count", ["workspace_id", "kind", "day"])
    op.create_table(
        "flow_count",
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("flow_id", ID, autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("value", sa.String(length=64), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        keys.reference("flow_count", "flow_id", "flow"),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_flow_count_workspace_id")),
        keys.primary_key("flow_count", "flow_id", "kind", "day", "key", "value", "workspace_id"),
    )
    _notes_and_replies()
    op.add_column("broadcast", sa.Column("scheduled_on", TIME, nullable=True))
    op.add_column("broadcast", sa.Column("stopped_on", TIME, nullable=True))
    op.add_column("ticket", sa.Column("replied_on", TIME, nullable=True))
    op.create_index("ix_ticket_opened", "ticket", ["workspace_id", "opened_on", "id"])
    closed = sa.text("closed_on IS NOT NULL")
    op.create_index(
        "ix_ticket_closed",
        "ticket",
        ["workspace_id", "closed_on", "id"],
        postgresql_where=closed,
        sqlite_where=closed,
    )
    for name, column in TICKET_FILTERS.items():
        op.create_index(name, "ticket", ["workspace_id", column, "modified_on", "id"])


def _pending_touches() -> None:
    """Older programs neither write nor read it: names that they change move no `modified_on`, as before."""
    op.create_table(
        "pending_touch",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("subject", sa.String(length=7), nullable=False),
        sa.Column("record", ID, nullable=False),
        sa.Column("changed_on", TIME, nullable=False),
        sa.Column("portions", sa.Integer(), nullable=False),
        sa.Column("pass_on", TIME, nullable=True),
        sa.Column("reached_on", TIME, nullable=True),
        sa.Column("reached_id", ID, nullable=True),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_pending_touch_workspace_id")),
        keys.primary_key("pending_touch", "id"),
        sa.UniqueConstraint(
            "workspace_id", "subject", "record", name=op.f("uq_pending_touch_workspace_id_subject_record")
        ),
        sqlite_autoincrement=True,
    )


def _gateway_calls() -> None:
    """Older programs neither write nor read it: the log of a gateway lacks the calls that they make."""
    op.create_table(
        "gateway_call",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("channel_id", sa.Integer(), nullable=False),
        sa.Column("contact_id", ID, nullable=False),
        sa.Column("message_id", ID, nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(length=10), nullable=False),
        sa.Column("method", sa.String(length=8), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("headers", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("body", sa.Text(), nullable=True),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("duration_ms", sa.Integer(), nullable=False),
        sa.Column("created_on", TIME, nullable=False),
        sa.ForeignKeyConstraint(["channel_id"], ["channel.id"], name=op.f("fk_gateway_call_channel_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_gateway_call_workspace_id")),
        keys.primary_key("gateway_call", "id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_gateway_call_page", "gateway_call", ["workspace_id", "created_on", "id"])
    op.create_index("ix_gateway_call_channel", "gateway_call", ["channel_id", "created_on", "id"])
    op.create_index("ix_gateway_call_outcome", "gateway_call", ["workspace_id", "outcome", "created_on", "id"])
    op.create_index("ix_gateway_call_contact", "gateway_call", ["contact_id"])
    op.create_index("ix_channel_alarm_page", "channel_alarm", ["workspace_id", "opened_on", "id"])


def _no_gateway_calls() -> None:
    op.drop_index("ix_channel_alarm_page", "channel_alarm")
    op.drop_table("gateway_call")


def _conversation() -> None:
    op.create_table(
        "conversation",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("contact_id", ID, nullable=False),
        sa.Column("message_id", sa.Integer(), nullable=False),
        sa.Column("last_on", TIME, nullable=False),
        sa.Column("folder", sa.String(length=8), nullable=True),
        sa.Column("unread_count", sa.Integer(), nullable=False),
        sa.Column("is_unread", sa.Boolean(), nullable=False),
        sa.Column("read_id", ID, nullable=False),
        keys.reference("conversation", "contact_id", "contact"),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_conversation_workspace_id")),
        keys.primary_key("conversation", "id"),
        sa.UniqueConstraint("workspace_id", "contact_id", name=op.f("uq_conversation_workspace_id_contact_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_conversation_page", "conversation", ["workspace_id", "last_on", "id"])
    op.create_index("ix_conversation_folder", "conversation", ["workspace_id", "folder", "last_on", "id"])
    op.create_index("ix_conversation_contact", "conversation", ["contact_id"])
    op.create_index(
        "ix_conversation_unread",
        "conversation",
        ["workspace_id", "last_on", "id"],
        postgresql_where=sa.text("is_unread"),
        sqlite_where=sa.text("is_unread = 1"),
    )


def _notes_and_replies() -> None:
    op.create_table(
        "contact_note",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("uuid", UUID, nullable=False),
        sa.Column("contact_id", ID, nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_on", TIME, nullable=False),
        keys.reference("contact_note", "contact_id", "contact"),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.id"], name=op.f("fk_contact_note_user_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_contact_note_workspace_id")),
        keys.primary_key("contact_note", "id"),
        sa.UniqueConstraint("uuid", "workspace_id", name=op.f("uq_contact_note_uuid_workspace_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_contact_note_page", "contact_note", ["workspace_id", "created_on", "id"])
    op.create_index("ix_contact_note_contact", "contact_note", ["contact_id", "created_on", "id"])
    op.create_table(
        "saved_reply",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("uuid", UUID, nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("name_key", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_on", TIME, nullable=False),
        sa.Column("modified_on", TIME, nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_saved_reply_workspace_id")),
        keys.primary_key("saved_reply", "id"),
        sa.UniqueConstraint("uuid", "workspace_id", name=op.f("uq_saved_reply_uuid_workspace_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("uq_saved_reply_name", "saved_reply", ["workspace_id", "name_key"], unique=True)
    op.create_index("ix_saved_reply_page", "saved_reply", ["workspace_id", "created_on", "id"])


def _no_live() -> None:
    for name in TICKET_FILTERS:
        op.drop_index(name, "ticket")
    op.drop_index("ix_ticket_closed", "ticket")
    op.drop_index("ix_ticket_opened", "ticket")
    op.drop_column("ticket", "replied_on")
    op.drop_column("broadcast", "stopped_on")
    op.drop_column("broadcast", "scheduled_on")
    for table in ("saved_reply", "contact_note", "flow_count", "day_count", "conversation", "record_stamp"):
        op.drop_table(table)


def _moves() -> None:
    """Where workspaces came from; older programs never read it."""
    op.create_table(
        "workspace_move",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("source", sa.String(length=255), nullable=False),
        sa.Column("state", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_on", TIME, nullable=False),
        sa.Column("modified_on", TIME, nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_workspace_move_workspace_id")),
        keys.primary_key("workspace_move", "id"),
        sa.UniqueConstraint("workspace_id", "source", name=op.f("uq_workspace_move_workspace_id_source")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "moved_record",
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("move_id", ID, autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("reference", sa.String(length=80), nullable=False),
        sa.Column("record", ID, nullable=True),
        sa.Column("name", sa.String(length=128), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        keys.reference("moved_record", "move_id", "workspace_move"),
        keys.primary_key("moved_record", "move_id", "kind", "reference"),
    )
    op.create_index("ix_moved_record_record", "moved_record", ["move_id", "kind", "record"])
    noted = sa.text("note IS NOT NULL")
    op.create_index(
        "ix_moved_record_note",
        "moved_record",
        ["move_id", "kind", "reference"],
        postgresql_where=noted,
        sqlite_where=noted,
    )


def _no_moves() -> None:
    op.drop_table("moved_record")
    op.drop_table("workspace_move")


def _data_jobs() -> None:
    """Imports, exports and requests of persons, in new tables: older programs do not look at them."""
    _create_data_job(
        "contact_import",
        sa.Column("filename", sa.String(length=255), nullable=False),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column("columns", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("group_uuid", UUID, nullable=True),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("row_count", "last_row")),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("created", "updated", "rejected")),
        sa.Column("cancelled_on", TIME, nullable=True),
    )
    op.create_table(
        "rejected_row",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("import_id", ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("cells", sa.JSON(none_as_null=True), nullable=False),
        keys.reference("rejected_row", "import_id", "contact_import", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_rejected_row_workspace_id")),
        keys.primary_key("rejected_row", "id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_rejected_row_import", "rejected_row", ["import_id", "number"])
    _create_data_job(
        "export",
        sa.Column("type", sa.String(length=8), nullable=False),
        sa.Column("format", sa.String(length=5), nullable=False),
        sa.Column("filters", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("record_count", sa.Integer(), nullable=False),
    )
    for table in ("contact_import", "export"):
        op.create_index(f"ix_{table}_age", table, ["created_on", "id"])
    _create_data_job(
        "data_request",
        sa.Column("type", sa.String(length=6), nullable=False),
        sa.Column("contact_uuid", UUID, nullable=False),
        sa.Column("contact_id", ID, nullable=False),
        sa.Column("counts", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("requested_by", sa.String(length=254), nullable=True),
        sa.Column("rewritten_on", TIME, nullable=True),
    )
    by_contact = ["workspace_id", "contact_uuid", "created_on", "id"]
    op.create_index("ix_data_request_contact", "data_request", by_contact)
    filed = sa.text("location IS NOT NULL")
    op.create_index(
        "ix_data_request_file", "data_request", ["finished_on", "id"], postgresql_where=filed, sqlite_where=filed
    )


def _create_data_job(table: str, *columns: sa.Column[Any]) -> None:
    op.create_table(
        table,
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("uuid", UUID, nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("status", sa.String(length=9), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("location", sa.Text(), nullable=True),
        sa.Column("size", sa.BigInteger(), nullable=True),
        sa.Column("leased_until", TIME, nullable=True),
        sa.Column("created_on", TIME, nullable=False),
        sa.Column("finished_on", TIME, nullable=True),
        *columns,
        sa.ForeignKeyConstraint(["user_id"], ["app_user.id"], name=op.f(f"fk_{table}_user_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f(f"fk_{table}_workspace_id")),
        keys.primary_key(table, "id"),
        sa.UniqueConstraint("uuid", "workspace_id", name=op.f(f"uq_{table}_uuid_workspace_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(f"ix_{table}_page", table, ["workspace_id", "created_on", "id"])
    due = sa.text("status IN ('reading', 'pending', 'running')")
    op.create_index(f"ix_{table}_due", table, ["workspace_id", "id"], postgresql_where=due, sqlite_where=due)


def _no_data_jobs() -> None:
    for table in ("data_request", "export", "rejected_row", "contact_import"):
        op.drop_table(table)


ATTEMPT = (("started_on", TIME), ("url", sa.Text()), ("signed", sa.String(32)), ("answer_headers", None))
"""New columns of `delivery_attempt`; the last one is a document."""


def _receivers() -> None:
    op.create_table(
        "webhook_receiver",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("channel_id", sa.Integer(), nullable=True),
        sa.Column("subscriber_id", ID, nullable=True),
        sa.Column("retry_delays", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("per_second", sa.Float(), nullable=True),
        sa.Column("paced_until", TIME, nullable=True),
        sa.Column("switched_off_on", TIME, nullable=True),
        sa.Column("signature", sa.String(length=9), nullable=False),
        sa.Column("signature_chosen_on", TIME, nullable=True),
        sa.Column("public_key", sa.String(length=64), nullable=True),
        sa.Column("private_key", sa.Text(), nullable=True),
        sa.Column("previous_private_key", sa.Text(), nullable=True),
        sa.Column("key_rotated_on", TIME, nullable=True),
        sa.CheckConstraint("signature IN ('symmetric', 'ed25519')", name=op.f("ck_webhook_receiver_signature")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_webhook_receiver_workspace_id")),
        keys.primary_key("webhook_receiver", "id"),
        sa.UniqueConstraint("channel_id", "workspace_id", name=op.f("uq_webhook_receiver_channel_id_workspace_id")),
        sa.UniqueConstraint(
            "subscriber_id", "workspace_id", name=op.f("uq_webhook_receiver_subscriber_id_workspace_id")
        ),
        sqlite_autoincrement=True,
    )
    for name, kind in ATTEMPT:
        op.add_column("delivery_attempt", sa.Column(name, kind or sa.JSON(none_as_null=True), nullable=True))


def _no_receivers() -> None:
    for name, _ in reversed(ATTEMPT):
        op.drop_column("delivery_attempt", name)
    op.drop_table("webhook_receiver")
