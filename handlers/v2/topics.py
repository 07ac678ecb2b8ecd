"""`/api/v2/topics.json`."""

from handlers.answers import Answer, ListAnswer, changed_record, inserted_record, no_content
from handlers.request import Request
from persistence.tickets import topics

list_topics = ListAnswer(topics.TOPICS)


def write_topic(request: Request, *, uuid: str | None = None) -> Answer:
    name = request.body["name"]
    if uuid is None:
        return inserted_record(request, topics.TOPICS, topics.new_topic(request.tx, request.workspace.id, name))
    return changed_record(request, topics.TOPICS, topics.rename_topic(request.tx, request.workspace.id, uuid, name))


def delete_topic(request: Request, *, uuid: str) -> Answer:
    topics.delete_topic(request.tx, request.workspace.id, uuid)
    return no_content()
