"""Whether tests take all of their cases. Otherwise those are left out that ask again what another case has asked: every
case stays that differs in what the rule is about.
"""

import os

EVERY_CASE = os.environ.get("RELAYBOARD_EVERY_CASE") == "1"
