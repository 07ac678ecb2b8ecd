"""`python -m bench.fairness EXPERIMENT`: how long other workspaces wait while one uses all it can get. Each experiment
measures a workspace alone and next to another one in one run, with real API and worker processes, and prints JSON:
median and 99th percentile of both, and their ratio.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

from bench.fairness.conversations import measure_flood, measure_silent_webhook
from bench.fairness.groups import measure_evaluation, measure_smart_groups
from bench.fairness.phones import measure_new_senders, measure_phones
from bench.fairness.searches import measure_searches

Experiment = Callable[[argparse.Namespace], dict[str, Any]]
EXPERIMENTS: dict[str, Experiment] = {
    "silent-webhook": measure_silent_webhook,
    "flood": measure_flood,
    "searches": measure_searches,
    "evaluation": measure_evaluation,
    "phones": measure_phones,
    "new-senders": measure_new_senders,
    "smart-groups": measure_smart_groups,
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.fairness", description=__doc__)
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="postgresql")
    parser.add_argument("--count", type=int, default=60, help="measured requests or messages, alone and beside")
    parser.add_argument("--contacts", type=int, default=6, help="contacts in the flow whose webhook is silent")
    parser.add_argument("--flood", type=int, default=2000, help="messages that come in at once")
    parser.add_argument("--messages", type=int, default=200_000, help="messages that are searched through")
    parser.add_argument("--contacts-of-group", type=int, default=20_000, help="contacts, half of them in the group")
    parser.add_argument("--phones", type=int, default=20, help="phones that relay SMS of the same senders")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long the phones do")
    parser.add_argument("--deliveries", type=int, default=2000, help="events that wait for their receiver")
    parser.add_argument("--queued", type=int, default=2000, help="messages that wait for the gateway")
    options = parser.parse_args(arguments)
    print(json.dumps(EXPERIMENTS[options.experiment](options), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
