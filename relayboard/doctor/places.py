"""What lies on the disk of this machine: media, room, and who may read the files."""

import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import uuid4

from persistence.media.store import FolderStore, MediaStore, StoreUnavailable, open_store
from relayboard.base.settings import SettingError, Settings, kept_key_file, sqlite_file
from relayboard.doctor.findings import OK, PROBLEM, WARNING, Finding, Findings

LEAST_FREE = 1_000_000_000
LEAST_SHARE = 0.05
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def check_media(settings: Settings, hosts: Sequence[str]) -> Findings:
    """Whether files can be written and read, and whether the nodes of all alive workers see the same folder or
    bucket."""
    try:
        store = open_store(settings)
    except SettingError as error:
        yield Finding("media", PROBLEM, str(error))
        return
    trouble = _try(store)
    if trouble:
        yield Finding("media", PROBLEM, trouble)
        return
    strangers = sorted(set(hosts) - set(store.list_nodes()))
    for host in strangers:
        yield Finding(
            "media",
            PROBLEM,
            f"the worker on {host} does not use {store.place} as this machine does: let all machines use one folder or "
            "one bucket, name it in RELAYBOARD_MEDIA_URL of each, and restart the worker there",
        )
    if not strangers:
        yield Finding("media", OK, f"{store.place} can be written to, and {_nodes(hosts)}")


def _try(store: MediaStore) -> str:
    """What to do about a store in which nothing can be written and read; nothing if it can."""
    name = f"received/.doctor-{uuid4().hex}"
    written = b"written by relayboard doctor"
    try:
        with store.writing(name) as file:
            file.write(written)
        found = store.open(name)
        content = b"" if found is None else found.stream.read()
        if found is not None:
            found.stream.close()
        store.remove(name)
    except OSError as error:
        return (
            f"nothing can be written to {store.place} ({error.strerror}): let the user that runs Relayboard write there"
        )
    except StoreUnavailable as error:
        return (
            f"{error}: correct RELAYBOARD_MEDIA_URL and the settings RELAYBOARD_S3_..., and let the access key list, "
            "read, write and delete there"
        )
    return "" if content == written else f"{store.place} does not give back what was written: use another one"


def _nodes(hosts: Sequence[str]) -> str:
    return f"is shared by {', '.join(sorted(set(hosts)))}" if hosts else "no worker says that it uses another place"


def check_room(settings: Settings) -> Findings:
    """Whether there is room on the disks that grow."""
    folders = [("media", folder) for folder in _media_folder(settings)]
    file = sqlite_file(settings.database_url)
    if file is not None:
        folders.append(("database", file.parent))
    for kind, folder in folders:
        there = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
        usage = shutil.disk_usage(there)
        shown = f"{usage.free / 1e9:.1f} GB free where the {kind} is ({folder})"
        if usage.free < LEAST_FREE or usage.free < LEAST_SHARE * usage.total:
            yield Finding("disk", PROBLEM, f"only {shown}: delete what is not needed or give it a larger disk")
        else:
            yield Finding("disk", OK, shown)


def check_files(settings: Settings) -> Findings:
    """Whether others than the owner may read what holds people's data or secrets."""
    open_files = [path for path in _private_files(settings) if path.exists() and path.stat().st_mode & OTHERS]
    for path in open_files:
        mode = "700" if path.is_dir() else "600"
        yield Finding("files", PROBLEM, f"other users of this machine may open {path}: run `chmod {mode} {path}`")
    if os.name == "posix" and hasattr(os, "geteuid") and os.geteuid() == 0:
        yield Finding("files", WARNING, "this runs as root: give Relayboard a user of its own")
    if not open_files:
        yield Finding("files", OK, "only their owner may open database, keys and media")


def _private_files(settings: Settings) -> Iterator[Path]:
    for url in (settings.database_url, settings.queue_url):
        file = sqlite_file(url)
        if file is not None:
            yield file
    yield kept_key_file(settings.database_url)
    yield from _media_folder(settings)
    yield Path(".env")


def _media_folder(settings: Settings) -> Iterator[Path]:
    """The folder of the media store, if it is one."""
    if settings.media_url.startswith("file:"):
        yield FolderStore(settings.media_url).folder
