"""Signing in with a password: what becomes of its hash.

Codes of an authenticator app: the vectors of RFC 6238 and RFC 4226, and our rules.
"""

import base64
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

import pyotp
import pytest
from argon2 import PasswordHasher

from persistence.accounts.accounts import read_account
from persistence.accounts.passwords import Passwords
from persistence.accounts.sign_ins import Browser
from persistence.accounts.signing_in import (
    Door,
    accepted_step,
    hash_recovery_code,
    make_recovery_codes,
    make_totp_secret,
    sign_in_by_password,
    totp_uri,
    without_code,
)
from persistence.database import Database
from persistence.errors import NotAllowed
from persistence.workspaces.records import Workspace
from relayboard.base.settings import load_settings
from tests.accounts import EMAIL, PASSWORD, QUICK, add_person

HARDER = Passwords(PasswordHasher(time_cost=2, memory_cost=8, parallelism=1))


@pytest.mark.parametrize(
    ("passwords", "password", "is_renewed"),
    [(HARDER, PASSWORD, True), (HARDER, "a guess", False), (QUICK, PASSWORD, False)],
)
def test_a_hash_is_renewed_only_once_it_is_outdated_and_the_password_is_known(
    database: Database, workspace: Workspace, passwords: Passwords, password: str, is_renewed: bool
) -> None:
    user_id = add_person(database, workspace)
    door = Door(database, load_settings(), passwords, Browser("192.0.2.1", "test"))
    with database.reading() as tx:
        before = read_account(tx, user_id).password_hash
    if password == PASSWORD:
        assert sign_in_by_password(door, EMAIL, password, None).user_id == user_id
    else:
        with pytest.raises(NotAllowed):
            sign_in_by_password(door, EMAIL, password, None)
    with database.reading() as tx:
        after = read_account(tx, user_id).password_hash

    assert after is not None
    assert (after != before, passwords.is_outdated(after)) == (is_renewed, passwords is HARDER and not is_renewed)
    assert passwords.fits(after, PASSWORD)


SECRET = base64.b32encode(b"12345678901234567890").decode()
NOW = datetime(2026, 3, 2, 8, 0, 10, tzinfo=UTC)
STEP = int(NOW.timestamp()) // 30


@pytest.mark.parametrize(
    ("seconds", "code"),
    [
        (59, "94287082"),
        (1111111109, "07081804"),
        (1111111111, "14050471"),
        (1234567890, "89005924"),
        (2000000000, "69279037"),
        (20000000000, "65353130"),
    ],
)
def test_the_vectors_of_rfc_6238(seconds: int, code: str) -> None:
    now = datetime.fromtimestamp(seconds, UTC)

    assert pyotp.TOTP(SECRET, digits=8).at(now) == code
    assert accepted_step(SECRET, code[2:], now, None) == seconds // 30


@pytest.mark.together
@pytest.mark.parametrize(("counter", "code"), enumerate(("755224", "287082", "359152", "969429", "338314", "254676")))
def test_the_vectors_of_rfc_4226(counter: int, code: str) -> None:
    assert accepted_step(SECRET, code, datetime.fromtimestamp(counter * 30, UTC), None) == counter


@pytest.mark.parametrize(("beside", "accepted"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
def test_a_clock_may_be_half_a_minute_off(beside: int, accepted: bool) -> None:
    code = pyotp.TOTP(SECRET).generate_otp(STEP + beside)

    assert accepted_step(SECRET, code, NOW, None) == (STEP + beside if accepted else None)


@pytest.mark.parametrize("last", [STEP, STEP + 1])
def test_a_code_is_accepted_once_and_none_before_it(last: int) -> None:
    assert accepted_step(SECRET, pyotp.TOTP(SECRET).generate_otp(STEP), NOW, last) is None


@pytest.mark.parametrize("code", ["", "12345", "abcdef", "１２３４５６", "1234567"])
def test_what_is_not_a_code_is_not_accepted(code: str) -> None:
    assert accepted_step(SECRET, code, NOW, None) is None


def test_secrets_are_random_and_apps_can_read_them() -> None:
    secret = make_totp_secret()
    parts = urlsplit(totp_uri(secret, "amina@example.org", "Relayboard"))

    assert len(base64.b32decode(secret)) == 20
    assert make_totp_secret() != secret
    assert (parts.scheme, parts.netloc, parts.path) == ("otpauth", "totp", "/Relayboard:amina%40example.org")
    assert parse_qs(parts.query) == {"secret": [secret], "issuer": ["Relayboard"]}


@pytest.mark.parametrize("typed", ["K7WQM-3XD9P", "k7wqm 3xd9p", "k7wqm\u20113xd9p", "k7wqm3xd9p\u00a0"])
def test_a_recovery_code_is_known_however_people_type_it(typed: str) -> None:
    assert without_code([hash_recovery_code("k7wqm-3xd9p", "a key")], typed, ["a key"]) == []


def test_a_recovery_code_is_used_up_also_with_a_former_secret_key() -> None:
    one, other, *_ = codes = make_recovery_codes()
    hashes = [hash_recovery_code(each, "a former secret key") for each in codes]
    keys = ("the present secret key", "a former secret key")

    left = without_code(hashes, f" {one.upper()} ", keys)

    assert left == hashes[1:] and len(set(codes)) == 10
    assert without_code(left, one, keys) is None
    assert without_code(left, other, ("the present secret key",)) is None
