"""The world in which commands of the documentation run."""

from tests.relayboard.every_command.fixtures import own_database_url, run, world

__all__ = ["own_database_url", "run", "world"]
