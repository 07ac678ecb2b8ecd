"""The report as text and as a page for people."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from relayboard.base.terminal_text import printable

Report = Mapping[str, Any]

STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #d5dae0;vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}.open{color:#8a4b00}.done{color:#1a6b33}.bad{color:#a3161f}
tr.bad td{background:#fdecec}@media(prefers-color-scheme:dark){body{background:#14171b;color:#e6e9ed}
th,td{border-color:#343b44}.open{color:#f0b45b}.done{color:#6cd08b}.bad{color:#ff8f8f}tr.bad td{background:#3a1b1e}}"""


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
            is_told = difference["there"] or difference["here"]
            yield f"{place}: {difference['there']} there, {difference['here']} here" if is_told else f"{place} differs"
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


def write_page(report: Report) -> str:
    """One HTML file, without anything from elsewhere."""
    title = f"Move of {escape(report['workspace']['name'])}"
    body = "\n".join(_page_parts(report))
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    return f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head><body>\n{body}\n</body></html>\n'


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
