"""Takes requests of the API past the layers of pages."""

from collections.abc import Collection

from starlette.types import ASGIApp, Receive, Scope, Send


class Bypass:
    """ASGI layer that passes requests for these paths to `api` and all others to `pages`, which is made of many layers
    that each look at the path.
    """

    def __init__(self, api: ASGIApp, pages: ASGIApp, paths: Collection[str]) -> None:
        self._api, self._pages, self._paths = api, pages, frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_known = scope["type"] == "http" and scope["path"] in self._paths
        await (self._api if is_known else self._pages)(scope, receive, send)
