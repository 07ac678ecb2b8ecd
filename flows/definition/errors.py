"""The only error that reading a flow definition raises."""


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
