"""The report of a move, as a document, as text and as a page for people: what is on both sides, what was lost and why,
and what people still have to do.

The steps of a move that people take, and how far each is. What can be seen is seen; nobody has to tick it.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Any

from persistence.database import Transaction
from persistence.move.comparison import list_active_channels, list_flow_issues, list_old_channels
from persistence.move.moves import CAMPAIGN, CAMPAIGN_EVENT, Move, count_moved, count_notes, list_notes
from relayboard.base.terminal_text import printable
from relayboard.move.kinds import COMPARED

MOST_NAMED = 200
SETTINGS = ("country", "timezone", "languages", "date_style", "anon")

Report = Mapping[str, Any]

STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #d5dae0;vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}.open{color:#8a4b00}.done{color:#1a6b33}.bad{color:#a3161f}
tr.bad td{background:#fdecec}@media(prefers-color-scheme:dark){body{background:#14171b;color:#e6e9ed}
th,td{border-color:#343b44}.open{color:#f0b45b}.done{color:#6cd08b}.bad{color:#ff8f8f}tr.bad td{background:#3a1b1e}}"""

DONE, OPEN = "done", "open"

CATCH_UP = "Run the command once more after the last phone was claimed: it brings the last messages of the other side"


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


def write_text(report: Report) -> str:
    """For terminals too, which do not obey what the other server calls its records."""
    return printable("\n".join(_text_lines(report)) + "\n")


def headline(report: Report) -> str:
    """What the report says, in one sentence."""
    if not report["is_complete"]:
        return "The move is not complete: run the command again."
    if report["is_equal"] is None:
        return "Everything was read; both sides have not been compared yet."
    return "Both sides agree." if report["is_equal"] else "There are differences between both sides."


def write_page(report: Report) -> str:
    """One HTML file, without anything from elsewhere."""
    title = f"Move of {escape(report['workspace']['name'])}"
    body = "\n".join(_page_parts(report))
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    return f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head><body>\n{body}\n</body></html>\n'


def make_checklist(
    move: Move,
    *,
    active: Sequence[Mapping[str, Any]],
    old: Sequence[Mapping[str, Any]],
    missing_users: Sequence[str],
) -> list[dict[str, str]]:
    """The steps in their order: `step`, `state` (`done` or `open`), `text`. `active` are the channels here, `old` those
    of the other side, which are kept switched off."""
    state = move.state
    addresses = {_digits(each["address"]) for each in active}
    waiting = [each for each in old if not each["address"] or _digits(each["address"]) not in addresses]
    phones = [_name(each) for each in waiting if each["is_phone"]]
    gateways = [_name(each) for each in waiting if not each["is_phone"]]
    is_copied, switched = bool(state.get("finished_pass")), bool(state.get("switched_on"))
    subscribers = state.get("kinds", {}).get("subscriber", {}).get("read", 0)
    steps = (
        ("copy", is_copied and state.get("pass") == state["finished_pass"], _tell_copy(state)),
        ("verify", bool(state.get("verified", {}).get("is_equal")), _tell_verification(state.get("verified", {}))),
        ("people", is_copied and not missing_users, _tell("Invite", missing_users, "Everybody is here")),
        ("finish", switched, _tell_finish(state)),
        ("phones", is_copied and not phones, _tell("Reset the phone and claim it here:", phones, "No phone waits")),
        ("gateways", is_copied and not gateways, _tell("Create as gateway here:", gateways, "No gateway waits")),
        ("receivers", is_copied and not subscribers, _tell_receivers(subscribers)),
        ("catch up", switched and not phones and _is_caught_up(state, active), CATCH_UP),
    )
    return [{"step": step, "state": DONE if is_done else OPEN, "text": text} for step, is_done, text in steps]


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


def _text_lines(report: Report) -> Iterator[str]:
    yield f"{report['workspace']['name']}, moved from {report['source'].get('name') or ''} at {report['source']['url']}"
    yield headline(report)
    yield ""
    for each in report["checklist"]:
        yield f"[{'x' if each['state'] == 'done' else ' '}] {each['text']}"
    yield ""
    yield f"{'':22}{'there':>12}{'here':>12}{'carried':>12}{'not':>9}{'missing':>9}{'compared':>10}{'differ':>8}"
    for each in report["kinds"]:
        numbers = (each["there"], each["here"], each["carried"], each["lost"], each["missing"], each["samples"])
        widths = (12, 12, 12, 9, 9, 10)
        told = "".join(_number(value).rjust(width) for value, width in zip(numbers, widths, strict=True))
        yield f"{each['title']:22}{told}{_number(each['different']).rjust(8)}"
    yield from _text_details(report)


def _text_details(report: Report) -> Iterator[str]:
    for each in report["settings"]:
        yield f"setting {each['name']}: {_setting(each['there'])} there, {_setting(each['here'])} here"
    for kind, lost in report["lost"].items():
        yield ""
        yield f"{kind}: {lost['number']:,} not carried or not whole"
        for reason in lost["reasons"]:
            yield f"  {reason['number']:,} times: {reason['why']}"
        yield from (f"    {each['name']}: {each['why']}" for each in lost["records"])
    for each in report["kinds"]:
        yield from (f"{each['title']}: {name} is missing" for name in each["missing_names"])
        for difference in each["differences"]:
            place = f"{each['title']}: {difference['reference']}, {difference['field']}"
            is_reported = difference["there"] or difference["here"]
            yield (
                f"{place}: {difference['there']} there, {difference['here']} here"
                if is_reported
                else f"{place} differs"
            )
    if report["flows"]:
        yield ""
        yield "Flows that need a hand:"
    for flow in report["flows"]:
        yield f"  {flow['name']}: {'; '.join(_issue(each) for each in flow['issues'])}"


def _issue(issue: Mapping[str, Any]) -> str:
    dependency = issue.get("dependency") or {}
    name = dependency.get("name") or dependency.get("uuid") or dependency.get("key") or ""
    told = str(issue.get("description") or issue["type"].replace("_", " "))
    return f"{told} ({dependency.get('type', '')} {name})".replace("( ", "(") if name and name not in told else told


def _setting(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def _number(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _page_parts(report: Report) -> Iterator[str]:
    source = report["source"]
    yield f"<h1>Move of {escape(report['workspace']['name'])}</h1>"
    colour = "done" if report["is_equal"] else "open" if report["is_equal"] is None else "bad"
    yield f"<p>From {escape(str(source.get('name') or ''))} at {escape(source['url'])}. "
    yield f'<strong class="{colour}">{headline(report)}</strong></p>'
    yield "<h2>Steps</h2><ul>"
    for each in report["checklist"]:
        mark = "Done" if each["state"] == "done" else "Open"
        yield f'<li><strong class="{each["state"]}">{mark}:</strong> {escape(each["text"])}</li>'
    yield "</ul><h2>Both sides</h2>"
    yield from _page_kinds(report)
    yield from _page_lists(report)


def _page_kinds(report: Report) -> Iterator[str]:
    names = ("there", "here", "carried", "lost", "missing", "samples", "different")
    titles = ("There", "Here", "Carried", "Not carried", "Missing", "Compared", "Different")
    yield "<table><thead><tr><th>Kind</th>" + "".join(f'<th class="n">{each}</th>' for each in titles) + "</tr></thead>"
    yield "<tbody>"
    for each in report["kinds"]:
        is_bad = each["missing"] or each["different"]
        cells = "".join(f'<td class="n">{_number(each[name])}</td>' for name in names)
        yield f"<tr{' class=bad' if is_bad else ''}><td>{escape(each['title'])}</td>{cells}</tr>"
    yield "</tbody></table>"


def _page_lists(report: Report) -> Iterator[str]:
    if report["settings"]:
        rows = [(each["name"], _setting(each["there"]), _setting(each["here"])) for each in report["settings"]]
        yield from _table("Settings that differ", ("Setting", "There", "Here"), rows)
    missing = [(each["title"], name) for each in report["kinds"] for name in each["missing_names"]]
    if missing:
        yield from _table("Missing here", ("Kind", "Record"), missing)
    names = ("reference", "field", "there", "here")
    different = [
        (each["title"], *(str(one[name]) for name in names)) for each in report["kinds"] for one in each["differences"]
    ]
    if different:
        yield from _table("Differences", ("Kind", "Record", "What", "There", "Here"), different)
    for kind, lost in report["lost"].items():
        rows = [(each["name"], each["why"], "yes" if each["is_here"] else "no") for each in lost["records"]]
        more = lost["number"] - len(rows)
        yield from _table(f"{kind}: not carried, or not whole ({lost['number']:,})", ("Name", "Why", "Is here"), rows)
        yield f"<p>and {more:,} more</p>" if more else ""
    issues = [(flow["name"], "; ".join(_issue(each) for each in flow["issues"])) for flow in report["flows"]]
    if issues:
        yield from _table("Flows that need a hand", ("Flow", "What it lacks"), issues)


def _table(title: str, names: tuple[str, ...], rows: list[Any]) -> Iterator[str]:
    yield f"<h2>{escape(title)}</h2><table><thead><tr>"
    yield "".join(f"<th>{escape(name)}</th>" for name in names) + "</tr></thead><tbody>"
    yield from ("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    yield "</tbody></table>"


def _digits(address: str | None) -> str:
    return "".join(each for each in address or "" if each.isalnum()).lower()


def _name(each: Mapping[str, Any]) -> str:
    return " ".join(str(part) for part in (each["name"], each["address"]) if part) or "a channel without a name"


def _tell(what: str, names: Sequence[str], otherwise: str) -> str:
    return f"{what} {', '.join(names)}" if names else otherwise


def _tell_copy(state: Mapping[str, Any]) -> str:
    number = state.get("finished_pass", 0)
    if state.get("pass", 0) != number:
        return f"Copy while the other side lives: pass {number + 1} is unfinished; run the command again"
    told = f"pass {number} was finished on {state['finished_on']}" if number else "not begun"
    return f"Copy while the other side lives: {told}"


def _tell_verification(verified: Mapping[str, Any]) -> str:
    if not verified:
        return "Compare both sides with --verify: not done yet"
    if verified["is_equal"]:
        found = "they agree"
    else:
        campaigns = (verified.get("kinds", {}).get(kind, {}) for kind in (CAMPAIGN, CAMPAIGN_EVENT))
        is_theirs = any(each.get("missing") or each.get("different") for each in campaigns)
        found = "there are differences" + (", those of campaigns until --finish once more" if is_theirs else "")
    return f"Both sides were compared on {verified['on']}: {found}"


def _tell_finish(state: Mapping[str, Any]) -> str:
    if state.get("switched_on"):
        return f"The last pass was made with --finish on {state['switched_on']}"
    campaigns = [str(each["name"]) for each in state.get("campaigns", ()) if not each["archived"]]
    stop = "Archive campaigns and triggers on the other side, so that it starts nothing new; then run with --finish"
    return _tell(f"{stop}, which brings the campaigns", campaigns, stop)


def _tell_receivers(number: int) -> str:
    if not number:
        return "No resthook has subscribers"
    return f"Subscribers of resthooks ({number}) need their new secrets, if they check signatures"


def _is_caught_up(state: Mapping[str, Any], active: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the last pass began after the switch and after the newest channel here was created."""
    began = datetime.fromisoformat(state["pass_began_on"])
    latest = [datetime.fromisoformat(state["switched_on"]), *(each["created_on"] for each in active)]
    return state.get("finished_pass") == state.get("pass") and all(began > each for each in latest)
