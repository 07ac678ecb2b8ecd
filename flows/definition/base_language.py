"""Changes the base language of a flow: a translation replaces the texts (flow format, localization)."""

from collections.abc import Iterator, Mapping
from typing import Any

from flows.definition.action_types import fields_of
from flows.definition.errors import DefinitionError
from flows.definition.flow_texts import read_texts
from flows.definition.migrating import PARTS_DEPTH
from flows.definition.raw_parts import (
    JsonObject,
    copy_parts,
    find_translation,
    list_actions,
    list_cases,
    list_objects,
    list_routers,
    set_translation,
)
from flows.definition.reading import load
from flows.languages import is_language


def change_base_language(definition: Mapping[str, Any], language: str) -> dict[str, Any]:
    """The definition, in the newest version, with its texts in another language. The former texts become a translation;
    texts without a translation to the new language stay unchanged. So do the arguments of a case whose translation has
    another number of arguments, because such a translation was never used. Raises DefinitionError, also for
    translations that are too long for their property.
    """
    flow = load(definition)
    if not is_language(language):
        raise DefinitionError(f"{language!r} is not a language", flow=flow.uuid, field="language")
    # The editor's data has no language.
    changed: JsonObject = {
        name: item if name == "_ui" else copy_parts(item, PARTS_DEPTH) for name, item in flow.raw.items()
    }
    if language == flow.language:
        return changed
    translations = changed.get("localization")
    translations = translations if isinstance(translations, dict) else {}
    incoming = translations.pop(language, {})
    outgoing: JsonObject = {}
    for part, name, is_list in _list_translated(changed):
        before = read_texts(part.get(name))
        if any(before):
            set_translation(outgoing, part, name, before)
        texts = find_translation(incoming, part, name) if isinstance(incoming, dict) else None
        if texts and texts != [""] and all(isinstance(text, str) for text in texts):
            _replace(part, name, texts, is_list=is_list)
    changed |= {"language": language, "localization": {**translations, flow.language: outgoing}}
    load(changed)
    return changed


def _list_translated(flow: JsonObject) -> Iterator[tuple[JsonObject, str, bool]]:
    for action in list_actions(flow):
        for name, each in fields_of(action.get("type")).items():
            if each.is_translated:
                yield action, name, each.is_list
    for case in list_cases(flow):
        yield case, "arguments", True
    for router in list_routers(flow):
        for category in list_objects(router.get("categories")):
            yield category, "name", False


def _replace(part: JsonObject, name: str, texts: list[str], *, is_list: bool) -> None:
    if name != "arguments" or len(texts) == len(part.get(name) or ()):
        part[name] = texts if is_list else texts[0]
