"""`/api/v2/topics.json`."""

from handlers.answers import Answer, ListAnswer, changed_record, created_record
from handlers.request import Call
from persistence import topics

list_topics = ListAnswer(topics.TOPICS)


def write_topic(call: Call, *, uuid: str | None = None) -> Answer:
    name = call.body["name"]
    if uuid is None:
        return created_record(call, topics.TOPICS, topics.create_topic(call.tx, call.workspace.id, name))
    return changed_record(call, topics.TOPICS, topics.rename_topic(call.tx, call.workspace.id, uuid, name))
