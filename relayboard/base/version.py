"""The version of the installed program."""

from functools import cache


@cache
def program_version() -> str:
    from importlib.metadata import version  # noqa: PLC0415  # it loads much, and few commands tell the version

    return version("relayboard")
