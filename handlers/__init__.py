"""HTTP in: translation between requests and persistence, nothing else.

Connexion is loaded here without its own support of Flask, and its client of HTTP without its command, which draws on
terminals: neither is used, and loading them takes a fifth of the time.
"""

from relayboard.base.optional_packages import passing_over

with passing_over("flask", "rich"):
    import connexion  # noqa: F401  # every module that uses it finds it loaded like this
