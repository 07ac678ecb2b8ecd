"""What the conversion of all parts of an old definition needs: its languages, its UUIDs and its place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from flows.definition.errors import DefinitionError
from flows.definition.legacy.templates import PLAIN, TemplateOptions, migrate_template
from flows.definition.raw_parts import JsonObject, NewUuid, is_uuid

BASE = "base"

Translations = Mapping[str, str]


def read_translations(value: object) -> Translations:
    """Texts by language; a text that was never translated is kept under `base`.

    Some flows of version 11 have translations within a translation, from when their language was changed: those under
    `base` belong to their own languages, and of those under a language its own or the first one is meant.
    """
    if not isinstance(value, Mapping):
        text = write_text(value)
        return {BASE: text} if text else {}
    nested: dict[str, str] = {}
    for language, given in value.items():
        if isinstance(given, Mapping):
            nested |= _read_nested(str(language), _pick_texts(given))
    return {**nested, **_pick_texts(value)}


def _read_nested(language: str, texts: Translations) -> Translations:
    if language == BASE or not texts:
        return texts
    return {language: texts.get(language, texts.get(BASE, next(iter(texts.values()))))}


def _pick_texts(value: Mapping[Any, Any]) -> Translations:
    return {str(language): text for language, text in value.items() if isinstance(text, str)}


def write_text(value: object) -> str:
    """A string, or a number as a string; empty for anything else."""
    if isinstance(value, str):
        return value
    is_number = isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
    return str(value) if is_number else ""


@dataclass(slots=True)
class Conversion:
    """The conversion of one old flow to version 13.0; `localization` is filled meanwhile."""

    flow_uuid: str
    language: str
    media_url: str
    new_uuid: NewUuid
    localization: dict[str, dict[str, JsonObject]] = field(default_factory=dict)
    destinations: frozenset[str] = frozenset()
    taken: set[str] = field(default_factory=set)
    node_uuid: str = ""

    def fail(self, message: str, name: str) -> DefinitionError:
        """An error that says where it is."""
        return DefinitionError(message, flow=self.flow_uuid, node=self.node_uuid, field=name)

    def keep_uuid(self, value: Any) -> str:
        """The given UUID, or a new one if there is none or another part has it already."""
        uuid = value if is_uuid(value) and value not in self.taken else self.new_uuid()
        self.taken.add(uuid)
        return str(uuid)

    def find_destination(self, value: object) -> JsonObject:
        """The destination of an exit; None if there is no such node."""
        is_known = isinstance(value, str) and value in self.destinations
        return {"destination_uuid": value} if is_known else {}

    def pick_base(self, translations: Translations) -> str:
        """The text in the language of the flow, or the one that was never translated."""
        fallback = "" if self.language else next(iter(translations.values()), "")
        return translations.get(self.language, translations.get(BASE, fallback))

    def migrate(self, value: object, options: TemplateOptions = PLAIN) -> str:
        """A template in the new expression language."""
        return migrate_template(write_text(value), options).template

    def localize(self, translations: Translations, item_uuid: str, name: str) -> str:
        """The template in the language of the flow; those in other languages are added to the localization."""
        for language, text in translations.items():
            self.add_translation(language, item_uuid, name, [self.migrate(text)])
        return self.migrate(self.pick_base(translations))

    def localize_list(self, items: Sequence[Translations], item_uuid: str, name: str) -> list[str]:
        """The same for a list of templates; what a language lacks is left empty."""
        languages = dict.fromkeys(language for translations in items for language in translations)
        for language in languages:
            texts = [self.migrate(translations.get(language, "")) for translations in items]
            self.add_translation(language, item_uuid, name, texts)
        return [self.migrate(self.pick_base(translations)) for translations in items]

    def add_translation(self, language: str, item_uuid: str, name: str, texts: list[str]) -> None:
        """Adds what is not in the language of the flow."""
        if language not in (BASE, self.language):
            self.localization.setdefault(language, {}).setdefault(item_uuid, {})[name] = texts
