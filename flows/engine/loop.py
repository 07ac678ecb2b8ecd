"""Runs a session from node to node until it waits or ends (flow format, a sprint)."""

from enum import Enum, auto
from typing import NamedTuple

from flows.definition import Action, Flow, Node
from flows.definition.action_types import action_types
from flows.engine.router import Choice, route
from flows.engine.sprint import Sprint
from flows.engine.state import ACTIVE, COMPLETED, FAILED, WAITING, Run, Step
from flows.engine.visit import Visit
from flows.engine.wait import begin_wait


class Ending(Enum):
    """How the visit of a node ended."""

    WAITS = auto()
    LEAVES = auto()
    FAILED = auto()


class Departure(NamedTuple):
    """A node left by an exit; no node at the beginning of a flow or if there is no destination."""

    node: Node | None = None
    choice: Choice = Choice("")


def run_sprint(sprint: Sprint, run: Run | None, departure: Departure) -> None:
    """Continues where a run left a node, or with a pushed flow, until the session waits or ends."""
    while True:
        if sprint.pushed is not None:
            run, node = _enter_pushed(sprint, run)
            if run is None:
                return
        else:
            assert run is not None, "a sprint begins with a run or with a pushed flow"
            node = _follow(sprint, run, departure)
        if run is None:
            return
        if node is None:
            next_run = _leave_run(sprint, run)
            if next_run is None:
                return
            run, departure = next_run, _return_to(sprint, next_run, departure.node)
            continue
        ending, departure = _visit(sprint, run, node)
        if ending is Ending.WAITS:
            return


def find_flow_of(sprint: Sprint, run: Run) -> Flow | None:
    """The flow of a run, if it still exists."""
    return sprint.find_flow(str(run.flow.get("uuid", "")))


def leave_step(visit: Visit, choice: Choice) -> Choice:
    """Records by which exit the current node is left; fails the run if its router found none."""
    run = visit.run
    if visit.node.router is not None and not choice.exit_uuid:
        visit.sprint.fail(run, f"Router on node[uuid={visit.node.uuid}] failed to pick a category")
    if run.path and choice.exit_uuid:
        run.path[-1] = run.path[-1].left_by(choice.exit_uuid)
    return choice


def _enter_pushed(sprint: Sprint, parent: Run | None) -> tuple[Run | None, Node | None]:
    pushed = sprint.pushed
    assert pushed is not None
    sprint.pushed = None
    if pushed.is_terminal:
        sprint.complete_runs()
    if len(sprint.session.runs) >= sprint.options.runs_per_session and parent is not None:
        sprint.fail(parent, f"Reached maximum number of runs per session ({sprint.options.runs_per_session})")
        sprint.session.status = FAILED
        return None, None
    parent_uuid = parent.uuid if parent else _started_by(sprint)
    run = sprint.start_run(pushed.flow, parent, parent_uuid, is_terminal=pushed.is_terminal)
    return run, pushed.flow.nodes[0] if pushed.flow.nodes else None


def _started_by(sprint: Sprint) -> str:
    summary = sprint.session.trigger.get("run_summary") or {}
    return str(summary.get("uuid", ""))


def _follow(sprint: Sprint, run: Run, departure: Departure) -> Node | None:
    flow = find_flow_of(sprint, run)
    if flow is None or departure.node is None or not departure.choice.exit_uuid or run.is_over:
        return None
    destination = flow.destination_of(departure.choice.exit_uuid)
    if destination is None:
        return None
    segment = {
        "flow_uuid": flow.uuid,
        "node_uuid": departure.node.uuid,
        "exit_uuid": departure.choice.exit_uuid,
        "operand": departure.choice.operand,
        "destination_uuid": destination.uuid,
        "time": sprint.now(),
    }
    if not departure.choice.operand:
        del segment["operand"]
    sprint.segments.append(segment)
    return destination


def _leave_run(sprint: Sprint, run: Run) -> Run | None:
    if not run.is_over:
        sprint.end_run(run, COMPLETED)
    parent = sprint.session.find_run(run.parent_uuid) if run.parent_uuid else None
    if parent is None or parent.status != ACTIVE:
        sprint.session.status = FAILED if run.status == FAILED else COMPLETED
        return None
    if run.status == FAILED:
        sprint.end_run(parent, FAILED)
        return _leave_run(sprint, parent)
    return parent


def _return_to(sprint: Sprint, run: Run, left: Node | None) -> Departure:
    flow = find_flow_of(sprint, run)
    node = flow.find_node(run.path[-1].node_uuid) if flow and run.path else None
    if flow is None or node is None:
        sprint.log.step_uuid = ""
        sprint.fail(run, "Can't resume run with missing flow asset" if flow is None else "Can't find node in flow")
        return Departure()
    sprint.log.step_uuid = run.path[-1].uuid
    choice = _route(Visit(sprint, run, flow, node))
    # Segments of a return were always counted for the node visited last, which is the child's.
    return Departure(left or node, choice)


def _visit(sprint: Sprint, run: Run, node: Node) -> tuple[Ending, Departure]:
    sprint.steps += 1
    if sprint.steps > sprint.options.steps_per_sprint:
        sprint.fail(run, f"Reached maximum number of steps per sprint ({sprint.options.steps_per_sprint})")
        return Ending.FAILED, Departure()
    now = sprint.now()
    step = Step(node.uuid, now, uuid=sprint.clock.uuid() if sprint.options.is_early else "")
    run.path.append(step)
    run.modified_on = now
    sprint.log.step_uuid = step.uuid
    flow = find_flow_of(sprint, run)
    assert flow is not None, "the node that is visited was found in it"
    visit = Visit(sprint, run, flow, node)
    for action in node.actions:
        _run_action(visit, action)
        if run.is_over:
            return Ending.FAILED, Departure()
    if sprint.pushed is not None:
        return Ending.LEAVES, Departure(node)
    if node.router is not None and node.router.wait is not None and begin_wait(visit, node.router.wait):
        run.status = WAITING
        sprint.session.status = WAITING
        return Ending.WAITS, Departure()
    return Ending.LEAVES, Departure(node, _route(visit))


def _run_action(visit: Visit, action: Action) -> None:
    kind = action_types().get(action.type)
    if kind is None:
        visit.log.error(f"{action.type} actions are not supported", "action:unsupported")
    else:
        kind.run(visit, action)


def _route(visit: Visit) -> Choice:
    router = visit.node.router
    exits = visit.node.exits
    return leave_step(visit, route(visit, router) if router else Choice(exits[0].uuid if exits else ""))
