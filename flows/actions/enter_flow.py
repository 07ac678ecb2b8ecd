"""Enters another flow (flow format, enter_flow)."""

from flows.definition import Action
from flows.definition.action_types import action_type
from flows.definition.fields import NAME_LENGTH, boolean, reference
from flows.engine.sprint import PushedFlow
from flows.engine.visit import BACKGROUND, Visit


@action_type(
    {"flow": reference("flow", NAME_LENGTH, required=True), "terminal": boolean()}, drawn="Enter {flow}", palette="flow"
)
def enter_flow(visit: Visit, action: Action) -> None:
    """Pushes a flow, which starts when the node's actions are done; if it does not exist, the session fails."""
    given = action.fields["flow"]
    flow = visit.sprint.assets.find_readable_flow(given["uuid"])
    if flow is None:
        visit.sprint.fail(visit.run, f"Unable to find flow '{given.get('name', '')}'")
        return
    session_type = visit.sprint.session.type
    if flow.type not in (session_type, BACKGROUND):
        described = f"flow[uuid={flow.uuid},name={flow.name}]"
        visit.sprint.fail(visit.run, f"Can't enter {described} of type {flow.type} from type {session_type}")
        return
    is_terminal = bool(action.fields.get("terminal"))
    visit.sprint.pushed = PushedFlow(flow, is_terminal)
    if visit.options.is_early:
        entered = {"flow": {"uuid": flow.uuid, "name": flow.name}, "parent_run_uuid": visit.run.uuid}
        visit.log.add("flow_entered", {**entered, "terminal": is_terminal})
