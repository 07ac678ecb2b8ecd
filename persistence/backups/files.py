"""The file of a backup: a ZIP archive whose parts are hashed while they are streamed; no part is kept in memory as a
whole."""

import errno
import hashlib
import os
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from persistence.backups.errors import BackupError
from persistence.backups.manifest import NAME, Manifest, Member
from persistence.progress import report
from relayboard.base.private_files import name_draft, open_new, remove_abandoned

PIECE_BYTES = 1 << 20
COMPRESSION_LEVEL = 1
WITHOUT_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS})
"""How file systems refuse hard links that know none, as on a USB stick."""


class HashedStream:
    """Counts and hashes the bytes that are written to it, and counts their line ends."""

    def __init__(self, below: IO[bytes]) -> None:
        self.size = 0
        self.lines = 0
        self._digest = hashlib.sha256()
        self._below = below

    def write(self, data: bytes) -> int:
        self.size += len(data)
        self.lines += data.count(b"\n")
        self._digest.update(data)
        return self._below.write(data)

    @property
    def member(self) -> Member:
        return Member(self.size, self._digest.hexdigest())


class BackupWriter:
    """A backup that is being made; `draft` is its file until then, whose name no other run has."""

    def __init__(self, archive: zipfile.ZipFile, manifest: Manifest, draft: Path) -> None:
        self.manifest = manifest
        self.draft = draft
        self._archive = archive

    @contextmanager
    def member(self, name: str, *, compress: bool = True) -> Iterator[HashedStream]:
        """A part to write piece by piece."""
        self._archive.compression = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
        with self._archive.open(name, "w", force_zip64=True) as below:
            stream = HashedStream(below)
            yield stream
        self.manifest.members[name] = stream.member

    def finish(self) -> None:
        self._archive.writestr(NAME, self.manifest.to_json())


@contextmanager
def writing_backup(path: Path, manifest: Manifest) -> Iterator[BackupWriter]:
    """A new file, readable by its owner only, that gets its final name when everything is written. Raises
    BackupError."""
    if path.exists():
        raise _taken(path)
    remove_abandoned(path)
    draft = name_draft(path)
    try:
        with open_new(draft) as file:
            with zipfile.ZipFile(file, "w", compresslevel=COMPRESSION_LEVEL) as archive:
                writer = BackupWriter(archive, manifest, draft)
                yield writer
                writer.finish()
            file.flush()
            os.fsync(file.fileno())
        _publish(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _publish(draft: Path, path: Path) -> None:
    """Gives the draft its final name. Raises BackupError if another run took it meanwhile."""
    try:
        _rename_to_new(draft, path)
    except FileExistsError as error:
        raise _taken(path) from error


def _rename_to_new(draft: Path, path: Path) -> None:
    """Raises FileExistsError, where a plain renaming would replace the file."""
    try:
        os.link(draft, path)
    except OSError as error:
        if error.errno not in WITHOUT_LINKS:
            raise
        open_new(path).close()
        draft.replace(path)


def _taken(path: Path) -> BackupError:
    return BackupError(f"{path} exists already: give the backup another name")


class BackupReader:
    """A backup whose manifest has been read."""

    def __init__(self, archive: zipfile.ZipFile, path: Path) -> None:
        self.path = path
        self._archive = archive
        try:
            self.manifest = Manifest.from_json(archive.read(NAME))
        except KeyError as error:
            raise BackupError(f"{path} is not a backup of Relayboard: it has no manifest") from error

    @contextmanager
    def member(self, name: str) -> Iterator[IO[bytes]]:
        with self._archive.open(name) as stream:
            yield stream

    def check(self) -> None:
        """Reads the whole file once. Raises BackupError if a part is missing or was changed."""
        total, done = sum(each.size for each in self.manifest.members.values()), 0
        for name, wanted in self.manifest.members.items():
            with self.member(name) as stream, open(os.devnull, "wb") as nowhere:
                hashed = HashedStream(nowhere)
                while piece := stream.read(PIECE_BYTES):
                    hashed.write(piece)
                    report("Checking the backup", done + hashed.size, total)
            done += hashed.size
            if hashed.member != wanted:
                raise BackupError(f"{self.path} is damaged: {name} is not what was written")


@contextmanager
def reading_backup(path: Path) -> Iterator[BackupReader]:
    """An existing backup. Raises BackupError for one that is damaged, also from within the block."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield BackupReader(archive, path)
    except (zipfile.BadZipFile, zlib.error, tarfile.TarError, EOFError, NotImplementedError) as error:
        raise BackupError(f"{path} is damaged, or is not a backup of Relayboard") from error
    except KeyError as error:
        raise BackupError(f"{path} is damaged: a part of it is missing") from error
