"""The only error of queries."""


class QueryError(ValueError):
    """A query is invalid: `code` for programs, a message for people, and the parts concerned. `position` counts the
    characters of the query before the part at which reading stopped, if that is known.
    """

    def __init__(self, code: str, message: str, extra: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.extra = extra or {}
        self.position: int | None = None


def make_syntax_error(message: str) -> QueryError:
    """The text does not follow the grammar."""
    return QueryError("syntax", message)


def make_complexity_error() -> QueryError:
    """The query exceeds a limit; the message does not say which, so that nobody can probe for it."""
    return QueryError("too_complex", "query is too complex")
