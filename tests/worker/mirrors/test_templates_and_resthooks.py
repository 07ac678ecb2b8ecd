"""What mirrors of templates and of resthooks see; the names of channels are in their own records."""

from collections.abc import Callable
from functools import partial

import pytest

from persistence.database import Database
from persistence.resthooks import end_subscriptions, ensure_resthook
from persistence.templates import Translation, set_translation
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_channel
from tests.worker.mirrors.client import Listed, by_name, check_changes, check_mirrors

SUBSCRIBERS = "/api/v2/resthook_subscribers.json"
CHANNEL = "aa7d0b9c-22e1-4f8f-8f6d-1b3c5d7e9f00"


LISTS = [
    Listed("/api/v2/templates.json", has_after=False),
    Listed("/api/v2/resthooks.json", key="resthook", has_after=False),
]
TEMPLATES, RESTHOOKS = ([each] for each in LISTS)


class Outside:
    """A template and a resthook with a subscriber."""

    def __init__(self, api: Api, database: Database, workspace: Workspace) -> None:
        self.api, self.database, self.workspace = api, database, workspace
        add_channel(database, workspace, uuid=CHANNEL)
        self.translate("welcome", "eng", "Hello")
        database.write(lambda tx: [ensure_resthook(tx, workspace.id, slug) for slug in ("birth", "visit")])
        self.subscriber_id = self.subscribe_at("birth", "first")

    def translate(self, name: str, locale: str, text: str, status: str = "approved") -> None:
        translation = Translation(CHANNEL, locale, text, status=status)
        self.database.write(lambda tx: set_translation(tx, self.workspace.id, name, translation))

    def subscribe_at(self, slug: str, word: str) -> int:
        body = {"resthook": slug, "target_url": f"https://hooks.example.org/{word}"}
        subscriber_id: int = self.api.post(SUBSCRIBERS, body).json()["id"]
        return subscriber_id

    def change_text(self, turn: int) -> None:
        self.translate("welcome", "eng", f"Hello {turn}")

    def change_status(self, turn: int) -> None:
        self.translate("welcome", "fra", "Bonjour", "pending" if turn % 2 else "approved")

    def make_template(self, turn: int) -> None:
        self.translate(f"template {turn}", "eng", "Hello")

    def subscribe(self, turn: int) -> None:
        self.subscribe_at("birth", f"more-{turn}")

    def unsubscribe(self, turn: int) -> None:
        assert self.api.delete(SUBSCRIBERS, id=self.subscriber_id).status_code == 204
        self.subscriber_id = self.subscribe_at("birth", f"again-{turn}")

    def lose_subscriber(self, turn: int) -> None:
        lost = self.subscribe_at("visit", f"lost-{turn}")
        assert self.database.write(lambda tx: end_subscriptions(tx, self.workspace.id, [lost]))

    def make_resthook(self, turn: int) -> None:
        self.database.write(lambda tx: ensure_resthook(tx, self.workspace.id, f"event-{turn}"))


Operation = Callable[[Outside, int], None]
OF_TEMPLATES: list[Operation] = [Outside.change_text, Outside.change_status, Outside.make_template]
OF_RESTHOOKS: list[Operation] = [
    Outside.subscribe,
    Outside.unsubscribe,
    Outside.lose_subscriber,
    Outside.make_resthook,
]


@pytest.fixture
def outside(api: Api, database: Database, workspace: Workspace) -> Outside:
    return Outside(api, database, workspace)


def test_each_change_moves_modified_on(api: Api, outside: Outside) -> None:
    check_changes(api, TEMPLATES, by_name(OF_TEMPLATES, outside))
    check_changes(api, RESTHOOKS, by_name(OF_RESTHOOKS, outside))


def test_a_mirror_misses_nothing(api: Api, outside: Outside) -> None:
    check_mirrors(api, LISTS, [partial(operation, outside) for operation in (*OF_TEMPLATES, *OF_RESTHOOKS)])
