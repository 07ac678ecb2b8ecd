"""`/api/v2/saved_replies.json` over HTTP."""

from tests.api import Api

PATH = "/api/v2/saved_replies.json"
HOURS = {"name": "Opening hours", "text": "We are open from 8 to 17."}


def test_a_saved_reply_is_made_changed_and_deleted(api: Api) -> None:
    agent = api.as_role("agent")
    made = agent.post(PATH, HOURS)
    assert made.status_code == 201
    uuid = made.json()["uuid"]

    changed = agent.post(PATH, {"name": "opening hours", "text": "We are closed."}, uuid=uuid)

    assert (changed.status_code, changed.json()["text"]) == (200, "We are closed.")
    assert changed.json()["modified_on"] > made.json()["modified_on"]
    assert api.as_role("viewer").results(PATH) == [changed.json()]
    assert [agent.delete(PATH, uuid=uuid).status_code for _ in range(2)] == [204, 404]


def test_two_saved_replies_have_two_names(api: Api) -> None:
    api.post(PATH, HOURS)

    assert api.post(PATH, HOURS | {"name": "OPENING HOURS"}).status_code == 400
    assert api.as_role("viewer").post(PATH, HOURS | {"name": "Other"}).status_code == 403
