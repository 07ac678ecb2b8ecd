"""`/api/v2/ticketers.json` over HTTP."""

from tests.api import Api

PATH = "/api/v2/ticketers.json"


class TestListTicketers:
    def test_every_workspace_has_an_internal_ticketer(self, api: Api) -> None:
        (record,) = api.results(PATH)

        assert (record["name"], record["type"]) == ("Relayboard Tickets", "internal")
