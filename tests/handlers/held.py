"""Work for the lanes of requests that goes on until a test lets it go."""

import threading
from collections.abc import Callable

import anyio

from testbed.patience import PATIENCE_SECONDS


class Held:
    """Work that goes on until it is let go, and says how many are at it."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.lock = threading.Lock()
        self.now = self.most = self.begun = 0

    def __call__(self, _is_slow: bool = False) -> str:
        with self.lock:
            self.begun += 1
            self.now += 1
            self.most = max(self.most, self.now)
        assert self.go_on.wait(PATIENCE_SECONDS)
        with self.lock:
            self.now -= 1
        return "held"


async def until(is_true: Callable[[], bool]) -> None:
    with anyio.fail_after(PATIENCE_SECONDS):
        while not is_true():
            await anyio.sleep(0.005)
