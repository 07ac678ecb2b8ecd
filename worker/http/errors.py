"""The only exception of HTTP calls."""


class SendFailed(Exception):
    """There was no response. `kind` is one word for counters, the message a sentence for users. Kinds: `url`, `header`
    (cannot be sent), `address` (not allowed), `dns`, `connect`, `timeout`, `tls`, `broken` (closed or not HTTP).
    """

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence
