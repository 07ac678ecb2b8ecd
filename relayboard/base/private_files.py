"""Files with personal data: only their owner may read them, whatever the umask is."""

import contextlib
import os
from pathlib import Path
from typing import BinaryIO

FILE_MODE = 0o600
FOLDER_MODE = 0o700


def make_folder(path: Path) -> None:
    """Creates the folder and its parents; existing folders are not changed."""
    for missing in reversed([each for each in (path, *path.parents) if not each.exists()]):
        missing.mkdir(mode=FOLDER_MODE, exist_ok=True)


def make_file(path: Path) -> None:
    """Creates an empty file unless it exists. SQLite gives its other files for a database the same mode."""
    make_folder(path.absolute().parent)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))


def open_private(path: Path) -> BinaryIO:
    """Opens a file for writing and empties it; one that was there keeps its mode. Raises OSError."""
    return open(path, "wb", opener=lambda name, flags: os.open(name, flags, FILE_MODE))


def open_new(path: Path) -> BinaryIO:
    """Opens a new file for writing. Raises FileExistsError."""
    make_folder(path.parent)
    return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE), "wb")
