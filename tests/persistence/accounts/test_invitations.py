"""Invitations: what following one proves."""

from dataclasses import replace

import pytest
from sqlalchemy import select

from persistence.accounts.invitations import invite
from persistence.database import Database
from persistence.tables.sign_ins import invitation
from persistence.users import add_member, find_member
from persistence.workspaces import Workspace
from relayboard.base.settings import load_settings


@pytest.mark.parametrize(
    ("has_mail", "is_by_operator", "is_proof"),
    [(True, True, True), (True, False, True), (False, True, True), (False, False, False)],
)
def test_a_link_proves_the_address_if_it_was_mailed_or_an_operator_hands_it_over(
    database: Database, workspace: Workspace, has_mail: bool, is_by_operator: bool, is_proof: bool
) -> None:
    settings = replace(load_settings(), smtp_url="smtp://mail.example.org" if has_mail else None)
    with database.writing() as tx:
        add_member(tx, workspace.id, "ada@example.org", "administrator")
        inviter_id = None if is_by_operator else find_member(tx, workspace.id, "ada@example.org")
        made = invite(tx, workspace, "new@example.org", "agent", "http://testserver", settings, inviter_id)

        assert tx.execute(select(invitation.c.is_proof)).scalar_one() is is_proof
        assert made.is_mailed is has_mail
