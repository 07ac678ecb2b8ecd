import base64
import re

import pytest
from sqlalchemy import Text, select, type_coerce, update

from persistence.database import Database
from persistence.secrets.encryption import KeyRing, NoSecretKey, Sealed, SecretDamaged, SecretKeyChanged
from persistence.tables.channels import channel
from persistence.tables.complete import metadata
from tests.channel_rows import add_channel

OLD, NEW = "the-key-of-last-year", "the-key-of-this-year"
PLACE = "channel.secret"


def test_what_is_sealed_opens_again():
    ring = KeyRing(NEW)

    assert ring.open(ring.seal("whsec_é", PLACE), PLACE) == "whsec_é"


def test_a_sealed_text_shows_nothing_and_differs_each_time():
    ring = KeyRing(NEW)
    first, second = (ring.seal("hidden", PLACE) for _ in range(2))

    assert first != second
    assert b"hidden" not in base64.b64decode(first.rpartition(".")[2])


def test_another_process_with_the_same_key_opens_it():
    assert KeyRing(NEW).open(KeyRing(NEW).seal("hidden", PLACE), PLACE) == "hidden"


def test_a_secret_does_not_open_in_another_place():
    ring = KeyRing(NEW)

    with pytest.raises(SecretDamaged, match=r"channel\.webhook_secret"):
        ring.open(ring.seal("hidden", PLACE), "channel.webhook_secret")


@pytest.mark.parametrize("position", [30, -6])
def test_a_changed_secret_does_not_open(position):
    ring = KeyRing(NEW)
    sealed = list(ring.seal("hidden", PLACE))
    sealed[position] = "A" if sealed[position] != "A" else "B"

    with pytest.raises(SecretDamaged):
        ring.open("".join(sealed), PLACE)


@pytest.mark.parametrize("text", ["", "hidden", "1.", "1.0123456789ab", "2.0123456789ab.AAAA", "whsec_AAAA"])
def test_a_text_that_was_never_sealed_is_damaged(text):
    with pytest.raises((SecretDamaged, SecretKeyChanged)):
        KeyRing(NEW).open(text, PLACE)


def test_a_changed_key_is_told_in_words_that_say_what_to_do():
    sealed = KeyRing(OLD).seal("hidden", PLACE)

    with pytest.raises(SecretKeyChanged, match="under another RELAYBOARD_SECRET_KEY") as raised:
        KeyRing(NEW).open(sealed, PLACE)
    assert "RELAYBOARD_SECRET_KEY_FALLBACKS" in str(raised.value) and OLD not in str(raised.value)


def test_a_former_key_opens_and_the_present_one_seals():
    ring = KeyRing(NEW, [OLD])
    old = KeyRing(OLD).seal("hidden", PLACE)

    assert ring.open(old, PLACE) == "hidden"
    assert not ring.is_current(old) and ring.is_current(ring.seal("hidden", PLACE))
    assert KeyRing(NEW).open(ring.seal("hidden", PLACE), PLACE) == "hidden"


def test_the_present_key_may_stand_among_the_former_ones():
    ring = KeyRing(NEW, [NEW, OLD])

    assert ring.is_current(ring.seal("hidden", PLACE)) and ring.open(ring.seal("hidden", PLACE), PLACE) == "hidden"


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
