"""The contact query language, for searches and smart groups, such as `age > 18 AND state = Kigali`. `parse_query`
parses a text into a tree whose text is its canonical form; `evaluate` decides for one contact; `inspect` lists what a
query depends on.
"""

from flows.queries.evaluation import QueryableContact, QueryValue, evaluate
from flows.queries.parser import parse_query
from flows.queries.resolver import FieldReference, ListResolver, NamedReference, PropertyKind, Resolver, ValueType
from flows.queries.tree import Combination, Condition, Query, QueryError, render
from flows.queries.validation import Inspection, inspect

__all__ = ["Combination", "Condition", "FieldReference", "Inspection", "ListResolver", "NamedReference"]
__all__ += ["PropertyKind", "Query", "QueryError", "QueryValue", "QueryableContact", "Resolver"]
__all__ += ["ValueType", "evaluate", "inspect", "parse_query", "render"]
