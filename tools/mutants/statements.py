"""Which statements of the project run: its functions are compiled with a mark before each statement, when they are
imported for this. That costs tests less than any profiler, and all threads leave their marks.
"""

import ast
import builtins
import sys
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import NamedTuple

MARKS = "__marks_of_statements__"
DIGITS = bytes([48, 49]) + bytes(254)
"""The marks 0 and 1 as digits, to read many of them as one number."""
PARTS = ("body", "orelse", "finalbody", "handlers", "cases")
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Statement(NamedTuple):
    """A statement in a function: its lines, and the names that it uses itself, without the statements in it."""

    line: int
    last_line: int
    names: frozenset[str]


def list_statements(source: str) -> list[Statement]:
    """All statements in functions; their numbers are their places here."""
    return [
        Statement(each.lineno, each.end_lineno or each.lineno, frozenset(_names(each)))
        for each in _in_functions(ast.parse(source).body, False)
    ]


def find_statement(statements: Sequence[Statement], line: int) -> int | None:
    """The number of the innermost statement at a line; None if what stands there runs at the import."""
    around = [number for number, each in enumerate(statements) if each.line <= line <= each.last_line]
    return max(around, key=lambda number: statements[number].line, default=None)


def names_at_import(source: str) -> frozenset[str]:
    """The names that a module uses outside of its functions: in values, classes, decorators and defaults."""
    return frozenset(_names_outside(ast.parse(source).body))


def names_made_at(source: str, line: int) -> list[str]:
    """What the code outside of functions makes at a line: the function or the class, and an attribute of it, or the
    names of a value.
    """
    found: list[str] = []
    body: Sequence[ast.AST] = ast.parse(source).body
    while each := next((each for each in body if _first_line(each) <= line <= _last_line(each)), None):
        if isinstance(each, Function | ast.ClassDef):
            found.append(each.name)
        elif isinstance(each, ast.Assign | ast.AnnAssign):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            found += [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
        body = [] if isinstance(each, Function) else [inner for part in _parts(each) for inner in part]
    return found


def digest_at_import(source: str) -> str:
    """Of all that a module is but for the bodies of its functions."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, Function):
            node.body = [ast.Pass()]
    return sha256(ast.dump(tree).encode()).hexdigest()


class Marks:
    """The marks of all modules that were imported with them, by their paths below a root."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._marks = bytearray()
        self._places: dict[str, tuple[int, int]] = {}
        setattr(builtins, MARKS, self._marks)

    def compile(self, path: Path) -> CodeType:
        """The code of a module that leaves marks."""
        tree = ast.parse(path.read_bytes())
        begin = len(self._marks)
        body: list[ast.AST] = [*tree.body]  # functions stand deeper: nothing is put between these
        count = _mark(body, False, begin) - begin
        self._marks.extend(bytes(count))
        self._places[path.relative_to(self._root).as_posix()] = begin, count
        ast.fix_missing_locations(tree)
        return compile(tree, str(path), "exec", dont_inherit=True)

    def take(self) -> dict[str, int]:
        """The statements that ran since the last call: the bits of a number for each module of which one did."""
        found = bytes(self._marks)
        self._marks[:] = bytes(len(found))
        parts = ((path, found[begin : begin + count]) for path, (begin, count) in self._places.items())
        return {path: int(part.translate(DIGITS)[::-1], 2) for path, part in parts if 1 in part}


class MarkingFinder(MetaPathFinder):
    """Finds the modules of some packages, and has them leave marks."""

    def __init__(self, packages: Sequence[str], marks: Marks) -> None:
        self._packages, self._marks = packages, marks

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in self._packages:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _MarkingLoader(spec.loader.name, spec.loader.path, self._marks)
        return spec

    def enter(self) -> None:
        sys.meta_path.insert(0, self)


class _MarkingLoader(SourceFileLoader):
    def __init__(self, name: str, path: str, marks: Marks) -> None:
        super().__init__(name, path)
        self._marks = marks

    def get_code(self, fullname: str) -> CodeType:
        return self._marks.compile(Path(self.get_filename(fullname)))


def _parts(statement: ast.AST) -> Iterator[list[ast.AST]]:
    """The lists of statements in a statement: branches, handlers, cases."""
    for part in PARTS:
        found = getattr(statement, part, None)
        if isinstance(found, list):
            yield found


def _in_functions(body: Sequence[ast.AST], is_in_function: bool) -> Iterator[ast.stmt]:
    """In the order of `_mark`: each before those in it."""
    for place, each in enumerate(body):
        if is_in_function and isinstance(each, ast.stmt) and not _is_docstring(place, each):
            yield each
        for part in _parts(each):
            yield from _in_functions(part, is_in_function or isinstance(each, Function))


def _mark(body: list[ast.AST], is_in_function: bool, number: int) -> int:
    """Puts a mark before each statement in functions, and returns the number that the next one gets."""
    marked: list[ast.AST] = []
    for place, each in enumerate(body):
        if is_in_function and isinstance(each, ast.stmt) and not _is_docstring(place, each):
            mark = ast.parse(f"{MARKS}[{number}] = 1").body[0]
            marked.append(ast.copy_location(mark, each))
            number += 1
        for part in _parts(each):
            number = _mark(part, is_in_function or isinstance(each, Function), number)
        marked.append(each)
    body[:] = marked
    return number


def _first_line(node: ast.AST) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min(getattr(each, "lineno", 1) for each in [node, *decorators])


def _last_line(node: ast.AST) -> int:
    return getattr(node, "end_lineno", None) or _first_line(node)


def _is_docstring(place: int, statement: ast.stmt) -> bool:
    return place == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _names(statement: ast.AST) -> Iterator[str]:
    """Without those of the statements in it."""
    inner = {id(each) for part in _parts(statement) for each in part}
    waiting = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        waiting += [each for each in ast.iter_child_nodes(node) if id(each) not in inner]


def _names_outside(body: Sequence[ast.AST]) -> Iterator[str]:
    for each in body:
        if isinstance(each, Function):
            values: list[ast.AST] = [*each.decorator_list, *each.args.defaults]
            for value in [*values, *(value for value in each.args.kw_defaults if value is not None)]:
                yield from _names(value)
            continue
        if isinstance(each, ast.AnnAssign):
            yield from _names(each.value) if each.value is not None else ()
            continue
        yield from _names(each)
        for part in _parts(each):
            yield from _names_outside(part)
