"""Sealing: authenticated encryption of the secrets in the database, with keys derived from the secret key. A sealed
text is `1.<key id>.<base64 of nonce and ciphertext>`. The key id only says which key opens it. Each text is bound to
its place (table and column) and cannot be opened in another place.
"""

import base64
import binascii
import hashlib
import secrets
from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from relayboard.base.settings import Settings

FORM = "1"
KEY_BYTES = 32
KEY_ID_BYTES = 6
NONCE_BYTES = 12
PURPOSE = b"relayboard stored secrets"


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


def _make_key(secret_key: str) -> tuple[str, AESGCM]:
    derived = HKDF(hashes.SHA256(), KEY_BYTES, salt=None, info=PURPOSE).derive(secret_key.encode())
    return hashlib.sha256(PURPOSE + b" id" + derived).hexdigest()[: 2 * KEY_ID_BYTES], AESGCM(derived)
