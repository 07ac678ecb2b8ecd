"""Exceptions that the worker's parts raise at the start."""


class QueueError(Exception):
    """The configured queue cannot be used; the message says why."""
