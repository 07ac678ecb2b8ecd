"""The report of a move, as a document: what is on both sides, what was lost and why, and what people still have to
do."""

from collections.abc import Mapping
from typing import Any

from persistence.database import Transaction
from persistence.move.comparison import list_active_channels, list_flow_issues, list_old_channels
from persistence.move.moves import Move, count_moved, count_notes, list_notes
from relayboard.move.checklist import make_checklist
from relayboard.move.kinds import COMPARED

MOST_NAMED = 200
SETTINGS = ("country", "timezone", "languages", "date_style", "anon")


def build_report(tx: Transaction, move: Move) -> dict[str, Any]:
    """The report as JSON; texts and pages are made from it."""
    state = move.state
    active, old = list_active_channels(tx, move), list_old_channels(tx, move)
    lost = _list_lost(tx, move)
    flows = list_flow_issues(tx, move)
    missing = [each["name"] for each in lost.get("user", {}).get("records", ())]
    return {
        "workspace": {"uuid": move.workspace.uuid, "name": move.workspace.name},
        "source": {
            "url": move.source,
            **{k: v for k, v in state.get("workspace", {}).items() if k in ("uuid", "name")},
        },
        "passes": state.get("pass", 0),
        "is_complete": "pass" in state and state.get("finished_pass") == state["pass"],
        "finished_on": state.get("finished_on"),
        "switched_on": state.get("switched_on"),
        "verified_on": state.get("verified", {}).get("on"),
        "is_equal": state.get("verified", {}).get("is_equal"),
        "settings": _compare_settings(move),
        "kinds": _list_kinds(tx, move),
        "lost": lost,
        "flows": flows,
        "checklist": make_checklist(move, active=active, old=old, missing_users=missing),
    }


def _compare_settings(move: Move) -> list[dict[str, Any]]:
    """Settings of the workspace that differ: they are chosen here, and change how dates and numbers are read."""
    workspace = move.workspace
    here = {
        "country": workspace.country,
        "timezone": workspace.timezone,
        "languages": list(workspace.languages),
        "date_style": workspace.date_style,
        "anon": workspace.is_anonymous,
    }
    there = move.state.get("workspace", {})
    pairs = ((name, there.get(name), here[name]) for name in SETTINGS)
    return [{"name": name, "there": theirs, "here": ours} for name, theirs, ours in pairs if theirs and theirs != ours]


def _list_kinds(tx: Transaction, move: Move) -> list[dict[str, Any]]:
    counts, verified = count_moved(tx, move), move.state.get("verified", {}).get("kinds", {})
    titles = [(kind.name, kind.title) for kind in COMPARED] + [("trigger", "triggers")]
    found = []
    for name, title in titles:
        carried, lost = counts.get(name, (0, 0))
        compared: Mapping[str, Any] = verified.get(name, {})
        state = move.state.get("kinds", {}).get(name, {})
        found.append(
            {
                "kind": name,
                "title": title,
                "carried": carried,
                "lost": lost,
                "is_missing_there": bool(state.get("is_missing")),
                **{key: compared.get(key) for key in ("there", "here", "gone", "missing", "samples", "different")},
                "missing_names": compared.get("missing_names", []),
                "differences": compared.get("differences", []),
            }
        )
    return found


def _list_lost(tx: Transaction, move: Move) -> dict[str, dict[str, Any]]:
    """What was lost by kind: how often for which reason, and the first records by name."""
    found: dict[str, dict[str, Any]] = {}
    for (kind, why), number in sorted(count_notes(tx, move).items(), key=lambda item: (item[0][0], -item[1])):
        entry = found.setdefault(kind, {"number": 0, "reasons": [], "records": []})
        entry["number"] += number
        if len(entry["reasons"]) < MOST_NAMED:
            entry["reasons"].append({"why": why, "number": number})
    for kind, entry in found.items():
        entry["records"] = [
            {"name": each.name or each.reference, "why": each.note, "is_here": each.record is not None}
            for each in list_notes(tx, move, kind, MOST_NAMED)
        ]
    return found
