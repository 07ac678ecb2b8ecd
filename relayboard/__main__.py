"""`python -m relayboard` is the console script `relayboard`."""

import sys

from relayboard.cli import main

sys.exit(main())
