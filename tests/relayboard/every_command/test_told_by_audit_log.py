"""What commands change is told by the audit log, which a command and the API read alike."""

import json

import pytest

from tests.relayboard.every_command.cases import GOOD
from tests.relayboard.every_command.fixtures import Worlds
from tests.relayboard.every_command.leaves import Leaf
from tests.relayboard.every_command.running import Run, arrange
from tests.relayboard.every_command.world import World

CREATED, CHANGED, DELETED = "created", "changed", "deleted"
NAMED = ("group", "label", "topic", "team", "field", "global", "optin", "ticketer", "classifier", "campaign")
DELETED_NAMED = ("group", "label", "field", "global", "topic", "team", "optin", "resthook")
TOLD: dict[Leaf, tuple[str, str]] = {
    ("workspace", "change"): ("workspace", CHANGED),
    ("user", "create"): ("users", CREATED),
    ("user", "change"): ("users", CHANGED),
    ("user", "remove"): ("users", DELETED),
    ("user", "password"): ("account", CHANGED),
    ("user", "invite"): ("invitations", CREATED),
    ("invitation", "withdraw"): ("invitations", DELETED),
    ("session", "end"): ("sessions", DELETED),
    ("token", "create"): ("tokens", CREATED),
    ("token", "revoke"): ("tokens", DELETED),
    ("channel", "claim"): ("channels", CREATED),
    ("channel", "create"): ("channels", CREATED),
    ("channel", "change"): ("channels", CHANGED),
    ("channel", "limit"): ("channels", CHANGED),
    ("channel", "webhook"): ("channels", CHANGED),
    ("channel", "secret"): ("channels", CHANGED),
    ("channel", "release"): ("channels", DELETED),
    ("contact", "delete"): ("contacts", DELETED),
    ("media", "delete"): ("media", DELETED),
    ("template", "create"): ("templates", CREATED),
    ("resthook", "create"): ("resthooks", CREATED),
    ("webhook", "subscribe"): ("resthook_subscribers", CREATED),
    ("webhook", "unsubscribe"): ("resthook_subscribers", DELETED),
    ("resthook", "secret"): ("resthook_subscribers", CHANGED),
    ("flow", "import"): ("flows", CREATED),
    ("flow", "change"): ("flows", CHANGED),
    ("flow", "archive"): ("flows", CHANGED),
    ("trigger", "create"): ("triggers", CREATED),
    ("trigger", "change"): ("triggers", CHANGED),
    ("trigger", "archive"): ("triggers", CHANGED),
    ("trigger", "restore"): ("triggers", CHANGED),
    ("trigger", "delete"): ("triggers", DELETED),
    ("campaign", "archive"): ("campaigns", CHANGED),
    ("campaign", "restore"): ("campaigns", CHANGED),
    **{(noun, "create"): (f"{noun}s", CREATED) for noun in NAMED},
    **{(noun, "change"): (f"{noun}s", CHANGED) for noun in NAMED},
    **{(noun, "delete"): (f"{noun}s", DELETED) for noun in DELETED_NAMED},
}
# An event is stored with the change, by one function; its own tests ask it on both databases.
pytestmark = pytest.mark.parametrize("make_database", ["sqlite"], indirect=True)
NEEDED = (("contact", "create"),)
"""What another command needs first."""


@pytest.fixture(scope="module")
def is_done() -> list[World]:
    return []


@pytest.fixture
def world(run: Run, worlds: Worlds, request: pytest.FixtureRequest, is_done: list[World]) -> World:
    """A world of this module's own, in which the commands were called."""
    place = request.session.items.index(request.node)
    given = worlds.give(place)
    if any(given is each for each in is_done):
        return given
    worlds.renew()
    made = worlds.give(place)
    is_done.append(made)
    for words in GOOD:
        if words in TOLD or words in NEEDED:
            for text in GOOD[words]:
                run(*arrange(words, text, made))
    return made


@pytest.fixture
def told(run: Run, world: World) -> set[tuple[str, str, str]]:
    """Command, resource and action of each event."""
    said = run(["audit", "list", "--workspace", world.names["workspace"], "--limit", "1000"])
    events = json.loads(said.out)
    assert all(each["user"] is None and each["via"] == "command" for each in events if each["command"])
    return {(each["command"], each["resource"], each["action"]) for each in events}


def test_a_change_by_a_command_is_told(told: set[tuple[str, str, str]]) -> None:
    assert {(" ".join(words), *event) for words, event in TOLD.items()} - told == set()


def test_the_api_tells_the_same(run: Run, world: World) -> None:
    shown = world.service.get("/api/v2/audit_events.json")["results"]
    said = run(["audit", "list", "--workspace", world.names["workspace"], "--limit", str(len(shown))])

    assert [each["uuid"] for each in json.loads(said.out)] == [each["uuid"] for each in shown] != []
