"""Opens a ticket (flow format, open_ticket)."""

from flows.definition import Action
from flows.definition.action_types import FAILURE, NOT_OFFLINE, SUCCESS, action_type
from flows.definition.fields import TEXT_LENGTH, Field, asked, reference, template, unchecked, user
from flows.engine.contact import Ticket
from flows.engine.modifiers.editor import ContactEditor
from flows.engine.modifiers.editor import open_ticket as open_new_ticket
from flows.engine.recipients import find_asset, find_user
from flows.engine.visit import Visit

NEW_TICKET_LOCAL = "_new_ticket"


@action_type(
    {
        "ticketer": asked(reference("ticketer"), "json"),
        "topic": reference("topic"),
        "assignee": user(),
        "subject": Field(unchecked, is_template=True),
        "body": asked(template(TEXT_LENGTH), is_more=True),
        "note": template(TEXT_LENGTH),
    },
    allowed_in=NOT_OFFLINE,
    categories=(SUCCESS, FAILURE),
    sets_local=NEW_TICKET_LOCAL,
    drawn="Open ticket {topic}",
    palette="flow",
)
def open_ticket(visit: Visit, action: Action) -> None:
    """Opens a ticket unless the contact has an open one; its UUID is stored in a local variable (14) or result (13)."""
    ticket = _open(visit, action)
    uuid = ticket.uuid if ticket else ""
    if not visit.options.is_early:
        visit.run.locals[NEW_TICKET_LOCAL] = uuid
    elif action.fields.get("result_name"):
        visit.save_result(action.fields["result_name"], uuid, SUCCESS if uuid else FAILURE)


def _open(visit: Visit, action: Action) -> Ticket | None:
    assets = visit.sprint.assets
    note = visit.text(action.text("note") or action.text("body")).strip()
    if visit.sprint.session.is_batch:
        visit.log.error("Can't open tickets during batch starts")
        return None
    given = action.fields.get("topic")
    topic = find_asset(visit, "topic", assets.topics, given) if given else assets.find_default_topic()
    if given and topic is None:
        return None
    assignee = find_user(visit, action.fields.get("assignee"))
    opened: list[Ticket] = []

    def change(editor: ContactEditor) -> bool:
        ticket = open_new_ticket(editor, topic, assignee, note)
        opened.extend([ticket] if ticket else [])
        return bool(opened)

    visit.change_contact(change)
    return opened[0] if opened else None
