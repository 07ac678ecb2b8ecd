"""The program as it is installed elsewhere: sdist and wheel of this source, and environments that hold nothing else."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from uv import find_uv_bin

from testbed.patience import PATIENCE_SECONDS
from tests.deploy.files import ROOT

SOURCE = (
    "openapi",
    "handlers",
    "persistence",
    "worker",
    "channels",
    "flows",
    "relayboard",
    "console",
    "docs",
    "deploy",
)
FILES = ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "NOTICE")

DECLARED = ("3.11", "3.12", "3.13", "3.14")
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"


def find_interpreters() -> dict[str, str]:
    """Those of the declared versions that this machine has, besides the one that runs the tests."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = {}
    for version in DECLARED:
        places = sorted(root.glob(f"{version}.*/bin/python"))
        path = str(places[-1]) if places else shutil.which(f"python{version}")
        if version != HERE and path and subprocess.run([path, "--version"], capture_output=True).returncode == 0:
            found[version] = path
    return found


INTERPRETERS = find_interpreters()
NEWEST = max(INTERPRETERS, key=lambda each: int(each.split(".")[1]), default=HERE)


def run_uv(*arguments: str, **settings: str) -> None:
    """It trusts the authorities that this machine trusts, as pip does."""
    environment = {**os.environ, "UV_SYSTEM_CERTS": "1", **settings}
    subprocess.run([find_uv_bin(), *arguments], env=environment, check=True, timeout=PATIENCE_SECONDS)


@dataclass(frozen=True, slots=True)
class Built:
    """What a release consists of."""

    sdist: Path
    wheel: Path


@contextmanager
def made_once(tmp_path_factory: pytest.TempPathFactory, name: str) -> Iterator[tuple[Path, bool]]:
    """A folder that all processes of this run of tests share, and whether this one is to fill it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / "done"
        yield folder, not done.exists()
        done.touch()


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The wheel is made from the sdist alone, as whoever gets only that would."""
    with made_once(tmp_path_factory, "release") as (folder, is_mine):
        if is_mine:
            _build(folder)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return Built(sdist, wheel)


def _build(folder: Path) -> None:
    source = folder / "source"
    for name in SOURCE:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, source / name)
    run_uv("build", "--quiet", "--out-dir", str(folder), str(source))


@pytest.fixture(scope="session")
def program(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of an environment of the newest interpreter that holds the wheel and what it needs."""
    with made_once(tmp_path_factory, "installed") as (folder, is_mine):
        return install_tool(f"{built.wheel}[traces,s3]", NEWEST, folder) if is_mine else commands_in(folder)


def install_tool(wheel: str, version: str, folder: Path) -> Path:
    """Install it as docs/deploying.md has it, for this version of the interpreter: the folder of its commands."""
    places = {"UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(folder / "bin")}
    run_uv("tool", "install", "--quiet", "--python", INTERPRETERS.get(version, sys.executable), wheel, **places)
    assert (folder / "bin" / "relayboard").exists()
    return commands_in(folder)


def commands_in(folder: Path) -> Path:
    return folder / "tools" / "relayboard" / "bin"


def bare_environment(commands: Path, **settings: str) -> dict[str, str]:
    """As little as a container gives: the commands of one environment, and settings."""
    return {"PATH": f"{commands}{os.pathsep}/usr/bin{os.pathsep}/bin", "LANG": "C.UTF-8", **settings}
