"""The texts of the console, in every language."""

import json
import re

import pytest

from handlers.asgi.console import FOLDER

MESSAGES = FOLDER / "messages"
LANGUAGES = ("ar", "es", "fr", "pt", "sw")
PLACEHOLDER = re.compile(r"\{\w+\}")
KEY = re.compile(r'"([a-z_]+\.[a-z0-9_]+)"')
FAMILY = re.compile(r'\bword\(\s*"([a-z_]+)"')


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


def test_every_text_is_used():
    """Texts of words of the API are looked up by family and word."""
    source = sources()
    used = set(KEY.findall(source))
    families = set(FAMILY.findall(source)) | {"call", "flow"}

    assert {key for key in texts("en") if key not in used and key.split(".")[0] not in families} == set()
