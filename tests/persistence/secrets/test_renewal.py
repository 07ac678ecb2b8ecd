from datetime import timedelta

import pytest
from sqlalchemy import Text, select, type_coerce

from persistence.accounts.accounts import read_account, store_account
from persistence.accounts.invitations import SIGN_IN, post
from persistence.audit import BY_COMMAND, Actor, Witness
from persistence.database import Database
from persistence.secrets.encryption import KeyRing, SecretKeyChanged
from persistence.secrets.renewal import BATCH, Renewal, confirm_secret_key, renew_secrets
from persistence.tables.accounts import account, account_mail
from persistence.tables.channels import channel
from persistence.tables.service import audit_event, secret_key_check
from testbed.tokens import KEYS, SECRET_KEY
from tests.accounts import EMAIL, add_person
from tests.channel_rows import add_channel

NEW = "the-key-of-this-year"


@pytest.fixture
def open_with(database_url):
    """Opens the database under these keys."""
    opened = []

    def open_database(*keys):
        opened.append(Database(database_url, keys=KeyRing(keys[0], keys[1:])))
        return opened[-1]

    yield open_database
    for each in opened:
        each.close()


def read_secrets(database):
    with database.reading() as tx:
        return [tuple(row) for row in tx.execute(select(channel.c.secret, channel.c.config).order_by(channel.c.id))]


def test_a_new_database_takes_the_key_it_is_begun_with(database):
    confirm_secret_key(database)
    confirm_secret_key(database)

    with database.reading() as tx:
        assert len(tx.execute(select(secret_key_check.c.id)).all()) == 1


def test_another_key_is_refused_at_the_start_and_a_former_one_is_not(database, open_with):
    confirm_secret_key(database)

    with pytest.raises(SecretKeyChanged):
        confirm_secret_key(open_with(NEW))
    confirm_secret_key(open_with(NEW, SECRET_KEY))


def test_after_a_renewal_the_former_key_is_needed_no_more(database, workspace, open_with):
    confirm_secret_key(database)
    add_channel(database, workspace, secret="hidden", config={"send_url": "https://example.org"})
    add_channel(database, workspace)

    done = renew_secrets(open_with(NEW, SECRET_KEY), KeyRing(NEW, [SECRET_KEY]))

    assert done == Renewal(renewed=3, dropped=0)
    assert read_secrets(open_with(NEW)) == [("hidden", {"send_url": "https://example.org"}), (None, None)]
    confirm_secret_key(open_with(NEW))
    with pytest.raises(SecretKeyChanged):
        read_secrets(database)


def test_a_second_renewal_finds_nothing_to_do(database, workspace):
    add_channel(database, workspace, secret="hidden")
    with database.reading() as tx:
        before = tx.execute(select(type_coerce(channel.c.secret, Text))).scalar_one()

    assert renew_secrets(database, KEYS) == Renewal()
    with database.reading() as tx:
        assert tx.execute(select(type_coerce(channel.c.secret, Text))).scalar_one() == before


def test_more_channels_than_a_batch_are_renewed(database, workspace, open_with):
    for number in range(3):
        add_channel(database, workspace, secret=f"hidden {number}")
    with database.writing() as tx:
        rows = [{"workspace_id": workspace.id, "type": "android", "schemes": [], "created_on": tx.now, "secret": "x"}]
        tx.execute(channel.insert(), rows * BATCH)

    done = renew_secrets(open_with(NEW, SECRET_KEY), KeyRing(NEW, [SECRET_KEY]))

    assert done.renewed == BATCH + 3 and len(read_secrets(open_with(NEW))) == BATCH + 3


def test_secrets_whose_key_is_lost_stop_a_renewal(database, workspace, open_with):
    add_channel(database, workspace, secret="hidden")

    with pytest.raises(SecretKeyChanged):
        renew_secrets(open_with(NEW), KeyRing(NEW))


def test_secrets_whose_key_is_lost_are_emptied_on_demand(database, workspace, open_with):
    confirm_secret_key(database)
    add_channel(database, workspace, secret="hidden")
    lost = open_with(NEW)

    assert renew_secrets(lost, KeyRing(NEW), drops_unreadable=True) == Renewal(renewed=0, dropped=2)
    assert read_secrets(lost) == [(None, None)]
    confirm_secret_key(lost)
    confirm_secret_key(open_with(NEW))


def add_second_factor(database, workspace, **values):
    user_id = add_person(database, workspace)
    with database.writing() as tx:
        store_account(tx, user_id, totp_secret="JBSWY3DPEHPK3PXP", totp_step=7, recovery_hashes=["x"], **values)
    return user_id


def read_events(database):
    with database.reading() as tx:
        rows = tx.execute(select(audit_event.c.resource, audit_event.c.record_name, audit_event.c.changes))
        return [tuple(row) for row in rows]


def test_two_factor_authentication_ends_with_a_lost_secret_and_the_audit_log_tells(database, workspace, open_with):
    user_id = add_second_factor(database, workspace, totp_confirmed_on=database.clock())
    lost = open_with(NEW)
    lost.witness = Witness(Actor(BY_COMMAND, command="secrets renew"))

    done = renew_secrets(lost, KeyRing(NEW), drops_unreadable=True)

    with lost.reading() as tx:
        columns = (account.c.totp_secret, account.c.totp_step, account.c.recovery_hashes)
        left, found = tx.execute(select(*columns)).one(), read_account(tx, user_id)
    (resource, name, changes) = read_events(lost)[-1]
    assert (done, tuple(left)) == (Renewal(dropped=1), (None, None, None))
    assert (found.has_two_factor, found.password_hash is not None) == (False, True)
    assert (resource, name, changes["recovery_codes"]) == ("account", EMAIL, ["hidden", None])
    assert changes["two_factor"][0] is not None and changes["two_factor"][1] is None


def test_two_factor_authentication_stays_on_when_its_secret_is_renewed(database, workspace, open_with):
    user_id = add_second_factor(database, workspace, totp_confirmed_on=database.clock())
    renewing = open_with(NEW, SECRET_KEY)
    renewing.witness = Witness(Actor(BY_COMMAND, command="secrets renew"))
    before = read_events(database)

    done = renew_secrets(renewing, KeyRing(NEW, [SECRET_KEY]), drops_unreadable=True)

    with open_with(NEW).reading() as tx:
        secret, found = tx.execute(select(account.c.totp_secret)).scalar_one(), read_account(tx, user_id)
    assert (done, secret, found.has_two_factor) == (Renewal(renewed=1), "JBSWY3DPEHPK3PXP", True)
    assert read_events(renewing) == before


def test_a_lost_secret_of_a_channel_is_told_as_one_that_was_there(database, workspace, open_with):
    add_channel(database, workspace, secret="hidden", name="Clinic")
    lost = open_with(NEW)
    lost.witness = Witness(Actor(BY_COMMAND, command="secrets renew"))

    renew_secrets(lost, KeyRing(NEW), drops_unreadable=True)

    assert read_events(lost)[-1] == ("channels", "Clinic", {"secret": ["hidden", None]})


def test_a_letter_whose_link_is_lost_is_deleted(database, workspace, open_with):
    with database.writing() as tx:
        post(tx, SIGN_IN, EMAIL, {"link": "https://example.org/#/x"}, timedelta(hours=1))

    done = renew_secrets(open_with(NEW), KeyRing(NEW), drops_unreadable=True)

    with database.reading() as tx:
        assert (done, tx.execute(select(account_mail.c.id)).all()) == (Renewal(dropped=1), [])
