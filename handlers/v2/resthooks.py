"""`/api/v2/resthooks.json`, `resthook_events.json` and `resthook_subscribers.json`."""

from handlers.answers import Answer, ListAnswer, created_record, no_content
from handlers.request import Request
from persistence import resthooks
from persistence import resthooks as resthook_subscribers
from persistence.resthooks import RESTHOOK_EVENTS, RESTHOOKS

list_resthooks = ListAnswer(RESTHOOKS)

list_resthook_events = ListAnswer(RESTHOOK_EVENTS)

list_resthook_subscribers = ListAnswer(resthook_subscribers.SUBSCRIBERS)


def create_resthook(request: Request) -> Answer:
    slug = request.body["resthook"]
    return created_record(request, RESTHOOKS, resthooks.create_resthook(request.tx, request.workspace.id, slug))


def delete_resthook(request: Request, *, resthook: str) -> Answer:
    resthooks.delete_resthook(request.tx, request.workspace.id, resthook)
    return no_content()


def create_resthook_subscriber(request: Request) -> Answer:
    workspace = request.workspace
    subscriber_id = resthook_subscribers.create_subscriber(
        request.tx,
        workspace.id,
        request.body["resthook"],
        request.body["target_url"],
        allowed_networks=request.settings.webhook_allowed_networks,
    )
    return created_record(request, resthook_subscribers.SUBSCRIBERS, subscriber_id)


def delete_resthook_subscriber(request: Request, *, id: int) -> Answer:
    workspace = request.workspace
    resthook_subscribers.delete_subscriber(request.tx, workspace.id, id)
    return no_content()
