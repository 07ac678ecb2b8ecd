"""Contacts that match a query."""

from dataclasses import replace

from persistence.contacts.query_scope import match_query
from persistence.contacts.v2 import CONTACTS
from persistence.lists import Condition, ListQuery


def _matching(query: ListQuery, text: str) -> Condition:
    return match_query(query.tx, query.workspace, text, "query")


FOUND_CONTACTS = replace(CONTACTS, filters={**CONTACTS.filters, "query": _matching})
"""The list of contacts with a filter more, in the query language of groups."""
