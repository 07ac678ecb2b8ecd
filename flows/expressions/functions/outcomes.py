"""What router tests return (flow format, router tests)."""

from flows.expressions.values import Value, XObject


def matched(match: Value, extra: XObject | None = None) -> XObject:
    """The outcome of a test that found something; as a simple value it is true."""
    properties: dict[str, Value] = {"match": match}
    if extra is not None:
        properties["extra"] = extra
    return XObject(properties, default=True)


def not_matched() -> XObject:
    """The outcome of a test that found nothing; as a simple value it is false."""
    return XObject({"match": ""}, default=False)
