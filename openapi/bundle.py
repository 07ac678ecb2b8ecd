"""Bundling of the hand-written contract files into one self-contained OpenAPI document per generation.

A named part of another file (`schemas/groups.yaml#/Group`) becomes a component of the bundle
(`#/components/schemas/Group`), so that SDK generators keep its name. Path items and callbacks are inlined.
"""

import sys
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from openapi.cached import digest_sources, read_cached, write_cached

GENERATIONS = ("v1", "v2", "relay", "chat")
INLINED = ("callbacks",)
"""Shared parts whose references client generators do not follow."""
HTTP_METHODS = ("get", "post", "put", "patch", "delete")
YAML_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The loader in C is ten times faster; without it, the result is the same."""

Document = dict[str, Any]


class ContractError(Exception):
    """A contract file cannot be bundled: unresolved reference or two different parts with one name."""


def contract_folder() -> Path:
    """The folder that holds the contract files."""
    return Path(str(files("openapi")))


@cache
def _read_yaml(path: Path) -> Any:
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=YAML_LOADER)
    except FileNotFoundError as error:
        raise ContractError(f"no contract file {path.name}") from error


@cache
def _find(folder: Path, name: str) -> Path:
    return (folder / name).resolve()


def _component_kind(path: Path) -> str | None:
    """The section under components that parts of this file belong to; None for path items and callbacks."""
    if path.parent.name == "schemas":
        return "schemas"
    return path.stem if path.parent.name == "shared" and path.stem not in INLINED else None


class _Bundler:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.components: dict[str, dict[str, Any]] = {}
        self.origin: dict[tuple[str, str], Path] = {}

    def bundle(self) -> Document:
        document: Document = self._resolve(_read_yaml(self.root), self.root)
        sections = document.setdefault("components", {})
        for kind, parts in self.components.items():
            sections.setdefault(kind, {}).update(dict(sorted(parts.items())))
        return document

    def _resolve(self, node: object, here: Path) -> Any:
        """A copy of the node without references to other files."""
        if isinstance(node, list):
            return [self._resolve(item, here) for item in node]
        if not isinstance(node, dict):
            return node
        reference = node.get("$ref")
        if isinstance(reference, str):
            return self._follow(reference, here)
        return {key: self._resolve(value, here) for key, value in node.items()}

    def _follow(self, reference: str, here: Path) -> Any:
        file_name, _, pointer = reference.partition("#")
        target = _find(here.parent, file_name) if file_name else here
        if target == self.root and pointer.startswith("/components/"):
            return {"$ref": reference}
        kind = _component_kind(target)
        if kind is None:
            return self._resolve(self._part(target, pointer), target)
        name = pointer.removeprefix("/")
        self._take(kind, name, target)
        return {"$ref": f"#/components/{kind}/{name}"}

    def _take(self, kind: str, name: str, target: Path) -> None:
        known = self.origin.setdefault((kind, name), target)
        if known != target:
            raise ContractError(f"two {kind} are called {name}: in {known.name} and in {target.name}")
        parts = self.components.setdefault(kind, {})
        if name not in parts:
            parts[name] = None  # registered before its own references are followed, because they may lead back here
            parts[name] = self._resolve(self._part(target, "/" + name), target)

    @staticmethod
    def _part(target: Path, pointer: str) -> Any:
        node = _read_yaml(target)
        for key in filter(None, pointer.split("/")):
            key = key.replace("~1", "/").replace("~0", "~")
            if not isinstance(node, dict) or key not in node:
                raise ContractError(f"{target.name} has no part {pointer}")
            node = node[key]
        return node


def bundle_root(root: Path) -> Document:
    """The whole document of a root file. Raises ContractError if a reference leads nowhere or a name is used twice."""
    return _Bundler(root.resolve()).bundle()


@cache
def _bundled() -> dict[str, Document]:
    """The documents of all generations, which no one may change."""
    folder = contract_folder()
    digest = digest_sources(folder)
    documents = read_cached(digest)
    if documents is None:
        documents = {generation: bundle_root(folder / generation / "openapi.yaml") for generation in GENERATIONS}
        write_cached(digest, documents)
    return documents


def bundle(generation: str) -> Document:
    """The whole document of a generation (`v1`, `v2`, `relay`, `chat`), with the `x-` keys that drive the service.

    Raises ContractError if a reference leads nowhere or a name is used twice.
    """
    document: Document = _copy(_bundled()[generation])
    return document


def _copy(node: object) -> Any:
    """As `copy.deepcopy` does it, in a third of the time: nothing stands in a bundle twice."""
    if isinstance(node, list):
        return [_copy(item) for item in node]
    return {key: _copy(value) for key, value in node.items()} if isinstance(node, dict) else node


FOR_GENERATORS = ("x-enum-varnames",)
"""What generators of clients read: names for words of signs, of which no name can be made."""


def published(generation: str) -> Document:
    """The document as served to clients: the bundle without the `x-` keys that drive the service."""
    document: Document = _without_extensions(_bundled()[generation])
    return document


def _without_extensions(node: object) -> Any:
    if isinstance(node, list):
        return [_without_extensions(item) for item in node]
    if isinstance(node, dict):
        kept = {key: value for key, value in node.items() if not str(key).startswith("x-") or key in FOR_GENERATORS}
        return {key: _without_extensions(value) for key, value in kept.items()}
    return node


def operations(document: Document) -> Iterator[tuple[str, str, Document]]:
    """Every operation of a document as (path, lower-case method, operation)."""
    for path, item in document["paths"].items():
        for method in HTTP_METHODS:
            if method in item:
                yield path, method, item[method]


def parameters(document: Document) -> Iterator[Document]:
    """Every parameter once: named parameters and those defined in an operation."""
    yield from document["components"].get("parameters", {}).values()
    for _, _, operation in operations(document):
        yield from (part for part in operation.get("parameters", ()) if "$ref" not in part)


def main(arguments: list[str]) -> int:
    """Bundle and validate generations: `python -m openapi.bundle [v1] [v2] [relay] [chat]`."""
    from openapi_spec_validator import validate  # noqa: PLC0415  # heavy, and no service needs it

    for generation in arguments or GENERATIONS:
        document = published(generation)
        validate(document)
        parts = ", ".join(f"{len(items)} {kind}" for kind, items in document["components"].items())
        sys.stdout.write(f"{generation}: {len(list(operations(document)))} operations, {parts}: valid\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
