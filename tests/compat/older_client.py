"""The last published client that speaks generation 1, installed beside the newer one of the same name."""

import importlib
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
PACKAGE = "temba_client"
UNSERVED = {"get_flow_definition", "get_results", "save_flow_definition"}
"""Methods for addresses that the interface specification does not name."""


def load_older_client(config: pytest.Config) -> ModuleType:
    """The module `temba_client.v1` of the release that pyproject.toml pins, installed once into pytest's cache."""
    pins: list[str] = tomllib.loads(PROJECT.read_text())["tool"]["relayboard"]["older-client"]
    cache = config.cache
    assert cache is not None
    folder = cache.mkdir("older-client-" + "-".join(pins).replace("=", ""))
    if not (folder / PACKAGE).is_dir():
        _install(pins, folder)
    return _import_from(folder)


def _install(pins: list[str], folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check"]
    subprocess.run([*command, "--target", str(folder), *pins], check=True)


def _import_from(folder: Path) -> ModuleType:
    """Import although there is another package of the same name, which other modules continue to use."""
    newer = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == PACKAGE}
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(f"{PACKAGE}.v1")
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
            del sys.modules[name]
        sys.modules.update(newer)
