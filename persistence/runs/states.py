"""How the engine's runs are stored (flow format, sessions and results)."""

import re
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from flows.engine.state import Result, Run
from persistence.runs.runs import EXPIRED, RunState
from persistence.sql.columns import time_text

ACTIONS, RULES = "A", "R"
_AS_STORED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)


def describe_run(
    run: Run,
    *,
    flow_id: int,
    contact_id: int,
    session_id: int | None,
    routing_nodes: Collection[str],
    start_id: int | None = None,
    expires_on: datetime | None = None,
) -> RunState:
    """A run of the engine in the form for `save_runs`. `routing_nodes` are the UUIDs of the flow's nodes that have a
    router. `start_id` is only for the run that a start created. `expires_on` is when it will expire; for an expired run
    it is the time of its end.
    """
    exited_on = read_moment(run.exited_on) if run.exited_on else None
    return RunState(
        uuid=run.uuid,
        flow_id=flow_id,
        contact_id=contact_id,
        status=run.status,
        created_on=read_moment(run.created_on),
        session_id=session_id,
        start_id=start_id,
        parent_uuid=run.parent_uuid or None,
        responded=run.had_input,
        results={key: _describe_result(result) for key, result in run.results.items()},
        path=[{"node": step.node_uuid, "time": _rewrite(step.arrived_on)} for step in run.path],
        visits=_describe_visits(run, routing_nodes),
        exits=[step.exit_uuid or "" for step in run.path],
        expires_on=exited_on if run.status == EXPIRED else expires_on,
        exited_on=exited_on,
    )


def read_moment(text: str) -> datetime:
    """A time of the engine, which has an offset."""
    return datetime.fromisoformat(text)


def _rewrite(text: str) -> str:
    return text if _AS_STORED.fullmatch(text) else time_text(read_moment(text))


def _describe_result(result: Result) -> dict[str, Any]:
    return {
        "name": result.name,
        "value": result.value,
        "category": result.category or None,
        "node": result.node_uuid,
        "time": _rewrite(result.created_on),
        "input": result.input or None,
    }


def _describe_visits(run: Run, routing_nodes: Collection[str]) -> list[Mapping[str, Any]]:
    """What only generation 1 shows of each step: the type of the node, when it was left, and the results there. From
    earlier sprints the run knows only the last result of each name; `save_runs` keeps the stored ones.
    """
    saved: dict[int, list[Result]] = {}
    for index, result in run.saved:
        saved.setdefault(index, []).append(result)
    departures = [step.arrived_on for step in run.path[1:]] + [run.exited_on]
    return [
        {
            "type": RULES if step.node_uuid in routing_nodes else ACTIONS,
            "left_on": _rewrite(left_on) if left_on else None,
            "results": [_describe_result(result) for result in saved.get(index, ())],
        }
        for index, (step, left_on) in enumerate(zip(run.path, departures, strict=False))
    ]
