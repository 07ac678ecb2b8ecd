import re
import shlex

import click
import pytest

from relayboard.usage.program import build_program
from tools.channel_pages import TARGET, find_missing, render_pages

PAGES = render_pages()


def test_each_type_and_preset_has_a_beginning_written_by_hand():
    assert find_missing() == [], "write the way from the provider's page to the first message, with a heading"


def test_the_pages_of_channels_are_as_their_types_and_presets_say():
    written = {path.stem: path.read_text(encoding="utf-8") for path in TARGET.glob("*.md")}
    rendered = PAGES

    differing = sorted(name for name in rendered.keys() | written.keys() if rendered.get(name) != written.get(name))
    assert differing == [], "run python -m tools.channel_pages"


def test_each_page_goes_from_its_heading_to_the_first_message():
    for name, page in PAGES.items():
        assert page.startswith("# "), f"{name} has no heading"
        assert name == "index" or "channel create" in page, f"{name} does not say how the channel is made"


@pytest.mark.parametrize("name", sorted(PAGES))
def test_the_commands_and_options_of_a_page_are_those_that_there_are(name):
    program = build_program()
    context = click.Context(program)

    def command_of(noun, action):
        return program.get_command(context, noun).get_command(context, action)

    lines = re.findall(r"^ +relayboard (.+)$", PAGES[name], re.MULTILINE)
    assert lines or name == "index"
    for line in lines:
        noun, action, *given = shlex.split(line)
        command_of(noun, action).make_context(action, given)
    listed = {word for word in re.findall(r"^\| `\w+` \| `(--[a-z-]+)", PAGES[name], re.MULTILINE)}
    assert listed <= {option for each in command_of("channel", "create").params for option in each.opts}
