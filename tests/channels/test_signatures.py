"""JSON Web Tokens of callbacks: which are believed."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as generate_curve
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from channels.calls import BadSignature, Message
from channels.signatures import check_private_key, hmac_base64, read_jwt, sign_jwt
from channels.vonage import TYPE as VONAGE

SECRET = "a secret of the provider"
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MOMENT = int(NOW.timestamp())
# The example that jwt.io shows.
KNOWN = (
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"
    ".eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ"
    ".SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"
)

EC_KEY = generate_curve(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


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


def test_a_token_of_ours_is_signed_by_the_private_key() -> None:
    key = generate_private_key(65537, 2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

    signed, _, signature = sign_jwt({"application_id": "a", "iat": MOMENT}, pem).rpartition(".")

    key.public_key().verify(urlsafe_b64decode(signature + "=="), signed.encode(), PKCS1v15(), SHA256())
    header, claims = (orjson.loads(urlsafe_b64decode(each + "==")) for each in signed.split("."))
    assert (header, claims) == ({"alg": "RS256", "typ": "JWT"}, {"application_id": "a", "iat": MOMENT})


def test_a_channel_signs_with_the_key_of_its_application() -> None:
    key = generate_private_key(65537, 2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    settings = {"api_key": "k", "api_secret": "s", "application_id": "a", "private_key": pem}
    message = Message(uuid="5d1d1a52-0000-4000-8000-000000000007", to="+250788123456", text="Hi", now=NOW)
    assert VONAGE.requests is not None

    (request,) = VONAGE.requests(message, settings)

    claims = orjson.loads(urlsafe_b64decode(request.headers["Authorization"].split(".")[1] + "=="))
    assert claims == {
        "application_id": "a",
        "iat": MOMENT,
        "exp": MOMENT + 900,
        "jti": f"5d1d1a52-0000-4000-8000-000000000007-1-{MOMENT}",
    }


@pytest.mark.parametrize("text", ["", "abc", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", EC_KEY])
def test_what_is_no_private_key_is_not_taken(text: str) -> None:
    with pytest.raises(ValueError, match="It is no"):
        check_private_key(text)
