import re

import pytest
from sqlalchemy import Text, select, type_coerce, update

from persistence.database import Database
from persistence.secrets.encrypted_columns import NoSecretKey, Sealed
from persistence.secrets.encryption import KeyRing, SecretDamaged, SecretKeyChanged
from persistence.tables.channels import channel
from persistence.tables.complete import metadata
from tests.channel_rows import add_channel

SEALED = [
    *("secret", "previous_secret", "push_token"),
    *("webhook_secret", "webhook_previous_secret"),
]
CONFIG = {"send_url": "https://gateway.example.org", "send_authorization": "Token hidden"}


def read_raw(database, name):
    with database.reading() as tx:
        return tx.execute(select(type_coerce(channel.c[name], Text))).scalar_one()


def read(database, *names):
    with database.reading() as tx:
        return tuple(tx.execute(select(*(channel.c[name] for name in names))).one())


@pytest.mark.parametrize("name", SEALED)
def test_secrets_of_channels_are_read_as_written_and_stand_encrypted(database, workspace, name):
    add_channel(database, workspace, **{name: "hidden"})

    assert read(database, name) == ("hidden",)
    assert re.fullmatch(r"1\.[0-9a-f]{12}\.[A-Za-z0-9+/=]+", read_raw(database, name))


def test_how_a_gateway_is_called_stands_encrypted(database, workspace):
    add_channel(database, workspace, type="external", config=CONFIG)

    assert read(database, "config") == (CONFIG,)
    assert "hidden" not in read_raw(database, "config") and "gateway" not in read_raw(database, "config")


def test_no_secret_is_no_text_at_all(database, workspace):
    add_channel(database, workspace, secret=None)

    assert read(database, "secret") == (None,) and read_raw(database, "secret") is None


def test_a_secret_that_was_copied_to_another_column_is_refused(database, workspace):
    add_channel(database, workspace, secret="hidden")
    with database.writing() as tx:
        tx.execute(update(channel).values(webhook_secret=type_coerce(channel.c.secret, Text)))

    with pytest.raises(SecretDamaged):
        read(database, "webhook_secret")


def test_another_key_reads_nothing_and_says_so(database, workspace, database_url):
    add_channel(database, workspace, secret="hidden")
    other = Database(database_url, keys=KeyRing("a-key-of-somebody-else"))

    with pytest.raises(SecretKeyChanged):
        read(other, "secret")
    assert read(other, "name") == ("Front desk",)
    other.close()


def test_without_keys_secrets_are_neither_read_nor_written(database, workspace, database_url):
    add_channel(database, workspace, secret="hidden")
    keyless = Database(database_url)

    with pytest.raises(NoSecretKey):
        read(keyless, "secret")
    with pytest.raises(Exception, match="without a secret key"):
        add_channel(keyless, workspace, secret="hidden")
    keyless.close()


@pytest.mark.parametrize("compare", [lambda column: column == "x", lambda column: column.like("x"), lambda c: c > "x"])
def test_secrets_cannot_be_compared_in_the_database(compare):
    with pytest.raises(TypeError, match="cannot be compared"):
        compare(channel.c.secret)


def test_whether_there_is_a_secret_can_be_asked(database, workspace):
    add_channel(database, workspace, secret="hidden")

    with database.reading() as tx:
        assert tx.execute(select(channel.c.id).where(channel.c.secret.is_not(None))).first() is not None
        assert tx.execute(select(channel.c.id).where(channel.c.secret.is_(None))).first() is None


def test_each_sealed_column_is_bound_to_its_own_place():
    places = {
        column.type.place: f"{table.name}.{column.name}"
        for table in metadata.sorted_tables
        for column in table.c
        if isinstance(column.type, Sealed)
    }

    assert places and all(place == where for place, where in places.items())


def test_every_column_that_is_named_like_a_secret_is_sealed():
    named = re.compile(r"(^|_)(secret|password|credentials?|api_key|push_token|config)$")
    plain = [
        f"{table.name}.{column.name}"
        for table in metadata.sorted_tables
        for column in table.c
        if named.search(column.name) and not isinstance(column.type, Sealed)
    ]

    assert plain == []
