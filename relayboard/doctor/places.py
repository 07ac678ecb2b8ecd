"""What lies on the disk of this machine: media, room, and who may read the files."""

import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import uuid4

from persistence.media.store import MediaStore
from relayboard.base.settings import Settings, kept_key_file, sqlite_file
from relayboard.doctor.findings import OK, PROBLEM, WARNING, Finding, Findings

LEAST_FREE = 1_000_000_000
LEAST_SHARE = 0.05
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def check_media(settings: Settings, hosts: Sequence[str]) -> Findings:
    """Whether files can be written, and whether the nodes of all alive workers see the same folder."""
    store = MediaStore(settings.media_url)
    name = f"received/.doctor-{uuid4().hex}"
    try:
        with store.writing(name) as file:
            file.write(b"written by relayboard doctor")
        store.remove(name)
    except OSError as error:
        yield Finding(
            "media",
            PROBLEM,
            f"nothing can be written to {store.folder} ({error.strerror}): let the user that runs Relayboard write "
            "there",
        )
        return
    strangers = sorted(set(hosts) - set(store.list_nodes()))
    for host in strangers:
        yield Finding(
            "media",
            PROBLEM,
            f"the worker on {host} does not use the files in {store.folder} of this machine: mount one folder on all "
            "machines, name it in RELAYBOARD_MEDIA_URL of each, and restart the worker there",
        )
    if not strangers:
        yield Finding("media", OK, f"{store.folder} can be written to, and {_nodes(hosts)}")


def _nodes(hosts: Sequence[str]) -> str:
    return f"is shared by {', '.join(sorted(set(hosts)))}" if hosts else "no worker says that it uses another folder"


def check_room(settings: Settings) -> Findings:
    """Whether there is room on the disks that grow."""
    folders = {"media": MediaStore(settings.media_url).folder}
    file = sqlite_file(settings.database_url)
    if file is not None:
        folders["database"] = file.parent
    for kind, folder in folders.items():
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
    yield MediaStore(settings.media_url).folder
    yield Path(".env")
