"""`python -m bench.compare FOLDER COMMAND...`: a benchmark of this working copy and of an older one in FOLDER, in turns
in one run. Each round runs the command once in both folders, with the interpreter of this one; the first goes first in
every other round. Prints for each figure that the command prints the medians of both, and what is now of before:

    python -m bench.compare ../before --rounds 3 bench.fairness flood --count 20 --flood 500
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")


def main(arguments: Sequence[str], say: Callable[[str], object] = print) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.compare", description=__doc__)
    parser.add_argument("before", type=Path, help="folder of the older working copy")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("module", help="the benchmark, as bench.replies")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what it is given")
    options = parser.parse_args(arguments)
    folders = [("before", options.before.resolve()), ("now", Path.cwd())]
    found: dict[str, list[dict[str, float]]] = {name: [] for name, _ in folders}
    for number in range(options.rounds):
        for name, folder in folders if number % 2 else reversed(folders):
            found[name].append(measure(folder, [options.module, *options.arguments]))
            say(f"round {number + 1}, {name}: {json.dumps(found[name][-1])}")
    for figure, before, now in compare(found["before"], found["now"]):
        say(f"{figure}: {before:g} before, {now:g} now" + (f", {now / before:.2f} times" if before else ""))
    return 0


def measure(folder: Path, command: Sequence[str]) -> dict[str, float]:
    """The figures that a benchmark prints when it is run in a working copy. Raises CalledProcessError."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    run = [sys.executable, "-m", *command]
    printed = subprocess.run(run, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    return dict(read_figures(printed))


def read_figures(printed: str) -> Iterator[tuple[str, float]]:
    """The numbers of a JSON document by their keys, or those of sentences by what the sentence says without them."""
    try:
        yield from _read_values("", json.loads(printed))
    except json.JSONDecodeError:
        for line in printed.splitlines():
            for place, number in enumerate(NUMBER.findall(line), start=1):
                yield f"{NUMBER.sub('#', line)} [{place}]", float(number.replace(",", ""))


def compare(
    before: Sequence[Mapping[str, float]], now: Sequence[Mapping[str, float]]
) -> Iterator[tuple[str, float, float]]:
    """Each figure that both have, with the medians of its rounds."""
    for figure in now[0]:
        if all(figure in each for each in (*before, *now)):
            old, new = (statistics.median(each[figure] for each in rounds) for rounds in (before, now))
            yield figure, old, new


def _read_values(name: str, value: object) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _read_values(f"{name}.{key}".lstrip("."), each)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, float(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
