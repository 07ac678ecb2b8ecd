"""Old sums, which added days and times to dates as well as numbers (flow format, versions and migrations)."""

from flows.definition.legacy.operands import Kind, Level, Operand, write_binary, write_call, write_negation

MINUTES_OF_TIME = 'format_time({0}, "tt") * 60 + format_time({0}, "m")'


def write_sum(left: Operand, right: Operand, *, is_minus: bool, raw_dates: bool) -> Operand:
    """The sum or difference in the new language; if the kinds are unknown it is decided at run time.

    `raw_dates` keeps dates as values, for tests; otherwise they become text in the format of the workspace.
    """
    kinds = (left.kind, right.kind)
    if kinds == (Kind.NUMBER, Kind.NUMBER):
        return write_binary("-" if is_minus else "+", Level.SUM, left, right)
    added = write_negation(right) if is_minus else right
    if kinds == (Kind.DATETIME, Kind.NUMBER):
        return write_call("datetime_add", [left.text, added.text, '"D"'])
    if kinds == (Kind.DATE, Kind.NUMBER):
        moved = write_call("datetime_add", [left.text, added.text, '"D"'])
        return moved if raw_dates else format_date(moved)
    if kinds == (Kind.DATETIME, Kind.TIME):
        minutes = MINUTES_OF_TIME.format(right.text)
        return write_call("datetime_add", [left.text, f"-({minutes})" if is_minus else minutes, '"m"'])
    if right.kind is Kind.TIME and not is_minus:
        return write_call("replace_time", [left.text, right.text])
    return write_call("legacy_add", [left.text, added.text])


def format_date(operand: Operand) -> Operand:
    """A date as text that further sums still treat as a date."""
    return write_call("format_date", [operand.text], Kind.DATE)
