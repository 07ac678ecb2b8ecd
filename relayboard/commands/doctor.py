"""`relayboard doctor`."""

import argparse
from typing import Any

from relayboard.base.settings import read_environment
from relayboard.doctor.examination import examine
from relayboard.doctor.findings import report


def register(commands: Any) -> None:
    doctor = commands.add_parser("doctor", help="look at the installation and say what is wrong and what to do")
    doctor.add_argument("--json", action="store_true", help="as JSON; the exit status is 1 when there is a problem")
    doctor.set_defaults(run=run_doctor)


def run_doctor(options: argparse.Namespace) -> int:
    return report(examine(read_environment()), as_json=options.json)
