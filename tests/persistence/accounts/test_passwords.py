"""Passwords: their hashes, and which are accepted."""

from typing import Literal

import pytest
from argon2 import PasswordHasher, extract_parameters
from argon2.low_level import Type, hash_secret

from persistence.accounts.passwords import Passwords, check_password
from persistence.errors import InvalidInput
from tests.accounts import QUICK


def test_real_passwords_take_the_parameters_of_rfc_9106() -> None:
    real = Passwords()
    stored = real.hash("the river is wide")
    found = extract_parameters(stored)

    assert (found.type, found.memory_cost, found.time_cost, found.parallelism) == (Type.ID, 65536, 3, 4)
    assert (real.fits(stored, "the river is wide"), real.fits(stored, "the river is deep")) == (True, False)


def test_the_hash_is_that_of_the_reference_program() -> None:
    # The first vector of argon2's own tests for version 1.3 of argon2id.
    made = hash_secret(b"password", b"somesalt", 2, 65536, 1, 32, Type.ID)

    assert made == b"$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
    assert Passwords().fits(made.decode(), "password")


class Counting(PasswordHasher):
    """Counts the hashes that are computed."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8, parallelism=1)
        self.verified: list[str] = []

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:
        self.verified.append(str(hash)[: len("$argon2id$v=19$m=8,t=1,p=1")])
        return super().verify(hash, password)


def test_without_an_account_the_same_work_is_done() -> None:
    hasher = Counting()
    passwords = Passwords(hasher)
    stored = passwords.hash("the river is wide")

    assert [passwords.fits(each, "guess") for each in (stored, None)] == [False, False]
    assert hasher.verified == ["$argon2id$v=19$m=8,t=1,p=1"] * 2
    assert not passwords.fits(None, "nobody has this password")


def test_a_hash_with_other_parameters_is_outdated() -> None:
    assert Passwords().is_outdated(QUICK.hash("x")) and not QUICK.is_outdated(QUICK.hash("x"))


def test_a_password_is_the_same_however_a_keyboard_composes_it() -> None:
    assert QUICK.fits(QUICK.hash("Zoe\u0308 and the river"), "Zo\u00eb and the river")


@pytest.mark.parametrize("password", ["a" * 9, "a" * 201, "Amina@Example.org", "aminawanjiru", "abcabcabcabc"])
def test_what_is_easy_to_guess_is_refused(password: str) -> None:
    email = "aminawanjiru@example.org" if password == "aminawanjiru" else "amina@example.org"
    with pytest.raises(InvalidInput):
        check_password(password, email)


@pytest.mark.parametrize("password", ["ten letter", "пароль на реке", "x" * 190 + "abcdefgh"])
def test_any_long_sentence_will_do(password: str) -> None:
    check_password(password, "amina@example.org")
