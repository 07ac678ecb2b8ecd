"""Responses that are sent in pieces."""

from contextlib import suppress

from starlette.responses import StreamingResponse
from starlette.types import Receive

from handlers.asgi.refusals import ClientGone, Refusal


class Stream(StreamingResponse):
    """Ends when the client has gone. A wrong body of the request, which nobody needs, ends it too: no other answer can
    follow.
    """

    async def listen_for_disconnect(self, receive: Receive) -> None:
        with suppress(ClientGone, Refusal):
            await super().listen_for_disconnect(receive)
