"""The names and options that scripts rely on, which no version may take away; and what help must say of each
command."""

import shlex

import click
import pytest

from relayboard.usage.channels import ACTIONS
from relayboard.usage.parts import Action
from tests.relayboard.every_command.leaves import COMMANDS, LEAVES, Leaf

FIXED = """
serve --host --port --workers --no-worker
worker --workers
migrate --to
demo --port
workspace create --name --country --timezone --language --anon
workspace list
user create --workspace --email --first-name --last-name --role
token create --workspace --email --scope
token list
token revoke
channel list --workspace
channel claim --workspace --claim-code --phone
channel create --workspace --type --name --address --send-url
channel webhook --channel --url --event
channel release --channel
flow import --workspace file
flow list
flow archive
trigger create --workspace --type --flow --keyword --group
trigger list
trigger archive
resthook create --workspace --slug
topic create
label create
group create --query
classifier create
template create
boundaries import file
phone register --server --state
phone sync --server --state
phone receive --server --state
phone send --server --state
webhook listen --port
"""
"""From the page that fixes the interface of the program."""
CHOICES: dict[Leaf, set[str]] = {
    ("user", "create", "role"): {"administrator", "editor", "viewer", "agent", "surveyor"},
    ("token", "create", "scope"): {"read", "write"},
    ("channel", "create", "type"): {"external"},
    ("trigger", "create", "type"): {
        "keyword",
        "catch_all",
        "missed_call",
        "incoming_call",
        "new_conversation",
        "schedule",
    },
}


@pytest.mark.parametrize("line", FIXED.strip().splitlines())
def test_a_fixed_name_is_still_there(line: str) -> None:
    words = tuple(word for word in line.split() if not word.startswith("--") and word != "file")
    command = COMMANDS[words]
    known = {name for param in command.params for name in (*param.opts, param.name)}

    assert set(line.split()[len(words) :]) <= known


@pytest.mark.parametrize("place", CHOICES, ids=" ".join)
def test_a_fixed_word_is_still_taken(place: Leaf) -> None:
    (param,) = (each for each in COMMANDS[place[:-1]].params if each.name == place[-1])
    assert isinstance(param.type, click.Choice)

    assert CHOICES[place] <= set(param.type.choices)


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_help_says_what_each_argument_is_and_its_examples_are_right(words: Leaf) -> None:
    command = LEAVES[words]
    assert isinstance(command, Action)
    helped = command.get_help(click.Context(command, info_name=f"relayboard {' '.join(words)}"))

    assert all(param.help for param in command.params if isinstance(param, click.Option | click.Argument))
    assert command.examples
    for example in command.examples:
        assert example in helped
        given = [part for part in shlex.split(example.partition(" < ")[0])]
        with command.make_context(" ".join(words), given):
            pass


def test_settings_of_channels_name_no_records_of_the_workspace() -> None:
    """The user of a mail server is not looked up among those who sign in."""
    records = {each.name: each.records for each in ACTIONS}

    assert (records["create"], records["change"]) == ({}, {"channel": "channel"})
