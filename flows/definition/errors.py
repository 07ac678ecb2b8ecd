"""The only error that reading a flow definition raises, and how it tells a value that breaks a rule."""

import json

TOLD_LENGTH = 40


class DefinitionError(ValueError):
    """A definition is invalid, with the place of the error. The place is the UUIDs of flow, node and action, as far as
    known, and the path of the field.
    """

    def __init__(self, message: str, *, flow: str = "", node: str = "", action: str = "", field: str = "") -> None:
        self.message = message
        self.flow = flow
        self.node = node
        self.action = action
        self.field = field
        parts = (("flow", flow), ("node", node), ("action", action), ("field", field))
        place = [f"{kind} {value}" for kind, value in parts if value]
        super().__init__(f"{', '.join(place)}: {message}" if place else message)


def told(value: object) -> str:
    """A value as a sentence names it: a text in quotes, the kind of anything larger.

    >>> told("send_msgs"), told(None), told(3), told([1, 2]), told({})
    ('"send_msgs"', 'nothing', '3', 'a list', 'an object')
    """
    if value is None:
        return "nothing"
    if isinstance(value, list | tuple):
        return "a list"
    if not isinstance(value, str | bool | int | float):
        return "an object"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= TOLD_LENGTH else f'{text[:TOLD_LENGTH]}..."'
