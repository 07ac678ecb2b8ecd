"""Where something is in a flow: at which node, in which action, in which property, in which translation."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Empty texts where a part does not apply: a router has no action, the flow's own language is not named.

    `field` is the path of a property from the action or node on, like `groups` or `router.cases.arguments`.
    """

    node_uuid: str
    action_uuid: str = ""
    field: str = ""
    language: str = ""
