"""Uploaded files and archives in a backup: a TAR stream, file after file."""

import shutil
import tarfile
from collections.abc import Iterator

from persistence.backups.errors import BackupError
from persistence.backups.files import PIECE_BYTES, BackupReader, BackupWriter
from persistence.media.store import MediaStore, StoredFile
from persistence.progress import report

FIRST, LATER = "media.tar", "media-later.tar"
SLACK_SECONDS = 5.0


class MediaPasses:
    """Files are copied before the database, and files added meanwhile after it. So each file that the rows of a backup
    name is included: files that were deleted meanwhile are in the first part.
    """

    def __init__(self, store: MediaStore, writer: BackupWriter) -> None:
        self._store = store
        self._writer = writer
        self._since = store.now() - SLACK_SECONDS
        self._taken: set[str] = set()

    def take_first(self) -> None:
        self._take(FIRST, 0.0)

    def take_later(self) -> None:
        self._take(LATER, self._since)

    def _take(self, part: str, since: float) -> None:
        manifest = self._writer.manifest
        with self._writer.member(part, compress=False) as stream, tarfile.open(fileobj=stream, mode="w|") as tar:  # type: ignore[call-overload]
            for name in self._store.list_names(since):
                if name in self._taken:
                    continue
                file = self._store.open(name)
                if file is None:  # deleted since it was listed
                    continue
                with file.stream:
                    info = _describe(name, file)
                    tar.addfile(info, file.stream)
                tar.members.clear()  # it would remember every file
                if info.mtime >= self._since:  # young enough to be listed again
                    self._taken.add(name)
                manifest.media_files += 1
                manifest.media_bytes += info.size
                report("Copying files", manifest.media_files)


def _describe(name: str, file: StoredFile) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = file.size, file.modified, 0o600
    return info


def put_back(reader: BackupReader, store: MediaStore) -> None:
    """Writes all files into an empty store; files of the second part are the same or new."""
    done = 0
    for part in (FIRST, LATER):
        with reader.member(part) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
            for name, file in _files_of(tar):
                if not store.has(name):
                    with store.writing(name) as placed:
                        shutil.copyfileobj(file, placed, PIECE_BYTES)
                    done += 1
                    report("Putting back files", done, reader.manifest.media_files)


def _files_of(tar: tarfile.TarFile) -> Iterator[tuple[str, tarfile.ExFileObject]]:
    for info in tar:
        file = tar.extractfile(info)
        if file is None or not info.isreg():
            raise BackupError(f"the backup holds {info.name}, which is no file")
        yield info.name, file  # type: ignore[misc]
        tar.members.clear()  # type: ignore[attr-defined]


def take_away(store: MediaStore) -> None:
    """Deletes the files again after a failure; the store was empty before."""
    for name in store.list_names():
        store.remove(name)


def check_store_empty(store: MediaStore) -> None:
    """Raises BackupError if there are files."""
    if next(store.list_names(), None) is not None:
        raise BackupError(f"{store.place} holds files: restore into an empty one")
