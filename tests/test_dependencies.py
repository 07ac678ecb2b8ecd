"""What the program depends on is what its code imports: nothing more, and nothing that only comes along."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("openapi", "handlers", "persistence", "worker", "channels", "flows", "relayboard", "console")
WITHOUT_IMPORT = {"tzdata": "zoneinfo reads it where the system has no time zones"}
WITH_OTHERS = {
    "uvicorn": "connexion[uvicorn] says which versions it takes",
    "openapi-spec-validator": "`python -m openapi.bundle`, a check of developers, imports it; no service does",
}
IN_NAMESPACE = {"google": ["google-auth"]}
"""What is meant by a package that several distributions share, of which others come along."""
EXTRAS = ("traces", "s3")
"""What a setting needs, and who does not use it need not install."""


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def declared() -> tuple[frozenset[str], frozenset[str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    def names(requirements: list[str]) -> frozenset[str]:
        return frozenset(canonical(re.split(r"[\[<>=~! ]", each)[0]) for each in requirements)

    extras = frozenset[str]().union(*(names(project["optional-dependencies"][name]) for name in EXTRAS))
    return names(project["dependencies"]), extras


def imported() -> Iterator[tuple[str, str]]:
    """The module at the top of each import of others, and the file."""
    for path in (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found = [each.name for each in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found = [node.module or ""]
            else:
                continue
            yield from ((name.partition(".")[0], str(path.relative_to(ROOT))) for name in found)


@cache
def used() -> dict[str, set[str]]:
    """The distributions whose modules are imported, with the files."""
    known = packages_distributions()
    files: dict[str, set[str]] = {}
    for module, path in imported():
        if module not in sys.stdlib_module_names and module not in FOLDERS:
            for name in IN_NAMESPACE.get(module) or known.get(module, [module]):
                files.setdefault(canonical(name), set()).add(path)
    return files


def test_every_dependency_is_imported() -> None:
    needed, extras = declared()

    # The driver for wheels is imported by the name that it shares with the one that is built from source.
    assert {name.removesuffix("-binary") for name in needed} - used().keys() - {"psycopg2"} == set(WITHOUT_IMPORT)
    assert "psycopg2-binary" in used()
    assert any(name.startswith("opentelemetry") for name in used())
    assert "boto3" in extras & used().keys()


def test_every_package_that_is_imported_is_a_dependency() -> None:
    needed, extras = declared()
    own = {"relayboard"}
    beside = {name for name in used() if name.startswith("opentelemetry")} | {"botocore", *WITH_OTHERS}

    assert {name: files for name, files in used().items() if name not in needed | extras | own | beside} == {}
