"""`/api/v2/topics.json`."""

from handlers.answers import Answer, answer_page, created, ok
from handlers.request import Call
from persistence import topics
from persistence.sql.pages import Page, Position


def list_topics(call: Call) -> Answer:
    workspace = call.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return topics.list_topics(call.tx, workspace.id, position, size)

    return answer_page(call, topics.TOPICS_ORDER, fetch)


def write_topic(call: Call, *, uuid: str | None = None) -> Answer:
    workspace = call.workspace
    name = call.body["name"]
    if uuid is None:
        topic_id = topics.create_topic(call.tx, workspace.id, name)
        return created(topics.read_topic(call.tx, workspace.id, topic_id))
    topic_id = topics.rename_topic(call.tx, workspace.id, uuid, name)
    return ok(topics.read_topic(call.tx, workspace.id, topic_id))
