"""Puts a mutant into a process that has imported its module: the functions that it changes get its code."""

import functools
import gc
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

PLAIN = (bool, int, float, str, bytes, Decimal, timedelta, tuple, frozenset)
Place = tuple[str, int, str]
"""Of code: its file, its first line and its qualified name."""


class CannotSwap(Exception):
    """The mutant changes what ran when its module was imported, or a function that nobody holds."""


def find_functions(root: Path) -> dict[Place, list[FunctionType]]:
    """All functions of the project that this process holds."""
    found: dict[Place, list[FunctionType]] = {}
    for each in gc.get_objects():
        if type(each) is FunctionType and each.__code__.co_filename.startswith(str(root)):
            found.setdefault(_place(each.__code__), []).append(each)
    return found


def forget_results(packages: Sequence[str]) -> None:
    """Empties the caches of functions in these packages: what they hold was made without the mutant."""
    for each in gc.get_objects():
        if isinstance(each, functools._lru_cache_wrapper) and each.__module__.split(".")[0] in packages:
            each.cache_clear()


def changed_functions(path: Path, mutated: str) -> list[tuple[CodeType, CodeType]]:
    """The outermost functions that a mutant changes: the code before and after. Raises CannotSwap."""
    before = compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True)
    after = compile(mutated, str(path), "exec", dont_inherit=True)
    return list(_changed(before, after))


def swap(changes: Sequence[tuple[CodeType, CodeType]], functions: Mapping[Place, Sequence[FunctionType]]) -> None:
    """Gives the functions their new code. Raises CannotSwap, and then may have changed some."""
    for before, after in changes:
        held = functions.get(_place(before), [])
        if not held:
            raise CannotSwap(f"nobody holds {before.co_qualname}")
        _swap_all(before, after, functions)


def changed_values(module: ModuleType, mutated: str) -> dict[str, object]:
    """The plain values at the top of a module that are others with a mutant. Raises CannotSwap if there are none, or
    the module cannot run again beside itself.
    """
    again = ModuleType(module.__name__)
    again.__dict__.update(__file__=module.__file__, __package__=module.__package__)
    try:
        exec(compile(mutated, str(module.__file__), "exec", dont_inherit=True), again.__dict__)
        found: dict[str, object] = {
            name: value
            for name, value in vars(again).items()
            if isinstance(value, PLAIN) and name in vars(module) and value != vars(module)[name]
        }
    except Exception as error:
        raise CannotSwap(str(error)) from error
    if not found:
        raise CannotSwap("no plain value is another")
    return found


def set_values(module: ModuleType, values: Mapping[str, object], packages: Sequence[str]) -> None:
    """Gives a module new values, and those that imported them by name."""
    for name, value in values.items():
        before = vars(module)[name]
        for each in list(sys.modules.values()):
            if each.__name__.split(".")[0] in packages and vars(each).get(name) is before:
                setattr(each, name, value)


def _swap_all(before: CodeType, after: CodeType, functions: Mapping[Place, Sequence[FunctionType]]) -> None:
    """The same in a function and in those that it has made already."""
    for each in functions.get(_place(before), []):
        try:
            each.__code__ = after
        except ValueError as error:
            raise CannotSwap(str(error)) from error
    for inner, changed in zip(_inner(before), _inner(after), strict=True):
        if inner != changed:
            _swap_all(inner, changed, functions)


def _changed(before: CodeType, after: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Below a module or a class: what both run at the import must be the same, but for their functions."""
    if _own_part(before) != _own_part(after) or len(_inner(before)) != len(_inner(after)):
        raise CannotSwap(f"it changes what runs at the import of {before.co_filename}")
    for inner, changed in zip(_inner(before), _inner(after), strict=True):
        if inner == changed:
            continue
        if inner.co_flags & inspect.CO_OPTIMIZED:
            yield inner, changed
        else:
            yield from _changed(inner, changed)


def _own_part(code: CodeType) -> tuple[object, ...]:
    constants = [repr(each) for each in code.co_consts if not isinstance(each, CodeType)]
    return code.co_code, constants, code.co_names


def _inner(code: CodeType) -> list[CodeType]:
    return [each for each in code.co_consts if isinstance(each, CodeType)]


def _place(code: CodeType) -> Place:
    return code.co_filename, code.co_firstlineno, code.co_qualname
