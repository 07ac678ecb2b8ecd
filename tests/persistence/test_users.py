"""Users of a workspace: roles change only on request, and an administrator always remains."""

import threading
from functools import partial

import pytest

from persistence.errors import InvalidInput, RecordMissing, Refused
from persistence.tokens import create_token, find_credentials
from persistence.users import add_member, change_role, find_member, read_role, remove_member
from testbed.tokens import SECRET_KEY

ADA, BEN = "ada@example.org", "ben@example.org"


@pytest.fixture
def users(database, workspace):
    with database.writing() as tx:
        add_member(tx, workspace.id, ADA, "administrator")
        add_member(tx, workspace.id, BEN, "editor")


def role_of(database, workspace, email):
    with database.reading() as tx:
        user_id = find_member(tx, workspace.id, email)
        return None if user_id is None else read_role(tx, workspace.id, user_id)


def test_adding_a_user_again_never_changes_the_role(database, workspace, users):
    with pytest.raises(Refused, match="is an editor of this workspace already"), database.writing() as tx:
        add_member(tx, workspace.id, BEN.upper(), "viewer")
    with database.writing() as tx:
        add_member(tx, workspace.id, BEN, "editor")

    assert role_of(database, workspace, BEN) == "editor"


@pytest.mark.parametrize("take_away", [partial(change_role, role="editor"), remove_member])
def test_the_last_administrator_stays(database, workspace, users, take_away):
    with pytest.raises(Refused, match=r"ada@example\.org is the last administrator"), database.writing() as tx:
        take_away(tx, workspace.id, ADA)
    with database.writing() as tx:
        change_role(tx, workspace.id, BEN, "administrator")
        take_away(tx, workspace.id, ADA)

    assert role_of(database, workspace, BEN) == "administrator"
    assert role_of(database, workspace, ADA) != "administrator"


def test_the_last_two_administrators_cannot_take_each_other_away_at_once(database, workspace, users):
    with database.writing() as tx:
        change_role(tx, workspace.id, BEN, "administrator")
    both = threading.Barrier(2)
    refused = []

    def leave(email):
        both.wait()
        try:
            database.write(lambda tx: change_role(tx, workspace.id, email, "viewer"))
        except Refused:
            refused.append(email)

    threads = [threading.Thread(target=leave, args=(email,)) for email in (ADA, BEN)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(refused) == 1
    assert sorted(role_of(database, workspace, email) for email in (ADA, BEN)) == ["administrator", "viewer"]


def test_a_user_who_is_taken_out_loses_the_tokens_also_when_coming_back(database, workspace, users):
    with database.writing() as tx:
        token = create_token(tx, workspace.id, find_member(tx, workspace.id, BEN), SECRET_KEY)
        remove_member(tx, workspace.id, BEN)
        add_member(tx, workspace.id, BEN, "editor")

    with database.reading() as tx:
        assert find_credentials(tx, token, SECRET_KEY) is None


def test_nobody_is_changed_who_is_not_there(database, workspace, users):
    with pytest.raises(RecordMissing), database.writing() as tx:
        change_role(tx, workspace.id, "cat@example.org", "viewer")


@pytest.mark.together
@pytest.mark.parametrize(
    "email", ["", "ada", "ada@", "@example.org", "a b@example.org", "ada@example", "a@b@c.org", "x" * 250 + "@b.org"]
)
def test_an_address_that_cannot_be_one_is_refused(database, workspace, email):
    with pytest.raises(InvalidInput), database.writing() as tx:
        add_member(tx, workspace.id, email, "viewer")
