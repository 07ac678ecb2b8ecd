"""Puts a mutant into a process that has imported its module: the functions that it changes get its code."""

import gc
import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

PLAIN = (bool, int, float, str, bytes, Decimal, timedelta, re.Pattern, type(None))
DEEPEST = 3
FROZEN = {"__setattr__", "__delattr__"}
GONE = object()
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


def changed_functions(path: Path, source: str, mutated: str) -> list[tuple[CodeType, CodeType]]:
    """The outermost functions that a mutant changes: the code before and after. Raises CannotSwap."""
    before = compile(source, str(path), "exec", dont_inherit=True)
    after = compile(mutated, str(path), "exec", dont_inherit=True)
    return list(_changed(before, after))


def swap(changes: Sequence[tuple[CodeType, CodeType]], functions: Mapping[Place, Sequence[FunctionType]]) -> None:
    """Gives the functions their new code. Raises CannotSwap, and then may have changed some."""
    for before, after in changes:
        held = functions.get(_place(before), [])
        if not held:
            raise CannotSwap(f"nobody holds {before.co_qualname}")
        _swap_all(before, after, functions)


class Change(NamedTuple):
    """What a mutant changes outside of functions: an attribute of a module, a class or a function."""

    owner: object
    name: str
    value: object


def changed_values(module: ModuleType, source: str, mutated: str) -> list[Change]:
    """The plain values at the top of a module, in its classes and among the defaults of its functions that are others
    with a mutant. Raises CannotSwap if there are none, or the module cannot run again beside itself; ImportError if it
    can, but not with the mutant.
    """
    try:
        before = _run_beside(module, source)
    except Exception as error:
        raise CannotSwap(str(error)) from error
    try:
        after = _run_beside(module, mutated)
    except Exception as error:
        raise ImportError(str(error)) from error
    found = list(_compare(module, before, after, 0))
    if not found:
        raise CannotSwap("no plain value is another")
    return found


def set_values(changes: Sequence[Change], packages: Sequence[str]) -> bool:
    """Makes the changes, in modules that imported a value by its name too. Returns whether that is all that the mutant
    changes: classes below a changed one have taken its values when they were made.
    """
    is_all = True
    for owner, name, value in changes:
        if isinstance(owner, ModuleType):
            before = vars(owner)[name]
            for each in list(sys.modules.values()):
                if each.__name__.split(".")[0] in packages and vars(each).get(name) is before:
                    setattr(each, name, value)
            continue
        if value is GONE:
            delattr(owner, name)
        else:
            setattr(owner, name, value)
        is_all = is_all and not (isinstance(owner, type) and owner.__subclasses__())
    return is_all


def _run_beside(module: ModuleType, source: str) -> ModuleType:
    again = ModuleType(module.__name__)
    again.__dict__.update(__file__=module.__file__, __package__=module.__package__)
    exec(compile(source, str(module.__file__), "exec", dont_inherit=True), again.__dict__)
    return again


def _compare(present: Any, before: Any, after: Any, depth: int) -> Iterator[Change]:
    """The changes between two modules or classes, for a third that is present."""
    gone = vars(before).keys() - vars(after).keys()
    if gone - FROZEN or vars(after).keys() - vars(before).keys():
        raise CannotSwap("it has other attributes")
    yield from (Change(present, name, GONE) for name in gone)
    for name, value in list(vars(after).items()):
        if name == "__hash__" and value is None and vars(before).get(name) is not None:
            yield Change(present, name, None)
        if name not in vars(before) or name not in vars(present) or name in ("__dict__", "__slots__", "__weakref__"):
            continue
        old, now = vars(before)[name], vars(present)[name]
        if isinstance(value, type) and value.__module__ == after.__name__ and depth < DEEPEST:
            if isinstance(old, type) and isinstance(now, type):
                yield from _compare(now, old, value, depth + 1)
        elif _is_plain(value):
            if _is_plain(old) and repr(old) != repr(value):
                yield Change(present, name, value)
        elif isinstance(value, FunctionType) and not isinstance(old, FunctionType) and _function_of(now) is not None:
            yield Change(present, name, _function_of(now))  # without its decorator
        else:
            yield from _compare_defaults(_function_of(now), _function_of(old), _function_of(value))


def _compare_defaults(
    present: FunctionType | None, before: FunctionType | None, after: FunctionType | None
) -> Iterator[Change]:
    if present is None or before is None or after is None:
        return
    if before.__code__.co_name != after.__code__.co_name or present.__code__.co_name != after.__code__.co_name:
        return
    for name in ("__defaults__", "__kwdefaults__"):
        pairs = list(zip(_values(getattr(before, name)), _values(getattr(after, name)), strict=False))
        changed = [new for old, new in pairs if _is_plain(old) and _is_plain(new) and repr(old) != repr(new)]
        if changed and len(_values(getattr(present, name))) == len(pairs):
            kept = getattr(present, name)
            values = [
                new if _is_plain(old) and _is_plain(new) and repr(old) != repr(new) else here
                for (old, new), here in zip(pairs, _values(kept), strict=True)
            ]
            yield Change(present, name, dict(zip(kept, values, strict=True)) if isinstance(kept, dict) else (*values,))


def _values(defaults: Any) -> list[Any]:
    return list(defaults.values() if isinstance(defaults, dict) else defaults or ())


def _function_of(value: object) -> FunctionType | None:
    found = inspect.unwrap(value) if callable(value) else getattr(value, "__func__", getattr(value, "fget", value))
    return found if isinstance(found, FunctionType) else None


def _is_plain(value: object) -> bool:
    """Whether a value is nothing but data, which is the same whoever holds it."""
    if isinstance(value, dict):
        return all(_is_plain(each) for pair in value.items() for each in pair)
    if isinstance(value, tuple | list | set | frozenset):
        return type(value) in (tuple, list, set, frozenset) and all(_is_plain(each) for each in value)
    return isinstance(value, PLAIN)


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
