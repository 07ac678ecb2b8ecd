"""The one exception of calls to the outside."""


class SendFailed(Exception):
    """No answer came. `kind` is one word for counters, the message a sentence that a user can read.

    Kinds: `url`, `header` (not sendable), `address` (not allowed), `dns`, `connect`, `timeout`, `tls`, `broken` (closed
    or not HTTP).
    """

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence
