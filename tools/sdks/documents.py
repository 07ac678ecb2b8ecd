"""The contract as generators of clients read it best."""

import copy
from typing import Any

from openapi.bundle import HTTP_METHODS, bundle

Document = dict[str, Any]
GENERATIONS = ("v1", "v2")


def read_document(generation: str) -> Document:
    """Without conditions (`not`, lengths of files), which the service checks and some generators take for shapes;
    without links and the calls that the service makes; and with one tag for each operation, because generators make a
    class for each.
    """
    document: Document = _without_conditions(copy.deepcopy(bundle(generation)))
    for path in document["paths"].values():
        for operation in (path[method] for method in HTTP_METHODS if method in path):
            operation.pop("callbacks", None)
            operation["tags"] = operation["tags"][:1]
            for answer in operation["responses"].values():
                answer.pop("links", None)
    return document


def _without_conditions(node: Any) -> Any:
    if isinstance(node, dict):
        left_out = {"not"} | ({"minLength", "maxLength"} if node.get("format") == "binary" else set())
        return {key: _without_conditions(value) for key, value in node.items() if key not in left_out}
    if isinstance(node, list):
        return [_without_conditions(each) for each in node]
    return node
