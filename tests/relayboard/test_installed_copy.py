"""An installed wheel is complete, and runs even if files in the working directory have the names of its modules."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.console_script import PATIENCE_SECONDS, make_environment, started
from tests.relayboard.test_starting import LISTENING, TRAPS, check_calm, wait_until_ready

ROOT = Path(__file__).parents[2]
PACKAGES = ("openapi", "handlers", "persistence", "worker", "channels", "flows", "relayboard")
BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
RUN = "import sys; from relayboard.cli import main; sys.exit(main())"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this source, unpacked as an installer does."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, source / name)
    subprocess.run(
        [sys.executable, "-P", "-c", BUILD, str(built)],
        cwd=source,
        check=True,
        capture_output=True,
        timeout=PATIENCE_SECONDS,
    )
    (wheel,) = built.glob("*.whl")
    site = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


def test_the_wheel_holds_every_file_of_the_packages(site: Path) -> None:
    files = {
        path.relative_to(ROOT)
        for name in PACKAGES
        for path in (ROOT / name).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.name not in (".DS_Store", "README.md")
    }

    assert sorted(str(path) for path in files if not (site / path).exists()) == []


def test_an_installed_service_runs_where_files_are_called_like_its_parts(site: Path, tmp_path: Path) -> None:
    for name in TRAPS:
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name}.py of the working directory was imported')\n")
    environment = {**make_environment(), "PYTHONPATH": str(site)}
    command = [sys.executable, "-P", "-c", RUN]
    with started("serve", "--port", "0", folder=tmp_path, environment=environment, command=command) as running:
        wait_until_ready(running.wait_for(LISTENING).group(1))
        children = _modules_of(running.process.pid)
        assert running.stop() == 0

    assert children and all(str(site) in each for each in children)
    check_calm(running)


def _modules_of(parent: int) -> list[str]:
    """The environment that each child was started with says which copy it runs."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            status = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            if int(status[1]) == parent:
                found.append((entry / "environ").read_text())
        except (OSError, IndexError):
            continue
    return found
