"""JSON Web Tokens of callbacks: which are believed."""

from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from channels.calls import BadSignature
from channels.signatures import hmac_base64, read_jwt

SECRET = "a secret of the provider"
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MOMENT = int(NOW.timestamp())
# The example that jwt.io shows.
KNOWN = (
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"
    ".eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ"
    ".SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"
)


def encoded(content: bytes) -> str:
    return urlsafe_b64encode(content).decode().rstrip("=")


def token_of(claims: Any, secret: str = SECRET, header: Any = None) -> str:
    signed = ".".join(encoded(orjson.dumps(each)) for each in (header or {"alg": "HS256", "typ": "JWT"}, claims))
    signature = hmac_base64(secret, signed.encode()).translate(str.maketrans("+/", "-_"))
    return f"{signed}.{signature.rstrip('=')}"


def test_a_token_of_others_is_read() -> None:
    assert read_jwt(KNOWN, "your-256-bit-secret", NOW)["name"] == "John Doe"


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"exp": MOMENT - 30},
        {"nbf": MOMENT + 30},
        {"exp": MOMENT + 1.5, "nbf": MOMENT - 1.5, "iat": None},
    ],
)
def test_a_valid_token_says_its_claims(claims: dict[str, Any]) -> None:
    assert read_jwt(token_of(claims), SECRET, NOW) == claims


@pytest.mark.parametrize(
    "token",
    [
        "",
        "a.b.c",
        "..",
        token_of({}, "another secret"),
        token_of({}, header={"alg": "none"}),
        token_of({}, header={"alg": "HS512"}),
        token_of({}, header={"alg": "HS256", "crit": ["b64"], "b64": False}),
        token_of([]).replace(".", "..", 1),
        token_of({})[:-1],
        token_of({}).rpartition(".")[0] + ".",
        token_of({"exp": MOMENT - 61}),
        token_of({"nbf": MOMENT + 61}),
        token_of({"exp": "tomorrow"}),
        token_of({"exp": True}),
        token_of({}) + "ü",
    ],
)
def test_other_tokens_are_refused(token: str) -> None:
    with pytest.raises(BadSignature):
        read_jwt(token, SECRET, NOW)


def test_nothing_is_signed_with_an_empty_secret() -> None:
    with pytest.raises(BadSignature):
        read_jwt(token_of({}, ""), "", NOW)


@pytest.mark.parametrize(("issued", "is_good"), [(0, True), (-300, True), (-361, False), (61, False), (None, False)])
def test_the_time_of_issue_counts_if_it_is_asked_for(issued: int | None, is_good: bool) -> None:
    token = token_of({} if issued is None else {"iat": MOMENT + issued})
    assert isinstance(read_jwt(token, SECRET, NOW), dict)

    if is_good:
        assert read_jwt(token, SECRET, NOW, seconds=300)["iat"] == MOMENT + (issued or 0)
    else:
        with pytest.raises(BadSignature):
            read_jwt(token, SECRET, NOW, seconds=300)
