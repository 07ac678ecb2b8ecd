"""The exception of commands, apart from all that is loaded to do them."""


class CommandFailed(Exception):
    """A command cannot do what was requested; the message says why."""
