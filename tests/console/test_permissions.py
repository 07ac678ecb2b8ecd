"""What the console shows to each role is what the API allows."""

import re

from handlers.asgi.console import FOLDER
from openapi.bundle import bundle, operations
from persistence.channels.channels import LOST_AFTER

SOURCE = (FOLDER / "shared" / "permissions.js").read_text()


def lists(text: str, known: dict[str, list[str]]) -> list[str]:
    """The roles in an expression: names of roles and, spread or alone, names of lists."""
    found = []
    for part in re.findall(r'"(\w+)"|(\w+)', text):
        found += [part[0]] if part[0] else known[part[1]]
    return found


def test_each_role_sees_what_the_contract_allows():
    known: dict[str, list[str]] = {}
    for name, value in re.findall(r"^const (\w+) = \[(.*)\];$", SOURCE, re.MULTILINE):
        known[name] = lists(value, known)
    shown = {name: lists(value, known) for name, value in re.findall(r"^  (\w+): (.+),$", SOURCE, re.MULTILINE)}
    both = [operation for generation in ("v1", "v2") for operation in operations(bundle(generation))]
    allowed = {body["operationId"]: body["x-roles"] for _, _, body in both}

    assert len(shown) > 10
    assert {name: set(roles) for name, roles in shown.items()} == {name: set(allowed[name]) for name in shown}


def test_a_phone_is_silent_on_the_page_of_channels_when_it_is_in_figures_and_alarms():
    page = (FOLDER / "channels" / "page.js").read_text()

    (minutes,) = re.findall(r"^const SILENT_SECONDS = (\d+) \* 60;$", page, re.MULTILINE)
    assert int(minutes) * 60 == LOST_AFTER.total_seconds()
