"""`python -m tools.house`: the size of the house, as a table: files, lines, import chains, words of our own, and how
many places change the two tables that everything depends on. With `--beside FOLDER`, also of another checkout.
"""

import argparse
import ast
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRODUCT = ("openapi", "handlers", "persistence", "flows", "channels", "worker", "relayboard")
SMALL, LARGE, SCREEN = 40, 500, 60
CHANGES = re.compile(r"\bupdate\((message|contact)\)")
HISTORY = "persistence/migrations/versions/"
ITSELF = {"self", "cls", "super()"}
DOCUMENTED = {"_asdict", "_exit", "_fields", "_make", "_replace"}


class House:
    """The Python files of a checkout, with their lines, imports and functions."""

    def __init__(self, root: Path) -> None:
        names = subprocess.run(["git", "ls-files", "*.py"], cwd=root, check=True, capture_output=True, text=True)
        self.root = root
        self.texts = {name: (root / name).read_text(encoding="utf-8") for name in names.stdout.split()}
        self.product = {name: text for name, text in self.texts.items() if name.split("/")[0] in PRODUCT}
        self._modules = {name[:-3].replace("/", ".").removesuffix(".__init__"): name for name in self.product}

    @cached_property
    def _trees(self) -> dict[str, ast.Module]:
        return {name: ast.parse(text) for name, text in self.product.items()}

    def within(self, folder: str) -> dict[str, str]:
        return {name: text for name, text in self.texts.items() if name.startswith(f"{folder}/")}

    def longest_chain(self, package: str) -> int:
        """The most modules of a package of which each imports the next one when it is loaded."""

        @cache
        def length(module: str) -> int:
            return 1 + max(map(length, self._imported_by(module, package)), default=0)

        return max(length(each) for each in self._modules if each.split(".")[0] == package)

    def _imported_by(self, module: str, package: str) -> list[str]:
        tree = self._trees[self._modules[module]]
        found = {name for each in _loaded(tree.body) for name in self._named(each)}
        return sorted(name for name in found if name.split(".")[0] == package and name != module)

    def _named(self, statement: ast.Import | ast.ImportFrom) -> Iterator[str]:
        for each in statement.names:
            whole = f"{statement.module}.{each.name}" if isinstance(statement, ast.ImportFrom) else each.name
            above = whole.rpartition(".")[0]
            yield from [whole] if whole in self._modules else [above] if above in self._modules else []

    def functions_over(self, lines: int) -> list[str]:
        """Each with its file."""
        long = (name for name, text in self.product.items() if text.count("\n") >= lines)
        found = ((name, each) for name in long for each in _functions(ast.parse(self.product[name]).body))
        return [f"{name}: {each.name}" for name, each in found if (each.end_lineno or 0) - each.lineno >= lines]

    def places_that_change(self, table: str) -> int:
        texts = (text for name, text in self.product.items() if not name.startswith(HISTORY))
        return sum(found == table for text in texts for found in CHANGES.findall(text))

    def private_names(self) -> set[str]:
        """Attributes with a leading underscore that are those of other packages: nothing defines them in the file that
        uses them, or in the product if the object itself does.
        """
        defined = {name: set(_defined(tree)) for name, tree in self._trees.items()}
        everywhere = set().union(*defined.values())
        used = [(name, node) for name, tree in self._trees.items() for node in ast.walk(tree)]
        return {
            node.attr
            for name, node in used
            if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.endswith("__")
            if node.attr not in (everywhere if ast.unparse(node.value) in ITSELF else defined[name]) | DOCUMENTED
        }

    def words(self) -> int:
        """The words of our own that the architecture explains, each a row of the table under that heading."""
        page = (self.root / "docs" / "architecture.md").read_text(encoding="utf-8")
        rows = [line for line in page.partition("## Words")[2].splitlines() if line.startswith("|")]
        return len(rows) - 2


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _functions(body: Sequence[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for each in body:
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield each
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from _functions(getattr(each, part, ()))


def _loaded(body: Sequence[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    for each in body:
        if isinstance(each, (ast.Import, ast.ImportFrom)):
            yield each
        elif isinstance(each, ast.If) and "TYPE_CHECKING" not in ast.unparse(each.test):
            yield from _loaded(each.body)


def _lines(texts: Mapping[str, str]) -> list[int]:
    return [text.count("\n") for text in texts.values()]


def measure(house: House) -> dict[str, int]:
    """The figures by what they say."""
    product, persistence = _lines(house.product), house.within("persistence")
    doors = [name for name in persistence if name.count("/") == 1 and not name.endswith("__init__.py")]
    return {
        "product: lines": sum(product),
        "product: files": len(product),
        "product: median lines of a file": round(statistics.median(product)),
        f"product: files under {SMALL} lines": sum(each < SMALL for each in product),
        f"product: files over {LARGE} lines": sum(each > LARGE for each in product),
        f"product: functions over {SCREEN} lines": len(house.functions_over(SCREEN)),
        "persistence: lines": sum(_lines(persistence)),
        "persistence: files": len(persistence),
        "persistence: files at its door": len(doors),
        "persistence: longest import chain": house.longest_chain("persistence"),
        "places that update messages": house.places_that_change("message"),
        "places that update contacts": house.places_that_change("contact"),
        "private names of other packages": len(house.private_names()),
        "words of our own": house.words(),
        **{f"{folder}: lines": sum(_lines(house.within(folder))) for folder in ("tests", "bench", "tools")},
        **{f"{folder}: files": len(house.within(folder)) for folder in ("tests", "bench", "tools")},
    }


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.house", description=__doc__)
    parser.add_argument("--beside", type=Path, help="folder of another checkout")
    options = parser.parse_args(arguments)
    now = measure(House(ROOT))
    before = measure(House(options.beside)) if options.beside else {}
    head = ["What", *(["Before"] if before else []), "Now"]
    rows = [[what, *([f"{before[what]:,}"] if before else []), f"{number:,}"] for what, number in now.items()]
    for row in (head, ["---"] * len(head), *rows):
        sys.stdout.write(f"| {' | '.join(row)} |\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
