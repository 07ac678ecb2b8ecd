"""Texts of a flow for translators, and what comes back from them: rows with a key, the flow's own text and its
translation, as PO files have them (GNU gettext). A spreadsheet has the same rows.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

from flows.definition import Flow, load
from flows.definition.action_types import fields_of
from flows.definition.flow_texts import find_translation, read_texts
from flows.expressions.scanner import AT_SIGN, CONTEXT_ROOTS, TokenKind, scan_template
from flows.languages import is_language_of_translations

MOST_CHARACTERS = 4_000_000
"""Of a file: a flow of a thousand nodes with texts of a page each."""
MOST_ROWS = 20_000
UNKNOWN, OUTDATED, EXPRESSIONS, FUZZY = "unknown", "outdated", "expressions", "fuzzy"
"""Why a translation is left out: the flow has no such text, it was another text, its expressions differ, or its
translator marked it as unsure."""
_KEYWORD = re.compile(r"(msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)\s+(\".*\")\s*\Z")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r"}


class TranslationFileError(ValueError):
    """A file cannot be read; the message says in which line, or what is wrong with the language."""


class Row(NamedTuple):
    """A text: `key` is `item/property/number`, `where` tells people what it belongs to."""

    key: str
    where: str
    text: str
    translation: str
    is_fuzzy: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """What a file says of a text otherwise than the flow. With a `problem` it is left out."""

    row: Row
    before: str
    problem: str = ""


class _Property(NamedTuple):
    """What can be translated of an action, a case or a category."""

    uuid: str
    name: str
    where: str
    texts: Sequence[str]


def list_rows(flow: Flow, language: str) -> list[Row]:
    """All texts of a flow that translators get, in the order of its nodes, with their translations so far."""
    check_language(flow, language)
    rows = []
    for uuid, name, where, texts in _list_properties(flow):
        known = find_translation(flow, language, uuid, name)
        for place, text in enumerate(texts):
            if text.strip():
                said = known[place] if place < len(known) else ""
                rows.append(Row(f"{uuid}/{name}/{place}", where, text, said))
    return rows


def list_changed(before: Flow, flow: Flow, language: str) -> list[tuple[Row, str]]:
    """The texts that are new in a flow, or others than before, each with what it was, empty for a new one."""
    known = {row.key: row.text for row in list_rows(before, language)} if before.language != language else {}
    return [(row, known.get(row.key, "")) for row in list_rows(flow, language) if known.get(row.key) != row.text]


def _list_properties(flow: Flow) -> Iterator[_Property]:
    for number, node in enumerate(flow.nodes, 1):
        for action in node.actions:
            for name, field in fields_of(action.type).items():
                if field.is_translated and field.is_listed:
                    texts = read_texts(action.fields.get(name))
                    yield _Property(action.uuid, name, f"{number}. {action.type}: {name}", texts)
        for case in node.router.cases if node.router else ():
            if case.uuid:
                yield _Property(case.uuid, "arguments", f"{number}. {case.type}", case.arguments)
        for category in node.router.categories if node.router else ():
            yield _Property(category.uuid, "name", f"{number}. category", (category.name,))


def compare(flow: Flow, language: str, given: Sequence[Row]) -> list[Change]:
    """What a file says otherwise than a flow, in the order of the file. Empty translations say nothing; of several for
    one text the last counts."""
    known = {row.key: row for row in list_rows(flow, language)}
    changes = []
    for row in {row.key: row for row in given}.values():
        mine = known.get(row.key)
        before = mine.translation if mine else ""
        # Cells of spreadsheets lose the space at their ends.
        if not row.translation.strip() or row.translation in (before, before.strip()):
            continue
        problem = UNKNOWN if mine is None else FUZZY if row.is_fuzzy else ""
        if mine is not None and not problem:
            problem = OUTDATED if _joined(mine.text) != _joined(row.text) else ""
            problem = problem or (EXPRESSIONS if _expressions(mine.text) != _expressions(row.translation) else "")
        changes.append(Change(row, before, problem))
    return changes


def apply_changes(flow: Flow, language: str, changes: Sequence[Change]) -> dict[str, Any]:
    """The definition with the changes that have no problem; all other translations stay. Raises DefinitionError for
    translations that are too long.
    """
    definition: dict[str, Any] = deepcopy(dict(flow.raw))
    own = {(each.uuid, each.name): each.texts for each in _list_properties(flow)}
    localization = definition["localization"] = _as_object(definition.get("localization"))
    items = localization[language] = _as_object(localization.get(language))
    for change in changes:
        if change.problem:
            continue
        uuid, name, place = change.row.key.split("/")
        base, said = own[uuid, name], _read_item(items, uuid, name)
        whole = [said[at] if at < len(said) and said[at] else text for at, text in enumerate(base)]
        whole[int(place)] = change.row.translation
        items[uuid] = {**_as_object(items.get(uuid)), name: whole}
    load(definition)
    return definition


def _as_object(value: object) -> dict[str, Any]:
    """What is no object in a definition is never read: it gives way."""
    return dict(value) if isinstance(value, Mapping) else {}


def _read_item(items: Mapping[str, Any], uuid: str, name: str) -> list[str]:
    item = items.get(uuid)
    return read_texts(item.get(name)) if isinstance(item, Mapping) else []


def check_language(flow: Flow, language: str) -> None:
    """Raises TranslationFileError for the flow's own language, and for what is none."""
    if not is_language_of_translations(language):
        raise TranslationFileError(f"{language!r} is not a language: three small letters, such as fra")
    if language == flow.language:
        raise TranslationFileError(f"{language} is the language of the flow itself")


def write_po(flow: Flow, language: str, rows: Sequence[Row]) -> str:
    """Texts of a flow as a PO file."""
    head = f"Project-Id-Version: {_joined(flow.name)}\nLanguage: {language}\n"
    head += "MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n"
    parts = [f'msgid ""\nmsgstr {_quote(head)}\n']
    for row in rows:
        said = f"msgctxt {_quote(row.key)}\nmsgid {_quote(row.text)}\nmsgstr {_quote(row.translation)}\n"
        parts.append(f"#. {row.where}\n{said}")
    return "\n".join(parts)


def read_po(content: str) -> list[Row]:
    """The rows of a PO file; raises TranslationFileError."""
    if len(content) > MOST_CHARACTERS:
        raise TranslationFileError(f"a file has at most {MOST_CHARACTERS} characters")
    rows = []
    for row in _read_entries(content):
        if row.key:
            rows.append(row)
        if len(rows) > MOST_ROWS:
            raise TranslationFileError(f"a file has at most {MOST_ROWS} texts")
    return rows


def _read_entries(content: str) -> Iterator[Row]:
    parts: dict[str, list[str]] = {}
    flags, last = "", ""
    for number, whole in enumerate([*content.removeprefix("\ufeff").split("\n"), ""], 1):
        line = whole.strip()
        found = _KEYWORD.match(line)
        begins = not line or line.startswith("#") or (found is not None and found[1] in parts)
        if begins and "msgstr" in parts:
            yield _make_row(parts, flags)
        if begins and ("msgstr" in parts or not line):
            parts, flags, last = {}, "", ""
        if line.startswith("#,"):
            flags += line
        elif found is not None:
            last = found[1]
            parts[last] = [found[2]]
        elif line.startswith('"') and line.endswith('"') and len(line) > 1 and last:
            parts[last].append(line)
        elif line and not line.startswith("#"):
            raise TranslationFileError(f"line {number}: this is no part of a PO file")


def _make_row(parts: Mapping[str, Sequence[str]], flags: str) -> Row:
    said = {name: "".join(_unquote(each) for each in lines) for name, lines in parts.items()}
    return Row(said.get("msgctxt", ""), "", said.get("msgid", ""), said["msgstr"], "fuzzy" in flags)


def _quote(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(letter, letter) for letter in text) + '"'


def _unquote(text: str) -> str:
    return _ESCAPED.sub(lambda found: _PLAIN.get(found[1], found[1]), text[1:-1])


def _joined(text: str) -> str:
    """A text without differences that editors of files make: line ends, and space at its ends."""
    return " ".join(text.split())


def _expressions(text: str) -> Counter[str]:
    """The expressions of a text, each as it is written."""
    tokens = scan_template(text, CONTEXT_ROOTS) if AT_SIGN in text else ()
    return Counter(token.source for token in tokens if token.kind is not TokenKind.BODY)
