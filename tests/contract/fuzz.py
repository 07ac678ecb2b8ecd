"""The long variant of test_schemathesis.py: `python -m tests.contract.fuzz --examples 200`."""

import argparse
import os
import sys
from pathlib import Path

import pytest

EXAMPLES = "RELAYBOARD_FUZZ_EXAMPLES"


def main(arguments: list[str]) -> int:
    """Runs the fuzzing with a number of examples per operation; the exit code of pytest."""
    parser = argparse.ArgumentParser(prog="python -m tests.contract.fuzz")
    parser.add_argument("--examples", type=int, default=200, help="examples per operation (default 200)")
    os.environ[EXAMPLES] = str(parser.parse_args(arguments).examples)
    return int(pytest.main([str(Path(__file__).with_name("test_schemathesis.py"))]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
