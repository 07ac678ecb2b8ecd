"""Sealing: authenticated encryption of the secrets in the database, with keys derived from the secret key, and the
column type that seals and opens. A sealed text is `1.<key id>.<base64 of nonce and ciphertext>`. The key id only
says which key opens it. Each text is bound to its place (table and column) and cannot be opened in another place.

Hiding: what looks like a secret in what is stored of requests and responses is left out.
"""

import base64
import binascii
import hashlib
import logging
import re
import secrets
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from sqlalchemy import Column, ColumnElement, Engine, Text, TypeDecorator, type_coerce
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.operators import OperatorType, is_, is_not

from relayboard.base.settings import Settings

HIDDEN = "***"
_NAMES = r"[\w.-]*(?:secret|token|passw(?:or)?d|api[_-]?key|apikey|authorization|signature|session|cookie)[\w.-]*+"
_NAME = re.compile(_NAMES, re.I)
# A name begins where a word does: to look for one from each of its letters would take seconds for a long word.
_PAIR = re.compile(
    rf"""(["']?(?<![\w.-]){_NAMES}["']?\s*[:=]\s*)("(?:[^"\\]|\\.)*"?|'[^']*'?|(?:bearer |basic )?[^\s,;&"'<>}}]+)""",
    re.I,
)
_ELEMENT = re.compile(rf"(<(?:[\w-]+:)?{_NAMES}(?:\s[^<>]*)?>)[^<]+", re.I)
_BEARER = re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{8,}", re.I)
_QUERY_VALUE = re.compile(r"=[^&;]*")

FORM = "1"
KEY_BYTES = 32
KEY_ID_BYTES = 6
NONCE_BYTES = 12
PURPOSE = b"relayboard stored secrets"

logger = logging.getLogger("relayboard.secrets")


class SecretKeyChanged(Exception):
    """The stored secrets were sealed with a key that is not configured."""

    def __init__(self) -> None:
        super().__init__(
            "the secrets in this database were stored under another RELAYBOARD_SECRET_KEY. Set that key again; "
            "to change to a new key, put the former one into RELAYBOARD_SECRET_KEY_FALLBACKS and run "
            "`relayboard secrets renew`"
        )


class SecretDamaged(Exception):
    """A stored secret is not sealed, was changed, or was moved from its place."""

    def __init__(self, place: str) -> None:
        super().__init__(f"a stored secret in {place} is damaged or was copied from another place")


class KeyRing:
    """The key that seals, derived from the secret key, and the keys that open, also those of former secret keys."""

    def __init__(self, secret_key: str, former_keys: Sequence[str] = ()) -> None:
        made = [_make_key(text) for text in (secret_key, *former_keys)]
        self._key_id, self._cipher = made[0]
        self._ciphers = dict(reversed(made))

    @classmethod
    def of(cls, settings: Settings) -> "KeyRing":
        return cls(settings.secret_key, settings.secret_key_fallbacks)

    def seal(self, text: str, place: str) -> str:
        """The sealed form of a text; `place` is its table and column."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        sealed = nonce + self._cipher.encrypt(nonce, text.encode(), self._bind(self._key_id, place))
        return f"{FORM}.{self._key_id}.{base64.b64encode(sealed).decode()}"

    def open(self, sealed: str, place: str) -> str:
        """The text that was sealed for this place. Raises SecretKeyChanged, SecretDamaged."""
        form, _, rest = sealed.partition(".")
        key_id, _, encoded = rest.partition(".")
        if form != FORM or len(key_id) != 2 * KEY_ID_BYTES:
            raise SecretDamaged(place)
        if key_id not in self._ciphers:
            raise SecretKeyChanged
        try:
            raw = base64.b64decode(encoded, validate=True)
            opened = self._ciphers[key_id].decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], self._bind(key_id, place))
        except (InvalidTag, binascii.Error, ValueError) as error:
            raise SecretDamaged(place) from error
        return opened.decode()

    def is_current(self, sealed: str) -> bool:
        """Whether a text is sealed with the current key."""
        return sealed.startswith(f"{FORM}.{self._key_id}.")

    def _bind(self, key_id: str, place: str) -> bytes:
        return f"{FORM}.{key_id}.{place}".encode()


_RINGS: WeakKeyDictionary[Dialect, KeyRing] = WeakKeyDictionary()
"""The keys of each engine, by its dialect: a column type knows only the dialect of its engine."""


class NoSecretKey(Exception):
    """A secret is read or written in a database that was opened without a secret key."""


class SealedComparator(TypeDecorator.Comparator[Any]):
    """The same secret is sealed differently each time, so the database can only compare it with null."""

    def operate(self, op: OperatorType, *other: Any, **kwargs: Any) -> Any:
        if op not in (is_, is_not) or other != (None,):
            raise TypeError("sealed columns cannot be compared; read them and compare what they hold")
        return super().operate(op, *other, **kwargs)


def _make_key(secret_key: str) -> tuple[str, AESGCM]:
    derived = HKDF(hashes.SHA256(), KEY_BYTES, salt=None, info=PURPOSE).derive(secret_key.encode())
    return hashlib.sha256(PURPOSE + b" id" + derived).hexdigest()[: 2 * KEY_ID_BYTES], AESGCM(derived)


class Sealed(TypeDecorator[Any]):
    """A text that is stored encrypted, bound to its table and column (`place`). Reading raises SecretKeyChanged,
    SecretDamaged (`persistence.secrets.encryption`). To copy it to another sealed column it must be read and written.
    """

    impl = Text
    cache_ok = True
    comparator_factory = SealedComparator

    def __init__(self, place: str) -> None:
        super().__init__()
        self.place = place

    def process_bind_param(self, value: object, dialect: Dialect) -> str | None:
        return None if value is None else _ring_of(dialect).seal(self.to_text(value), self.place)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else self.from_text(_ring_of(dialect).open(value, self.place))

    def to_text(self, value: object) -> str:
        return str(value)

    def from_text(self, text: str) -> Any:
        return text


class SealedJson(Sealed):
    """A sealed document."""

    cache_ok = True

    def to_text(self, value: object) -> str:
        return orjson.dumps(value).decode()

    def from_text(self, text: str) -> Any:
        return orjson.loads(text)


def sealed_column(table: str, name: str) -> Column[str]:
    """A column for a secret text; None when there is none."""
    return Column(name, Sealed(f"{table}.{name}"))


def sealed_json_column(table: str, name: str) -> Column[Any]:
    """A column for a document that contains secrets."""
    return Column(name, SealedJson(f"{table}.{name}"))


def sealed_text(column: ColumnElement[Any]) -> ColumnElement[str]:
    """The sealed text of a column, to be opened row by row: reading the column itself opens all rows or fails."""
    return type_coerce(column, Text)


def open_sealed(dialect: Dialect, column: Column[Any], sealed: str | None) -> Any:
    """The content of one sealed text of a column; None for null. Raises SecretKeyChanged, SecretDamaged."""
    assert isinstance(column.type, Sealed)
    return column.type.process_result_value(sealed, dialect)


def open_or_none(dialect: Dialect, column: Column[Any], sealed: str | None) -> Any:
    """The content of one sealed text of a column; None for null and for a text that no key opens."""
    try:
        return open_sealed(dialect, column, sealed)
    except (SecretDamaged, SecretKeyChanged):
        place = f"{column.table.name}.{column.name}"
        logger.error("a secret in %s cannot be decrypted; renew the secrets or set it anew", place)
        return None


def give_keys(engine: Engine, ring: KeyRing) -> None:
    """Lets an engine read and write sealed columns."""
    _RINGS[engine.dialect] = ring


def _ring_of(dialect: Dialect) -> KeyRing:
    ring = _RINGS.get(dialect)
    if ring is None:
        raise NoSecretKey("this database was opened without a secret key")
    return ring


def is_secret_name(name: str) -> bool:
    """Whether a header or a parameter with this name holds a secret."""
    return _NAME.fullmatch(name) is not None


def hide_in_text(text: str) -> str:
    """A response without what looks like the value of a secret: `"token": "x"`, `password=x`, `<password>x</password>`,
    `Bearer x`."""
    if not text:
        return text
    return _BEARER.sub(rf"\1 {HIDDEN}", _PAIR.sub(rf"\1{HIDDEN}", _ELEMENT.sub(rf"\1{HIDDEN}", text)))


def hide_in_url(url: str) -> str:
    """A URL without the values of its query parameters, by which receivers often recognize their callers. It may be one
    that is not valid, because receivers tell some.
    """
    before, mark, fragment = url.partition("#")
    place, _, query = before.partition("?")
    if not query:
        return place + mark + fragment
    hidden = _QUERY_VALUE.sub(f"={HIDDEN}", query) if "=" in query else HIDDEN
    return f"{place}?{hidden}{mark}{fragment}"
