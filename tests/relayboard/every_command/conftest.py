"""The world of this folder's tests."""

from tests.relayboard.every_command.fixtures import make_database, run, world, worlds

__all__ = ["make_database", "run", "world", "worlds"]
