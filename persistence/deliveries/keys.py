"""Pairs of Ed25519 keys in the form of Standard Webhooks: `whsk_` and `whpk_`, each with 32 bytes in base64."""

import base64

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def new_key_pair() -> tuple[str, str]:
    """A private key that signs, and the public key that verifies its signatures."""
    private = Ed25519PrivateKey.generate()
    seed, public = private.private_bytes_raw(), private.public_key().public_bytes_raw()
    return f"whsk_{base64.b64encode(seed).decode()}", f"whpk_{base64.b64encode(public).decode()}"
