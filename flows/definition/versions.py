"""Versions of the definition format (flow format, versions and migrations)."""

import re
from typing import TypeAlias

from flows.definition.errors import DefinitionError

Version: TypeAlias = tuple[int, int, int]
OLDEST: Version = (13, 0, 0)
NEWEST: Version = (14, 4, 2)
VERSION = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})(?:\.([0-9]{1,3}))?")


def read_version(text: object) -> Version:
    """A version string as numbers. Raises DefinitionError."""
    found = VERSION.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise DefinitionError("is not a version", field="spec_version")
    major, minor, patch = found.groups(default="0")
    return int(major), int(minor), int(patch)


def write_version(version: Version) -> str:
    """A version in the form of definitions, such as `13.6.1`."""
    return ".".join(str(number) for number in version)
