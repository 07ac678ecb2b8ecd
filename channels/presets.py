"""Presets: the settings of an HTTP gateway (`channels/external/`) for the gateways of one provider, as data. A person
is asked for a few fields, which are put into the settings.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

from channels.types import DEFAULT_GATEWAY

FOLDER = Path(__file__).with_suffix("")
TYPE = DEFAULT_GATEWAY
ADDRESSES = ("send_url",)
"""Settings that are URLs: a field is put at their beginning as it is, and elsewhere as part of a path."""


@dataclass(frozen=True, slots=True)
class PresetField:
    """What a person is asked; without a default it is required. A secret is never told."""

    name: str
    help: str
    is_secret: bool = False
    default: str = ""
    example: str = ""

    @property
    def is_required(self) -> bool:
        return not self.default


@dataclass(frozen=True, slots=True)
class Preset:
    """`statuses` are what the provider reports of a sent message, `actions` the last words of the URLs that it calls:
    none if its callbacks say what they report. `site` has the provider's documentation. `settings` are templates with
    `${field}`.
    """

    name: str
    title: str
    help: str
    site: str
    fields: tuple[PresetField, ...]
    settings: Mapping[str, str]
    statuses: tuple[str, ...] = ()
    actions: tuple[str, ...] = field(default=())

    def list_fields(self, setting: str) -> list[str]:
        """The fields that are put into a setting."""
        return Template(self.settings.get(setting, "")).get_identifiers()

    def fill(self, given: Mapping[str, str], only: frozenset[str] | None = None) -> dict[str, str]:
        """The settings, by the values of all fields; `only` those that depend on one of these fields."""
        values = {each.name: str(given.get(each.name) or each.default).strip() for each in self.fields}
        return {
            name: _fill(template, values, is_url=name in ADDRESSES)
            for name, template in self.settings.items()
            if only is None or only & set(self.list_fields(name))
        }


def list_presets() -> list[str]:
    """Their names; no file is read."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


@cache
def read_preset(name: str) -> Preset:
    """Raises KeyError."""
    import yaml  # noqa: PLC0415  # commands that only name presets start without it

    if name not in list_presets():
        raise KeyError(name)
    read: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    fields = tuple(PresetField(**each) for each in read.pop("fields"))
    statuses, actions = (tuple(read.pop(each, ())) for each in ("statuses", "actions"))
    settings = {key: str(value) for key, value in read.pop("settings").items()}
    return Preset(name, fields=fields, settings=settings, statuses=statuses, actions=actions, **read)


def _fill(template: str, values: Mapping[str, str], *, is_url: bool) -> str:
    if not is_url:
        return Template(template).substitute(values)
    first = next((name for name in values if template.startswith(f"${{{name}}}")), None)
    quoted = {name: quote(value, safe="") for name, value in values.items()}
    if first is None:
        return Template(template).substitute(quoted)
    return values[first].rstrip("/") + Template(template.removeprefix(f"${{{first}}}")).substitute(quoted)
