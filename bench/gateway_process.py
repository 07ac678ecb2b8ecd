"""A gateway in a process of its own: those who measure in this one do not wait for it."""

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Protocol

from bench.gateways import Gateway

START_SECONDS = 60.0
LEAST = 19
"""The niceness of who comes last."""


class _Number(Protocol):
    value: int


@dataclass(frozen=True, slots=True)
class GatewayProcess:
    """The URL of the gateway and the number of calls that it got so far."""

    url: str
    _calls: _Number

    @property
    def calls(self) -> int:
        return self._calls.value


@contextmanager
def gateway_process() -> Iterator[GatewayProcess]:
    """A gateway that answers at once, until the end of the block. Elsewhere it has a machine of its own, so here it
    takes a processor only while nobody else wants it.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    calls = context.Value("Q", 0, lock=False)
    process = context.Process(target=_serve, args=(theirs, calls), daemon=True)
    process.start()
    try:
        if not ours.poll(START_SECONDS):
            raise RuntimeError("the process of the gateway does not start")
        yield GatewayProcess(ours.recv(), calls)
    finally:
        process.kill()
        process.join()


def _serve(parent: Connection, calls: _Number) -> None:
    def count(_request: bytes) -> None:
        calls.value += 1  # by the one thread of the gateway

    os.nice(LEAST)
    parent.send(Gateway(0.0, hear=count).url)
    parent.poll(None)  # ends with the parent, of which nothing ever comes
