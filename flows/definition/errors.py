"""The one error that reading a flow definition raises."""


class DefinitionError(ValueError):
    """A definition that cannot be used, with the place of the fault: flow and node UUIDs and the path of the field."""

    def __init__(self, message: str, *, flow: str = "", node: str = "", field: str = "") -> None:
        self.message = message
        self.flow = flow
        self.node = node
        self.field = field
        place = [f"{kind} {value}" for kind, value in (("flow", flow), ("node", node), ("field", field)) if value]
        super().__init__(f"{', '.join(place)}: {message}" if place else message)
