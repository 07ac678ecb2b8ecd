"""The program as it is installed elsewhere: sdist and wheel of this source, and environments that hold nothing else."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from uv import find_uv_bin

from testbed.patience import PATIENCE_SECONDS
from tests.deploy.files import ROOT

SOURCE = ("openapi", "handlers", "persistence", "worker", "flows", "relayboard", "docs", "deploy")
FILES = ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "NOTICE")


def run_uv(*arguments: str) -> None:
    subprocess.run([find_uv_bin(), *arguments], check=True, timeout=PATIENCE_SECONDS)


@dataclass(frozen=True, slots=True)
class Built:
    """What a release consists of."""

    sdist: Path
    wheel: Path


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The wheel is made from the sdist alone, as whoever gets only that would."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for name in SOURCE:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, source / name)
    run_uv("build", "--quiet", "--out-dir", str(folder), str(source))
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return Built(sdist, wheel)


@pytest.fixture(scope="session")
def program(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of an environment that holds the wheel and what it needs."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    run_uv("venv", "--quiet", "--python", sys.executable, str(folder))
    run_uv("pip", "install", "--quiet", "--python", str(folder / "bin" / "python"), f"{built.wheel}[traces]")
    return folder / "bin"


def bare_environment(commands: Path, **settings: str) -> dict[str, str]:
    """As little as a container gives: the commands of one environment, and settings."""
    return {"PATH": f"{commands}{os.pathsep}/usr/bin{os.pathsep}/bin", "LANG": "C.UTF-8", **settings}
