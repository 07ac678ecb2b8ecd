"""What the doctor finds: one sentence for each thing that it looked at."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

OK, WARNING, PROBLEM = "ok", "warning", "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """`check` names what was looked at, the sentence says how it is and, unless that is `ok`, what to do."""

    check: str
    status: str
    sentence: str


Findings = Iterator[Finding]


def report(findings: Sequence[Finding], *, as_json: bool) -> int:
    """Prints what was found; the exit status, 1 when there is a problem."""
    is_healthy = all(each.status != PROBLEM for each in findings)
    if as_json:
        print(json.dumps({"healthy": is_healthy, "findings": [asdict(each) for each in findings]}))
    else:
        for each in findings:
            print(f"{each.status:<8}{each.check}: {each.sentence}")
        print(_sum_up(findings))
    sys.stdout.flush()
    return 0 if is_healthy else 1


def _sum_up(findings: Sequence[Finding]) -> str:
    found = {kind: sum(each.status == kind for each in findings) for kind in (PROBLEM, WARNING)}
    if found[PROBLEM]:
        return f"Problems: {found[PROBLEM]}."
    return f"No problems, warnings: {found[WARNING]}." if found[WARNING] else "Nothing is wrong."
