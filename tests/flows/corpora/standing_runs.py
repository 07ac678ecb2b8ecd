"""Runs where they stand, to evaluate the templates of cases in."""

from collections.abc import Mapping
from typing import Any

from flows.engine.assets import Assets
from flows.engine.engine import find_flow_of, read_resume
from flows.engine.options import Options
from flows.engine.services import NO_SERVICES, Services
from flows.engine.sprint import Sprint
from flows.engine.state import EventLog, Run, Session
from flows.engine.visit import Visit
from flows.environment import Clock


def visit_run(
    session: Session,
    run: Run,
    *,
    assets: Assets,
    clock: Clock,
    services: Services = NO_SERVICES,
    options: Options | None = None,
    resume: Mapping[str, Any] | None = None,
) -> Visit | None:
    """A run where it stands now, to evaluate templates in; None if its flow or node does not exist any more.

    `resume` is what woke the session last. Nothing done with the visit changes the session that is given.
    """
    options = options or Options(generation=session.generation)
    read = read_resume(resume) if resume else None
    copied = session.copy()
    sprint = Sprint(copied, assets, clock, services, options, EventLog(clock, options.generation), read)
    standing = copied.find_run(run.uuid)
    flow = find_flow_of(sprint, run)
    if standing is None or flow is None or not run.path:
        return None
    node = flow.find_node(run.path[-1].node_uuid)
    return Visit(sprint, standing, flow, node) if node else None
