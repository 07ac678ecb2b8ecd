"""Settings as an operator sets them: by the names of environment variables."""

from dataclasses import replace
from typing import Any

from relayboard.base.settings import PREFIX, Settings, load_settings

KEY = {f"{PREFIX}SECRET_KEY": "a-key-that-only-tests-use"}


def by_name(**given: str) -> dict[str, Any]:
    """The values of settings by their fields, read from their texts: `by_name(PAGE_SIZE="3")`."""
    read = load_settings({**KEY, **{PREFIX + name: text for name, text in given.items()}})
    return {name.lower(): getattr(read, name.lower()) for name in given}


def settings_with(settings: Settings, **given: str) -> Settings:
    """The same settings with some others."""
    return replace(settings, **by_name(**given))
