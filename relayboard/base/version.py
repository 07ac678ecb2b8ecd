"""The version of the installed program."""

from functools import cache
from importlib.metadata import version


@cache
def program_version() -> str:
    return version("relayboard")
