"""Sets the channel that the contact prefers (flow format, set_contact_channel)."""

from flows.definition import Action
from flows.definition.action_types import NOT_OFFLINE, action_type
from flows.definition.fields import reference
from flows.engine.modifiers.editor import prefer_channel
from flows.engine.visit import Visit


@action_type(
    {"channel": reference("channel")}, allowed_in=NOT_OFFLINE, drawn="Set channel to {channel:none}", palette="contact"
)
def set_contact_channel(visit: Visit, action: Action) -> None:
    """Sets or clears the preferred channel."""
    given = action.fields.get("channel")
    channel = visit.sprint.assets.channels.get(given["uuid"]) if given else None
    if given and channel is None:
        visit.log.missing_dependency("channel", given)
        return
    visit.change_contact(lambda editor: prefer_channel(editor, channel))
