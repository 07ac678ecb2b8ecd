"""The media store in a folder, which all machines share; the API serves its files itself."""

import contextlib
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from persistence.media.store import RECEIVED, UNFINISHED, MediaStore, StoredFile
from relayboard.base.private_files import make_folder, open_new


class FolderStore(MediaStore):
    """Files under a `file://` URL."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "file":
            raise ValueError("not a file:// URL")
        self.folder = Path(unquote(parts.netloc + parts.path))

    @property
    def place(self) -> str:
        return f"the folder {self.folder}"

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        path = self._path(name)
        make_folder(path.parent)
        temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}{UNFINISHED}")
        try:
            with open_new(temporary) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    @contextmanager
    def receiving(self, file_uuid: str) -> Iterator[BinaryIO]:
        """Without a temporary name: a received file counts only when a row names it."""
        with open_new(self._path(f"{RECEIVED}/{file_uuid}")) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())

    def open(self, name: str) -> StoredFile | None:
        path = self.open_path(name)
        try:
            stream = None if path is None else path.open("rb")
        except FileNotFoundError:
            return None
        if stream is None:
            return None
        status = os.fstat(stream.fileno())
        return StoredFile(stream, status.st_size, status.st_mtime)

    def open_path(self, name: str) -> Path | None:
        """The path of a stored file; None if there is none."""
        path = self._path(name)
        return path if path.is_file() else None

    def remove(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    def move(self, name: str, new_name: str) -> None:
        path = self._path(new_name)
        make_folder(path.parent)
        self._path(name).replace(path)

    def list_entries(self, folder: str) -> Iterator[tuple[str, float]]:
        path = self._path(folder)
        for each in sorted(path.iterdir()) if path.is_dir() else []:
            with contextlib.suppress(FileNotFoundError):
                yield each.name, each.stat().st_mtime

    def list_names(self, changed_since: float = 0.0) -> Iterator[str]:
        root = self.folder.resolve()
        for folder, below, files in os.walk(root):
            below[:] = sorted(each for each in below if not each.startswith("."))
            for each in files:
                path = Path(folder, each)
                if each.startswith(".") or each.endswith(UNFINISHED):
                    continue
                with contextlib.suppress(FileNotFoundError):
                    if changed_since == 0.0 or path.stat().st_ctime >= changed_since:
                        yield path.relative_to(root).as_posix()

    def now(self) -> float:
        return time.time()

    def _path(self, name: str) -> Path:
        root = self.folder.resolve()
        path = (root / name).resolve()
        if not path.is_relative_to(root):
            raise ValueError("a name outside the store")
        return path
