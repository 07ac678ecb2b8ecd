"""Worker services whose flows ask a service at an address."""

import dataclasses
from typing import Any

from worker.services import Services


def with_settings(services: Services, **changes: Any) -> Services:
    """The same services under other settings."""
    return dataclasses.replace(services, settings=dataclasses.replace(services.settings, **changes))
