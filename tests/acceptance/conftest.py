"""The world in which commands of the documentation run."""

from tests.relayboard.every_command.fixtures import make_database, run, world, worlds

__all__ = ["make_database", "run", "world", "worlds"]
