"""What must be learned anew after files changed. Sound: a test that ran no statement of a changed function takes the
same way as before, if what modules are outside of their functions is the same.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path, PurePosixPath

from tools.mutants.learning import ROOMS, Learned
from tools.mutants.statements import digest_at_import

IRRELEVANT = ("tools", "bench", "docs", "deploy")
"""What no test that judges runs."""
Digests = Mapping[str, tuple[str, str]]
"""Of each file: of the whole, and of what it is outside of its functions."""


def digests_of(tree: Path, before: Digests, judges: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Of the Python files of a tree, of tests only those that judge; `before` saves reading those again that are the
    same.
    """
    found = {}
    for path in sorted(tree.rglob("*.py")):
        name, source = path.relative_to(tree).as_posix(), path.read_bytes()
        if PurePosixPath(name).parts[0] not in IRRELEVANT and (not _is_test(name) or name.startswith((*judges,))):
            whole = sha256(source).hexdigest()
            known = before.get(name, ("", ""))
            outside = digest_at_import(source.decode()) if name.startswith(ROOMS) and known[0] != whole else known[1]
            found[name] = whole, outside
    return found


def files_to_learn(tree: Path, learned: Learned, now: Digests) -> set[str] | None:
    """The test files whose tests may run something else than before; None for all of them."""
    changed = {name for name in {*learned.digests, *now} if learned.digests.get(name) != now.get(name)}
    if not learned.tests:
        return None
    anew = {name for name in changed if _is_test(name)}
    helpers = {name for name in changed if name.startswith("tests/")} - anew
    code = changed - helpers - anew
    if any(not _is_in_functions(name, learned, now) for name in code):
        return None
    anew.update(_file_of(test) for test, run in learned.tests.items() if run.seen.keys() & code)
    if helpers:
        anew.update(_users_of(tree, helpers))
    return {name for name in anew if name in now}


def merge(learned: Learned, anew: Learned, files: Iterable[str], now: Digests) -> Learned:
    """What is known after the tests of these files were learned anew."""
    renewed = set(files)
    kept = {test: run for test, run in learned.tests.items() if _file_of(test) in now and _file_of(test) not in renewed}
    imports = {
        path: learned.imports.get(path, 0) * (learned.digests.get(path) == now.get(path)) | anew.imports.get(path, 0)
        for path in {*learned.imports, *anew.imports}
    }
    return Learned(kept | anew.tests, imports, dict(now))


def _is_in_functions(name: str, learned: Learned, now: Digests) -> bool:
    """Whether a file changed only in functions that were not called while modules were imported."""
    if not name.startswith(ROOMS) or name not in now or name not in learned.digests:
        return False
    return learned.digests[name][1] == now[name][1] and not learned.imports.get(name)


def _is_test(name: str) -> bool:
    return name.startswith("tests/") and PurePosixPath(name).name.startswith("test_")


def _file_of(test: str) -> str:
    return test.partition("::")[0]


def _users_of(tree: Path, helpers: set[str]) -> set[str]:
    """The test files that import one of these, or a module of tests that does, or have their fixtures from one."""
    files = [path.relative_to(tree).as_posix() for path in sorted((tree / "tests").rglob("*.py"))]
    imports = {name: set(_imported(tree / name)) for name in files}
    found, waiting = set(helpers), list(helpers)
    while waiting:
        used = waiting.pop()
        path = PurePosixPath(used)
        module = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
        folder = f"{path.parent}/" if path.name == "conftest.py" else None
        users = {name for name in files if module in imports[name] or (folder and name.startswith(folder))}
        waiting += users - found
        found |= users
    return {name for name in found if _is_test(name)}


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
