"""The world of this folder's tests."""

from tests.relayboard.every_command.fixtures import own_database_url, run, world

__all__ = ["own_database_url", "run", "world"]
