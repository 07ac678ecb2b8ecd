"""`/api/v2/resthook_subscribers.json`."""

from handlers.answers import Answer, answer_page, created, no_content
from handlers.request import Call
from persistence.resthooks import subscribers as resthook_subscribers
from persistence.sql.pages import Page, Position


def list_resthook_subscribers(call: Call, *, id: int | None = None, resthook: str | None = None) -> Answer:
    workspace = call.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return resthook_subscribers.list_subscribers(
            call.tx, workspace.id, position, size, subscriber_id=id, slug=resthook
        )

    return answer_page(call, resthook_subscribers.SUBSCRIBERS_ORDER, fetch)


def create_resthook_subscriber(call: Call) -> Answer:
    workspace = call.workspace
    subscriber_id = resthook_subscribers.create_subscriber(
        call.tx,
        workspace.id,
        call.body["resthook"],
        call.body["target_url"],
        allowed_networks=call.settings.webhook_allowed_networks,
    )
    return created(resthook_subscribers.read_subscriber(call.tx, workspace.id, subscriber_id))


def delete_resthook_subscriber(call: Call, *, id: int) -> Answer:
    workspace = call.workspace
    resthook_subscribers.delete_subscriber(call.tx, workspace.id, id)
    return no_content()
