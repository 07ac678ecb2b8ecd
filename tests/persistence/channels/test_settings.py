"""Secrets of gateways."""

import re

from persistence.channels.settings import new_gateway_secret


def test_a_secret_of_a_gateway_has_192_bits_and_fits_into_a_path() -> None:
    secrets = {new_gateway_secret() for _ in range(100)}

    assert len(secrets) == 100
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{32}", secret) for secret in secrets)
