"""The `relayboard` command line (design section 6)."""


def main() -> int:
    return 0
