"""A header that only those who know the secret key can make: by it the doctor finds its own installation."""

import hashlib
import hmac
import time

PROBE_HEADER = "X-Relayboard-Probe"
PROBE_PATH = "/api/probe"
"""A path that proxies pass on; `/health/` they hide. Without the header there is nothing at it."""
GOOD_FOR_SECONDS = 300
PURPOSE = b"relayboard probe"


def make_probe(secret_key: str, now: float | None = None) -> str:
    """The moment and its signature."""
    moment = str(int(time.time() if now is None else now))
    return f"{moment}.{_sign(secret_key, moment)}"


def is_probe(text: str, secret_key: str) -> bool:
    """Whether somebody who knows the key made this a moment ago."""
    moment, _, signature = text.partition(".")
    if not (moment.isascii() and moment.isdigit() and len(moment) < 12 and signature.isascii()):
        return False
    is_recent = abs(time.time() - int(moment)) < GOOD_FOR_SECONDS
    return is_recent and hmac.compare_digest(signature, _sign(secret_key, moment))


def _sign(secret_key: str, moment: str) -> str:
    key = hashlib.sha256(PURPOSE + secret_key.encode()).digest()
    return hmac.new(key, moment.encode(), "sha256").hexdigest()
