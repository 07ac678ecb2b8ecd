"""Samples stay as they were chosen, though code changes: a run that is ended goes on with the same mutants."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any

from tools.mutants.sampling import Mutant, changed_lines, choose, find_mutants, modules_below, mutate
from tools.mutants.verdicts import find_again


def read_sample(tree: Path, path: Path, folder: str, count: int, seed: int) -> Mapping[str, Any]:
    """The mutants of a sample and the code that they were chosen in, as a file keeps them; it is chosen if it is not
    there.
    """
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    name = f"{folder} {count} {seed}"
    if name not in kept:
        mutants = choose(list(find_mutants(tree, modules_below(tree, folder))), count, seed)
        sources = {each.path: (tree / each.path).read_text(encoding="utf-8") for each in mutants}
        kept[name] = {"mutants": list(map(astuple, mutants)), "sources": sources}
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(kept))
        unfinished.replace(path)
    sample: dict[str, Any] = kept[name]
    return sample


def find_chosen(tree: Path, sample: Mapping[str, Any], known: frozenset[str]) -> Iterator[tuple[str, Mutant]]:
    """The mutants of a sample in the code of today, with the names under which they were chosen, but for those of known
    names; those whose code is gone are left out.
    """
    for fields in sample["mutants"]:
        mutant, name = Mutant(*fields), str(Mutant(*fields))
        if name in known:
            continue
        found = _find(tree, mutant, sample["sources"][mutant.path])
        if found is not None:
            yield name, found


def _find(tree: Path, mutant: Mutant, source: str) -> Mutant | None:
    path = tree / mutant.path
    if path.exists() and path.read_text(encoding="utf-8") == source:
        return mutant
    try:
        change = changed_lines(source, mutate(source, mutant))
    except ValueError:
        return None
    return find_again(tree, {"mutant": str(mutant), "change": change})
