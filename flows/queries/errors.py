"""The one way in which a query is refused."""


class QueryError(ValueError):
    """A query that cannot be used: `code` for programs, a sentence for people, and the parts it is about."""

    def __init__(self, code: str, message: str, extra: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.extra = extra or {}


def make_syntax_error(message: str) -> QueryError:
    """The text does not follow the grammar."""
    return QueryError("syntax", message)


def make_complexity_error() -> QueryError:
    """The query is over a limit; which one is not said, so that nobody can probe for it."""
    return QueryError("too_complex", "query is too complex")
