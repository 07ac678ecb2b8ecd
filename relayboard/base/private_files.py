"""Files with personal data: only their owner may read them, whatever the umask is."""

import contextlib
import errno
import os
import re
import stat
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

ABANDONED_SECONDS = 86_400
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


@contextlib.contextmanager
def writing_private(path: Path) -> Iterator[BinaryIO]:
    """Writes a file that gets its name when everything is written: what is interrupted leaves what was there. A file
    that was there keeps its mode. Raises OSError."""
    target = path.resolve()
    if target.exists() and not target.is_file():
        with open_private(path) as file:
            yield file
        return
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    remove_abandoned(target)
    draft = name_draft(target)
    try:
        with _create(draft) as file:
            if target.exists():
                os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def name_draft(path: Path) -> Path:
    """A file beside another one, whose name no other run has."""
    return path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")


def remove_abandoned(path: Path) -> None:
    """Removes drafts that killed runs left of a file, and what SQLite wrote beside them; a run that goes on writes to
    its draft."""
    name = re.compile(rf"{re.escape(path.name)}(\.[0-9a-f]{{32}})?\.part(\.db(-wal|-shm|-journal)?)?")
    before = time.time() - ABANDONED_SECONDS
    for each in path.parent.iterdir() if path.parent.is_dir() else ():
        if name.fullmatch(each.name):
            with contextlib.suppress(FileNotFoundError):  # another run removes it too
                if each.stat().st_mtime < before:
                    each.unlink()


def open_new(path: Path) -> BinaryIO:
    """Opens a new file for writing. Raises FileExistsError."""
    make_folder(path.parent)
    return _create(path)


def _create(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE), "wb")
