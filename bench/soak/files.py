"""What the open files of a process are."""

import contextlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

LISTENING = "0A"
NAMELESS = ("socket:", "anon_inode:", "pipe:", "/memfd:")


def count_kinds(pid: int, peers: Mapping[int, str]) -> Counter[str]:
    """The open files of a process by what they are; `peers` names what listens at a port. Empty if it is gone."""
    found: Counter[str] = Counter()
    with contextlib.suppress(OSError):
        sockets = dict(_tcp_sockets(pid, peers))
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                found[_kind(os.readlink(entry), sockets)] += 1
    return found


def _kind(target: str, sockets: Mapping[str, str]) -> str:
    if target.startswith("socket:["):
        return sockets.get(target[8:-1], "local socket")
    if target.startswith(NAMELESS):
        return target.split(":")[0].strip("/").replace("anon_inode", "event queue")
    return f"file {Path(target).name}"


def _tcp_sockets(pid: int, peers: Mapping[int, str]) -> Iterator[tuple[str, str]]:
    """Inode and what the socket is for."""
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
                _, local, remote, state, *rest = line.split()
                here, there = (int(address.rsplit(":", 1)[1], 16) for address in (local, remote))
                to = peers.get(there) or peers.get(here) or "others"
                yield rest[5], "listening socket" if state == LISTENING else f"connection to {to}"
