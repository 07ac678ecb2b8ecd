"""Reads files of flows: one definition, an export file with several, as JSON or YAML, or a folder for version control,
which has a YAML file for each flow with its tests, and `workspace.yaml` with what else an export file has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import yaml

from flows.definition import DefinitionError, Flow, load
from flows.definition.exports import ExportError, ExportFile, read_export
from flows.definition.raw_parts import TESTS, UI
from flows.words import snakify
from relayboard.refusal import CommandFailed

LARGEST_BYTES = 64 * 1024**2
MOST_VALUES = 8_000_000
"""A file of empty lists takes fifty times its size in memory: so many values take half a gigabyte."""
REST = "workspace.yaml"
SUFFIXES = (".yaml", ".yml")
DEEPEST = 200
MOST_FILES = 5_000
FIRST = ("name", "uuid", "type", "language", "spec_version", TESTS)
"""What a reader looks for first in a flow; what only the canvas needs stands last."""
PARTS = ("campaigns", "triggers", "fields", "groups")
LONGEST_LINE = 1_000_000
"""Texts are not broken into lines, so that a change of a word is a change of a line."""
OTHER_BREAKS = frozenset("\r\x85\u2028\u2029\ufeff")
"""Characters that end a line, or are left out, unless they are escaped."""
TAG = "tag:yaml.org,2002:"
NOT_TEXTS = {
    "null": (r"(?:null|~|)\Z", "n~"),
    "bool": (r"(?:true|false)\Z", "tf"),
    "int": (r"-?(?:0|[1-9][0-9]*)\Z", "-0123456789"),
    "float": (r"-?(?:0|[1-9][0-9]*)\.[0-9]+(?:[eE][-+][0-9]+)?\Z", "-0123456789"),
}
"""As in JSON: `yes`, `012` and dates are texts, also without quotes."""


def read_document(path: Path) -> Any:
    """What a file or a folder of flows says; raises CommandFailed."""
    if path.is_dir():
        return read_folder(path)
    content = read_content(path)
    if path.suffix in SUFFIXES:
        return read_yaml(path, content)
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise CommandFailed(f"{path} is not JSON: {error}") from error


def read_content(path: Path) -> bytes:
    """The bytes of a file; raises CommandFailed. No more of it is read than it may have, whatever it is."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise CommandFailed(f"{path} cannot be read: {error.strerror}") from error
    if len(content) > LARGEST_BYTES:
        raise CommandFailed(f"{path} has more than {LARGEST_BYTES // 1024**2} MiB: divide it into several files")
    if sum(map(content.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise CommandFailed(f"{path} has more than {MOST_VALUES:,} values: divide it into several files")
    return content


def as_export(document: object) -> ExportFile:
    """An export file, or one definition as an export file that contains only it; raises CommandFailed."""
    try:
        return read_export(document)
    except ExportError as error:
        raise CommandFailed(str(error)) from error


def choose_flow(content: ExportFile, wanted: str | None) -> Flow:
    """The flow with a UUID or name, by default the first one; raises CommandFailed."""
    for definition in content.flows:
        if wanted is None or wanted.lower() in (definition.get("uuid"), str(definition.get("name")).lower()):
            try:
                return load(definition)
            except DefinitionError as error:
                raise CommandFailed(str(error)) from error
    raise CommandFailed(f"there is no flow {wanted} in the file" if wanted else "there is no flow in the file")


class _Loader(yaml.CSafeLoader):
    """Reads what JSON can say."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.constructor.ConstructorError(None, None, f"{key!r} must be in quotes", key_node.start_mark)
            if key in made:
                raise yaml.constructor.ConstructorError(None, None, f"{key} is there twice", key_node.start_mark)
            made[key] = self.construct_object(value_node, deep=deep)
        return made


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, and nothing as a reference to what was written before."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _write_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if OTHER_BREAKS & set(text) else "|" if "\n" in text else None
    return dumper.represent_scalar(f"{TAG}str", text, style=style)


_Loader.yaml_implicit_resolvers = {}  # instead of those that the class inherits
for _name, (_pattern, _first) in NOT_TEXTS.items():
    _Loader.add_implicit_resolver(f"{TAG}{_name}", re.compile(_pattern), [*_first, *([""] if _name == "null" else [])])
_Dumper.add_representer(str, _write_text)


def write_folder(folder: Path, document: Mapping[str, Any]) -> dict[str, list[str]]:
    """Writes an export file as a folder; a flow that is there already keeps its file. Returns the names of the files
    that were `written`, and of those of other flows, which were `left`. Raises CommandFailed.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = {
            str(flow.get("uuid")): path for path in _list_files(folder) if path.name != REST for flow in [_parse(path)]
        }
        free = {path.name for path in there.values()} | {REST}
        written = []
        for flow in document["flows"]:
            path = there.pop(flow["uuid"], None) or folder / _name_file(flow, free)
            free.add(path.name)
            path.write_text(_write(_raise_tests(flow)), encoding="utf-8")
            written.append(path.name)
        (folder / REST).write_text(_write({k: v for k, v in document.items() if k != "flows"}), encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{error.filename or folder} cannot be written: {error.strerror}") from error
    return {"written": [*written, REST], "left": sorted(path.name for path in there.values())}


def read_folder(folder: Path) -> dict[str, Any]:
    """The export file that a folder says; raises CommandFailed."""
    rest: dict[str, Any] = {"version": "13", "site": "", **{part: [] for part in PARTS}}
    flows = []
    for path in _list_files(folder):
        read = _parse(path)
        if path.name == REST:
            rest |= read
        elif "nodes" in read:
            flows.append(_lower_tests(read))
        else:
            raise CommandFailed(f"{path} is not a flow: it has no nodes")
    if not flows and not any(rest[part] for part in PARTS):
        raise CommandFailed(f"{folder} has no flows")
    return {**rest, "flows": flows}


def _line(event: yaml.Event) -> str:
    return f"line {event.start_mark.line + 1}: " if event.start_mark else ""


def read_yaml(path: Path, content: bytes) -> Any:
    """What a YAML file says, as far as JSON can say it; raises CommandFailed."""
    try:
        text = content.decode()
        depth = 0
        for event in yaml.parse(text, Loader=_Loader):
            if isinstance(event, yaml.AliasEvent):
                raise CommandFailed(f"{path}: {_line(event)}references (*) are not read")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise CommandFailed(f"{path}: {_line(event)}more than {DEEPEST} levels")
        return yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError) as error:
        raise CommandFailed(f"{path} is not YAML: {' '.join(str(error).split())}") from error


def _parse(path: Path) -> dict[str, Any]:
    read = read_yaml(path, read_content(path))
    if not isinstance(read, dict):
        raise CommandFailed(f"{path} is not an object")
    return read


def _list_files(folder: Path) -> list[Path]:
    files = sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES and not path.name.startswith("."))
    if len(files) > MOST_FILES:
        raise CommandFailed(f"{folder} has more than {MOST_FILES:,} files")
    return files


def _name_file(flow: Mapping[str, Any], taken: set[str]) -> str:
    """By its name, if no other flow has that file; otherwise with the beginning of its UUID."""
    named = f"{snakify(str(flow.get('name') or '')) or flow['uuid']}{SUFFIXES[0]}"
    return f"{Path(named).stem}-{flow['uuid'][:8]}{SUFFIXES[0]}" if named in taken else named


def _raise_tests(flow: Mapping[str, Any]) -> dict[str, Any]:
    """The flow as a file has it: what people read first, the tests, and at the end what the canvas needs."""
    ui = flow.get(UI)
    known = dict(flow)
    if isinstance(ui, Mapping) and TESTS in ui and TESTS not in flow:
        known |= {TESTS: ui[TESTS], UI: {key: value for key, value in ui.items() if key != TESTS}}
    ordered = {key: known[key] for key in FIRST if key in known}
    others = {key: value for key, value in known.items() if key not in ordered and key != UI}
    return {**ordered, **others, **({UI: known[UI]} if UI in known else {})}


def _lower_tests(flow: Mapping[str, Any]) -> dict[str, Any]:
    tests = flow.get(TESTS)
    if tests is None:
        return dict(flow)
    others = {key: value for key, value in flow.items() if key != TESTS}
    return {**others, UI: {**(flow.get(UI) or {}), TESTS: tests}}


def _write(document: Mapping[str, Any]) -> str:
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=LONGEST_LINE)


def tell_pauses(content: ExportFile) -> Iterator[str]:
    """A sentence for each pause of the flows, which other programs of the format do not know."""
    for definition in content.flows:
        for node in load(definition).nodes:
            if node.router is not None and node.router.wait is not None and node.router.wait.pause is not None:
                known = "here a message does not end its wait; elsewhere one does (docs/flows.md)"
                yield f"{definition.get('name')}, node {node.uuid}: {known}"
