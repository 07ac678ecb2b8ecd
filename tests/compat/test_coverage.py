"""No method of the published clients is left out."""

import re
from pathlib import Path

import pytest
from temba_client.v2 import TembaClient as NewerClient

from tests.compat.older_client import UNSERVED, load_older_client

FOLDER = Path(__file__).parent


def methods(client: type) -> set[str]:
    return {name for name in dir(client) if not name.startswith("_") and callable(getattr(client, name))}


def mentioned(pattern: str) -> set[str]:
    """The methods that tests speak of, called on a client or named in a table."""
    texts = [path.read_text() for path in FOLDER.glob(pattern)]
    return {name for text in texts for name in re.findall(r"(?:client\.|\")(\w+)", text)}


def test_every_method_of_the_newer_client_is_called() -> None:
    assert methods(NewerClient) - mentioned("test_newer_*.py") == set()


def test_every_method_of_the_older_client_is_called(pytestconfig: pytest.Config) -> None:
    assert methods(load_older_client(pytestconfig).TembaClient) - mentioned("test_older_*.py") == UNSERVED
