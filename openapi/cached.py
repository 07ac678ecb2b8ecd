"""The bundles of the contract, kept in a file beside our compiled modules: bundling takes a fifth of a start. As with
compiled modules, whoever has made the bundles writes the file where that is allowed. It begins with a digest of all
that they are made from, so it is never out of date.
"""

import contextlib
import os
import sys
import tempfile
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

HERE = Path(__file__).parent
PLACE = HERE / "__pycache__" / "bundles.json"

Documents = Mapping[str, Mapping[str, Any]]


def digest_sources(folder: Path) -> bytes:
    """A digest of the names and contents of all contract files in a folder, and of the code that bundles them."""
    found = blake2b(digest_size=32)
    for root, pattern in ((HERE, "*.py"), (folder, "**/*.yaml")):
        for path in sorted(root.glob(pattern)):
            content = path.read_bytes()
            found.update(b"%s\0%d\0%s" % (os.fsencode(path.relative_to(root)), len(content), content))
    return found.hexdigest().encode()


def read_cached(digest: bytes, place: Path = PLACE) -> dict[str, Any] | None:
    """The documents by generation that were made from these sources; None if there are none."""
    try:
        known, _, text = place.read_bytes().partition(b"\n")
        documents: dict[str, Any] = orjson.loads(text) if known == digest else {}
    except (OSError, orjson.JSONDecodeError):
        return None
    return documents or None


def write_cached(digest: bytes, documents: Documents, place: Path = PLACE) -> None:
    """Writes the documents for the next start, unless this is not allowed, or JSON would change them."""
    if sys.dont_write_bytecode:
        return
    try:
        text = orjson.dumps(documents)
    except TypeError:
        return
    if orjson.loads(text) == documents:
        with contextlib.suppress(OSError):
            _write(place, digest + b"\n" + text)


def _write(place: Path, content: bytes) -> None:
    """Writes a whole file at once: other processes read it meanwhile."""
    place.parent.mkdir(exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=place.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.chmod(name, 0o644)
        os.replace(name, place)
    except BaseException:
        os.unlink(name)
        raise
