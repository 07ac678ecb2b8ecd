"""What a worker loads before it collects the tests."""

from importlib import import_module
from pathlib import Path


def load_share(root: Path, worker: int, workers: int) -> list[str]:
    """Loads every so manieth module of tests, other ones than other workers do; returns their names. A module that
    cannot be loaded ends it: collecting says why.
    """
    loaded = []
    for path in sorted((root / "tests").rglob("test_*.py"))[worker::workers]:
        name = ".".join(path.relative_to(root).with_suffix("").parts)
        try:
            import_module(name)
        except Exception:
            break
        loaded.append(name)
    return loaded
