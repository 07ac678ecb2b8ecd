"""The texts of the console, in every language."""

import json
import posixpath
import re
from functools import cache

import pytest
import yaml

from channels.presets import list_presets, read_preset
from channels.types import GATEWAYS, TYPES
from handlers.asgi.console import FOLDER, contents
from openapi.bundle import YAML_LOADER
from tests.handlers.asgi.test_console import COMMENT, IMPORT

MESSAGES = FOLDER / "messages"
"""What several pages say, or the first ones. What only one page says is in the folder `texts` of its room."""
FOLDERS = {each.parent.name: each for each in (MESSAGES, *FOLDER.glob("*/texts"))}
LANGUAGES = ("ar", "es", "fr", "pt", "sw")
PLACE = re.compile(r"\{\{\w+\}\}|https?://[^\s,;،؛]+|`[^`]+`")
PLACEHOLDER = re.compile(r"\{\w+\}")
KEY = re.compile(r'"([a-z_]+\.[a-z0-9_-]+)"')
FAMILY = re.compile(r'\bword\(\s*"([a-z_]+)"')

OF_SETTINGS = ("setting", "setting_help", "address", "address_help")
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
    "figures_by": "figures/GroupedFiguresBy",
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


@cache
def texts_of(folder: str, language: str) -> dict[str, str]:
    content: dict[str, str] = json.loads((FOLDERS[folder] / f"{language}.json").read_text(encoding="utf-8"))
    return content


@cache
def texts(language: str) -> dict[str, str]:
    """Of all pages, but for what is said of the settings of channels, which is tested with what declares them."""
    everything = {key: text for folder in FOLDERS for key, text in texts_of(folder, language).items()}
    return {key: text for key, text in everything.items() if key.split(".")[0] not in OF_SETTINGS}


def sources() -> str:
    return "\n".join(path.read_text() for path in FOLDER.rglob("*.js") if "vendor" not in path.parts)


@cache
def imports_of(name: str) -> list[str]:
    targets = IMPORT.findall(COMMENT.sub("", contents()[name].decode()))
    return [posixpath.normpath(posixpath.join(posixpath.dirname(name), target)) for target in targets]


def loaded_by(first: str) -> str:
    """This module with all that it loads, at once or later, but for other pages."""
    found = [first]
    for name in found:
        for module in imports_of(name):
            if module not in found and not (name == "shell/pages.js" and module.endswith("/page.js")):
                found.append(module)
    return "\n".join(contents()[name].decode() for name in found)


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_every_text_with_the_same_placeholders(language, folder):
    english, translated = texts_of(folder, "en"), texts_of(folder, language)

    assert set(translated) == set(english)
    for key, text in english.items():
        assert sorted(PLACEHOLDER.findall(translated[key])) == sorted(PLACEHOLDER.findall(text)), key
        assert translated[key].strip(), key


def test_there_is_a_file_for_each_language_that_can_be_chosen():
    chosen = re.search(r"LANGUAGES = \{(.*?)\}", (FOLDER / "shared" / "texts.js").read_text(), re.DOTALL)

    assert chosen
    assert set(re.findall(r"^\s*(\w+):", chosen[1], re.MULTILINE)) == {*LANGUAGES, "en"}
    for folder in FOLDERS.values():
        assert {path.stem for path in folder.iterdir()} == {*LANGUAGES, "en"}


def test_a_page_has_every_text_that_it_says_and_the_first_ones_have_no_text_of_another_page_alone():
    """Modules that several pages load say only what all of them have."""
    pages = {f"{room}/page.js": {room} for room in FOLDERS if room != "console"}
    missing = {}
    for first, rooms in [*pages.items(), *((name, set()) for name in ("main.js", "inbox/page.js", "overview/page.js"))]:
        loaded = loaded_by(first)
        present = {key for room in ("console", *rooms) for key in texts_of(room, "en")}
        missing[first] = {key for key in KEY.findall(loaded) if key in texts("en") and key not in present}
        families = {word.split(".")[0] for word in texts("en")} & set(FAMILY.findall(loaded))
        missing[first] |= {key for key in texts("en") if key.split(".")[0] in families and key not in present}

    assert {page: keys for page, keys in missing.items() if keys} == {}


@pytest.mark.parametrize("family", WORDS)
def test_every_word_of_the_contract_has_a_text(family):
    file, schema = WORDS[family].rsplit("/", 1)
    text = (FOLDER.parent / "openapi" / "v2" / "schemas" / f"{file}.yaml").read_text()
    content = yaml.load(text, Loader=YAML_LOADER)

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
    told = {key: text for key, text in texts_of("channels", language).items() if key.split(".")[0] in OF_SETTINGS}

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
