"""`/api/v2/templates.json` over HTTP."""

from persistence.database import Database
from persistence.templates import Translation, set_translation
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_channel

PATH = "/api/v2/templates.json"
CHANNEL = "aa7d0b9c-22e1-4f8f-8f6d-1b3c5d7e9f00"


def add(database: Database, workspace: Workspace, name: str, locale: str = "swa-KE") -> None:
    with database.writing() as tx:
        set_translation(tx, workspace.id, name, Translation(CHANNEL, locale, "Karibu {{1}}", "ns_7f2"))


class TestListTemplates:
    def test_a_template_shows_its_translations(self, api: Api, database: Database, workspace: Workspace) -> None:
        add_channel(database, workspace, uuid=CHANNEL)
        add(database, workspace, "reminder")

        (record,) = api.results(PATH)

        assert record["name"] == "reminder"
        assert record["translations"] == [
            {
                "language": "swa",
                "locale": "swa-KE",
                "content": "Karibu {{1}}",
                "namespace": "ns_7f2",
                "variable_count": 1,
                "status": "approved",
                "channel": {"uuid": CHANNEL, "name": "Front desk"},
            }
        ]

    def test_the_last_changed_template_comes_first(self, api: Api, database: Database, workspace: Workspace) -> None:
        add_channel(database, workspace, uuid=CHANNEL)
        add(database, workspace, "reminder")
        add(database, workspace, "welcome")
        add(database, workspace, "Reminder", "eng")

        assert [(each["name"], len(each["translations"])) for each in api.results(PATH)] == [
            ("reminder", 2),
            ("welcome", 1),
        ]
        assert [each["name"] for each in api.results(PATH, reverse="1")] == ["welcome", "reminder"]
