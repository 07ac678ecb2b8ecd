"""Foreign packages that are found in the place of ours, as the names of ours are plain words."""

import importlib.util
from pathlib import Path

from relayboard.doctor.findings import PROBLEM, Finding, Findings

OURS = ("channels", "flows", "handlers", "openapi", "persistence", "worker")
ROOT = Path(__file__).parents[2]


def check_packages() -> Findings:
    """A problem for each of our packages that Python would load from somewhere else."""
    for name in OURS:
        found = importlib.util.find_spec(name)
        place = Path(found.origin).parent if found is not None and found.origin else None
        if place is None:
            yield Finding("packages", PROBLEM, f"the package {name} of Relayboard is missing: install Relayboard again")
        elif place.resolve() != (ROOT / name).resolve():
            yield Finding(
                "packages",
                PROBLEM,
                f"{place} is found in the place of Relayboard's own package {name}: take it off PYTHONPATH or "
                "uninstall it, best by giving Relayboard a virtual environment of its own",
            )
