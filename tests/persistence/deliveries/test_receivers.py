"""Receivers of webhooks."""

from persistence.deliveries.receivers import OVERLAP
from worker.webhooks.signing import ROTATION_OVERLAP


def test_a_former_secret_is_used_exactly_as_long_as_its_owner_is_told() -> None:
    assert OVERLAP == ROTATION_OVERLAP
