"""`relayboard doctor`."""

import sys

from relayboard.base.settings import read_environment
from relayboard.doctor.examination import examine
from relayboard.doctor.findings import report
from relayboard.usage.parts import Options


def run_doctor(options: Options) -> int:
    return report(examine(read_environment()), as_json=options.json or not sys.stdout.isatty())
