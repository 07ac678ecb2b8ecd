"""Mails to people who have not looked for an hour while conversations wait for them, if they chose so: one, and the
next only after they have looked.
"""

from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_, select

from persistence.accounts.invitations import REMINDER, post
from persistence.database import Transaction
from persistence.leases import list_workspaces
from persistence.statements import update
from persistence.tables.accounts import membership, user, workspace
from persistence.tables.changes import conversation, participant
from persistence.tables.contacts import OPEN, ticket
from persistence.tickets.records import TICKET_ROLES

UNASSIGNED, ALL = "unassigned", "all"
AWAY = timedelta(hours=1)
LIFETIME = timedelta(hours=6)
"""A mail that comes later tells of what was long ago."""
AT_ONCE = 100
COUNTED = 100

WANTS_MAIL = membership.c.mail_of.is_not(None)

TEXTS = {
    "en": (
        "Conversations wait for you",
        "In {workspace} unread conversations wait for you: {count}.",
        "To choose of what you are mailed, or of nothing:",
    ),
    "es": (
        "Hay conversaciones que le esperan",
        "En {workspace} le esperan conversaciones sin leer: {count}.",
        "Para elegir de qué se le avisa por correo, o de nada:",
    ),
    "fr": (
        "Des conversations vous attendent",
        "Dans {workspace}, des conversations non lues vous attendent : {count}.",
        "Pour choisir ce dont vous êtes averti par courriel, ou rien :",
    ),
    "pt": (
        "Há conversas à sua espera",
        "Em {workspace} há conversas por ler à sua espera: {count}.",
        "Para escolher de que é avisado por correio, ou de nada:",
    ),
    "sw": (
        "Mazungumzo yanakusubiri",
        "Katika {workspace} mazungumzo ambayo hayajasomwa yanakusubiri: {count}.",
        "Kuchagua utaarifiwa nini kwa barua pepe, au usiarifiwe:",
    ),
    "ar": (
        "محادثات في انتظارك",
        "في {workspace} محادثات غير مقروءة في انتظارك: {count}.",
        "لاختيار ما تُبلَّغ به بالبريد الإلكتروني، أو لا شيء:",
    ),
}
"""By language: the subject, the text, and what stands before the link to the settings."""


def write_reminder(content: dict[str, str]) -> tuple[str, str]:
    """The subject and the text of a mail."""
    subject, text, settings = TEXTS.get(content["language"], TEXTS["en"])
    told = text.format(workspace=" ".join(content["workspace"].split()), count=content["count"])
    root = content["root"]
    return subject, f"{told}\n\n{root}/#/inbox?folder=unread\n\n{settings}\n{root}/#/settings/account\n"


def list_reminded_workspaces(tx: Transaction) -> list[int]:
    """The workspaces in which somebody wants mail."""
    return list_workspaces(tx, membership.c.workspace_id, WANTS_MAIL)


def remind(tx: Transaction, workspace_id: int, base_url: str = "") -> None:
    """Posts a mail to each person of a workspace for whom something has waited for an hour, unread, and who has neither
    looked at a conversation for as long nor been mailed since. Whoever is mailed by another worker is left to it. Links
    begin with `base_url`; without one, with the address at which the person chose mail, which may be a former one.
    """
    rows = membership.c
    looked = select(func.max(participant.c.seen_on)).where(
        participant.c.workspace_id == rows.workspace_id, participant.c.user_id == rows.user_id
    )
    seen_on = looked.correlate(membership).scalar_subquery()
    is_first = rows.mailed_on.is_(None) | (rows.mailed_on < seen_on)
    is_gone = seen_on.is_(None) | (seen_on <= tx.now - AWAY)
    theirs = select(conversation.c.id).where(_waits_for()).correlate(membership)
    is_waiting = theirs.where(conversation.c.last_on <= tx.now - AWAY).limit(1).scalar_subquery().is_not(None)
    some = theirs.limit(COUNTED + 1).subquery()
    number = select(func.count()).select_from(some).correlate(membership).scalar_subquery()
    columns = (rows.user_id, rows.mail_language, rows.mail_root, user.c.email, workspace.c.name, number.label("number"))
    joined = membership.join(user, user.c.id == rows.user_id).join(workspace, workspace.c.id == rows.workspace_id)
    # Another role than these is never known to have looked, or may not list conversations any more.
    mine = (rows.workspace_id == workspace_id) & WANTS_MAIL & rows.role.in_(TICKET_ROLES) & user.c.is_active
    found = select(*columns).select_from(joined).where(mine, is_first, is_gone, is_waiting).order_by(rows.user_id)
    people = tx.execute(found.limit(AT_ONCE).with_for_update(of=membership, skip_locked=True)).all()
    for row in people:
        count = f"{COUNTED}+" if row.number > COUNTED else str(row.number)
        root = base_url.rstrip("/") or row.mail_root or ""
        told = {"workspace": row.name, "language": row.mail_language or "", "root": root, "count": count}
        post(tx, REMINDER, row.email, told, LIFETIME)
    if people:
        told_now = (rows.workspace_id == workspace_id) & rows.user_id.in_([row.user_id for row in people])
        values: dict[str, Any] = {"mailed_on": tx.now}
        tx.execute(update(membership).where(told_now).values(values))


def _waits_for() -> ColumnElement[bool]:
    """Whether an unread conversation is one of those of which a member wants to know."""
    rows = membership.c
    its = (ticket.c.workspace_id == conversation.c.workspace_id) & (ticket.c.contact_id == conversation.c.contact_id)
    opened = select(ticket.c.id).where(its, ticket.c.status == OPEN).correlate(conversation, membership)
    is_mine = opened.where(ticket.c.assignee_id == rows.user_id).exists()
    is_nobodys = ~opened.where(ticket.c.assignee_id.is_not(None)).exists()
    is_wanted = or_(rows.mail_of == ALL, is_mine, and_(rows.mail_of == UNASSIGNED, is_nobodys))
    return (conversation.c.workspace_id == rows.workspace_id) & conversation.c.is_unread & is_wanted
