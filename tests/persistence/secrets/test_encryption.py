import base64

import pytest

from persistence.secrets.encryption import KeyRing, SecretDamaged, SecretKeyChanged

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
