"""Cases that we knowingly do not follow, by kind of case file and name, each with its reason.

A case listed here has to fail; one that holds after all is reported, so that the list stays short.
"""

DEVIATIONS: dict[str, dict[str, str]] = {}

OTHER_CORPORA: dict[str, str] = {
    "contactql_to_search": "the query language of a search server; ours is compiled to SQL and tested with persistence",
}
