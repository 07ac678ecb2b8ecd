"""What the worker's parts raise for those who start them."""


class QueueError(Exception):
    """The queue that a setting names cannot be used; the message says why."""
