"""Which mutants there are, and a sample of them. The operators are those of Cosmic Ray."""

import difflib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

LEFT_OUT = ("core/ReplaceBinaryOperator_BitOr", "core/Variable")
"""`|` stands in annotations nearly always, where each mutant dies at the import; variables need a list of names."""
SPARED = ("slots",)
"""Keywords whose values are left as they are: slots save memory, and whatever works with them works without."""
UNCHANGED = {"name", "newline", "string", "fstring", "fstring_string", "fstring_start", "fstring_end", "endmarker"}
PUNCTUATION = {*"()[]{},.:;=", "->", "def", "return", "if", "else", "in", "for", "import", "from", "None", "class"}
"""What no operator that takes part changes, by types and by values of nodes: most of all nodes."""


@dataclass(frozen=True, order=True)
class Mutant:
    """The `occurrence`th place in a module where an operator fits; `line` counts from 1."""

    path: str
    line: int
    column: int
    operator: str
    occurrence: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.operator.removeprefix('core/')} {self.occurrence}"


def find_mutants(root: Path, paths: Sequence[str]) -> Iterator[Mutant]:
    """All mutants of these modules."""
    operators = {name: get_operator(name)() for name in sorted(operator_names()) if not name.startswith(LEFT_OUT)}
    for path in paths:
        tree = get_ast((root / path).read_text(encoding="utf-8"))
        nodes = [node for node in ast_nodes(tree) if not _is_unchanged(node)]
        for name, operator in operators.items():
            places = [(start, node) for node in nodes for start, _ in operator.mutation_positions(node)]
            for occurrence, ((line, column), node) in enumerate(places):
                if not _is_spared(node):
                    yield Mutant(path, line, column, name, occurrence)


def _is_unchanged(node: Any) -> bool:
    return node.type in UNCHANGED or getattr(node, "value", None) in PUNCTUATION


def _is_spared(node: Any) -> bool:
    argument = node.parent if node.type == "keyword" else None
    return argument is not None and argument.type == "argument" and argument.children[0].value in SPARED


def choose(mutants: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    """A sample in which each place of the code has the same chance, however many operators fit there."""
    chance = random.Random(seed)
    by_place: dict[tuple[str, int, int], list[Mutant]] = {}
    for mutant in sorted(mutants):
        by_place.setdefault((mutant.path, mutant.line, mutant.column), []).append(mutant)
    places = chance.sample(sorted(by_place), min(count, len(by_place)))
    return [chance.choice(by_place[place]) for place in places]


def modules_below(root: Path, folder: str) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in (root / folder).rglob("*.py"))


def mutate(source: str, mutant: Mutant) -> str:
    """The code with this change. Raises ValueError if there is no such place, or nothing that can be replaced there."""
    operator: Any = get_operator(mutant.operator)()
    try:
        changed = mutate_code(source, operator, mutant.occurrence)
    except AttributeError as error:  # of Cosmic Ray, which takes names with dots for names
        raise ValueError(f"nothing to replace: {mutant}") from error
    if changed is None or changed == source:
        raise ValueError(f"nothing to change: {mutant}")
    return str(changed)


def changed_lines(source: str, mutated: str) -> str:
    """The lines that a mutant changes, before and after."""
    lines = difflib.unified_diff(source.splitlines(), mutated.splitlines(), lineterm="", n=0)
    return "\n".join(line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---"))
