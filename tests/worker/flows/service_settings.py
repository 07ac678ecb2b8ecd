"""The runtime of a worker whose flows ask a service at an address."""

import dataclasses
from typing import Any

from worker.runtime import Runtime


def with_settings(runtime: Runtime, **changes: Any) -> Runtime:
    """The same runtime under other settings."""
    return dataclasses.replace(runtime, settings=dataclasses.replace(runtime.settings, **changes))
