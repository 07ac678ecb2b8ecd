"""The texts of the console, in every language."""

import json
import re

import pytest
import yaml

from channels.presets import list_presets, read_preset
from channels.types import GATEWAYS, TYPES
from handlers.asgi.console import FOLDER

MESSAGES = FOLDER / "messages"
CHANNEL_TEXTS = FOLDER / "channels" / "texts"
LANGUAGES = ("ar", "es", "fr", "pt", "sw")
PLACE = re.compile(r"\{\{\w+\}\}|https?://[^\s,;،؛]+|`[^`]+`")
PLACEHOLDER = re.compile(r"\{\w+\}")
KEY = re.compile(r'"([a-z_]+\.[a-z0-9_-]+)"')
FAMILY = re.compile(r'\bword\(\s*"([a-z_]+)"')

WORDS = {
    "agent_access": "fields/AgentAccess",
    "area": "tokens/TokenArea",
    "audit_action": "audit_events/AuditAction",
    "broadcast_status": "broadcasts/BroadcastStatus",
    "channel_event": "channel_events/ChannelEventType",
    "contact_status": "contacts/ContactStatusOrNull",
    "date_style": "workspace/DateStyle",
    "export_format": "exports/ExportFormat",
    "export_type": "exports/ExportType",
    "field_type": "fields/FieldType",
    "flow_type": "flows/FlowType",
    "folder": "conversations/ConversationFolder",
    "import_change": "definitions/ImportChange",
    "import_status": "contact_imports/ContactImportStatus",
    "import_unread": "contact_imports/ContactImportUnread",
    "role": "users/Role",
    "run_status": "runs/ExitTypeOrNull",
    "schedule_status": "campaign_figures/ScheduledEventStatus",
    "session_method": "sessions/SessionMethod",
    "keyword_match": "triggers/KeywordMatch",
    "start_status": "flow_starts/FlowStartStatus",
    "trigger_reason": "triggers/TriggerReason",
    "repeat": "../../shared/schemas/RepeatOrNull",
    "trigger_type": "triggers/TriggerType",
}
"""Families of texts for words of the contract, with the file and the schema that lists the words."""


def texts(language: str) -> dict[str, str]:
    content: dict[str, str] = json.loads((MESSAGES / f"{language}.json").read_text(encoding="utf-8"))
    return content


def sources() -> str:
    return "\n".join(path.read_text() for path in FOLDER.rglob("*.js") if "vendor" not in path.parts)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_every_text_with_the_same_placeholders(language):
    english, translated = texts("en"), texts(language)

    assert set(translated) == set(english)
    for key, text in english.items():
        assert sorted(PLACEHOLDER.findall(translated[key])) == sorted(PLACEHOLDER.findall(text)), key
        assert translated[key].strip(), key


def test_there_is_a_file_for_each_language_that_can_be_chosen():
    chosen = re.search(r"LANGUAGES = \{(.*?)\}", (FOLDER / "shared" / "texts.js").read_text(), re.DOTALL)

    assert chosen
    assert set(re.findall(r"^\s*(\w+):", chosen[1], re.MULTILINE)) == {*LANGUAGES, "en"}
    assert {path.stem for path in MESSAGES.iterdir()} == {*LANGUAGES, "en"}


@pytest.mark.parametrize("family", WORDS)
def test_every_word_of_the_contract_has_a_text(family):
    file, schema = WORDS[family].rsplit("/", 1)
    content = yaml.safe_load((FOLDER.parent / "openapi" / "v2" / "schemas" / f"{file}.yaml").read_text())

    words = {f"{family}.{word}" for word in content[schema]["enum"] if word is not None}
    assert words <= set(texts("en"))


def test_every_text_is_used():
    """Texts of words of the API are looked up by family and word."""
    source = sources()
    used = set(KEY.findall(source))
    families = set(FAMILY.findall(source)) | {"flow"}

    assert {key for key in texts("en") if key not in used and key.split(".")[0] not in families} == set()


def test_what_a_type_or_a_preset_is_for_is_said_as_it_declares_it():
    declared = {name: each.help for name, each in TYPES.items()}
    declared |= {name: read_preset(name).help for name in list_presets()}
    told = {key.partition(".")[2]: text for key, text in texts("en").items() if key.startswith("channel_help.")}

    assert {name: text for name, text in told.items() if declared.get(name) != text} == {}


@pytest.mark.parametrize("language", [*LANGUAGES, "en"])
def test_every_setting_of_a_type_or_a_preset_has_a_name_and_a_help_in_every_language(language):
    """In English the help is what the type declares, so that a change of it asks for new translations."""
    owners = {name: each.settings for name, each in TYPES.items()}
    fields = {name: read_preset(name).fields for name in list_presets()}
    helps = {f"setting_help.{owner}.{each.name}": each.help for owner in owners for each in owners[owner]}
    helps |= {f"setting_help.{owner}.{each.name}": each.help for owner in fields for each in fields[owner]}
    names = {f"setting.{key.rpartition('.')[2]}" for key in helps}
    addresses = {f"{family}.{name}" for name in GATEWAYS for family in ("address", "address_help")}
    told = json.loads((CHANNEL_TEXTS / f"{language}.json").read_text(encoding="utf-8"))

    assert {
        "missing": {*helps, *names, *addresses} - set(told),
        "unused": set(told) - {*helps, *names, *addresses},
    } == {
        "missing": set(),
        "unused": set(),
    }
    places = {key: sorted(PLACE.findall(text)) for key, text in helps.items()}
    assert {key for key in helps if sorted(PLACE.findall(told[key])) != places[key]} == set()
    assert all(text.strip() for text in told.values())
    if language == "en":
        assert {key: told[key] for key in helps if told[key] != helps[key]} == {}
