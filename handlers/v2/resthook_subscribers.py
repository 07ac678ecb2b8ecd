"""`/api/v2/resthook_subscribers.json`."""

from handlers.answers import Answer, ListAnswer, created_record, no_content
from handlers.request import Call
from persistence.resthooks import subscribers as resthook_subscribers

list_resthook_subscribers = ListAnswer(resthook_subscribers.SUBSCRIBERS)


def create_resthook_subscriber(call: Call) -> Answer:
    workspace = call.workspace
    subscriber_id = resthook_subscribers.create_subscriber(
        call.tx,
        workspace.id,
        call.body["resthook"],
        call.body["target_url"],
        allowed_networks=call.settings.webhook_allowed_networks,
    )
    return created_record(call, resthook_subscribers.SUBSCRIBERS, subscriber_id)


def delete_resthook_subscriber(call: Call, *, id: int) -> Answer:
    workspace = call.workspace
    resthook_subscribers.delete_subscriber(call.tx, workspace.id, id)
    return no_content()
