"""Small requests of all workspaces next to searches through all messages of one workspace."""

import argparse
import threading
import time
from typing import Any

import requests

from bench.data import build
from bench.fairness.tenants import Tenant, compare, service
from bench.gateways import Gateway
from testbed.tokens import SECRET_KEY

SEARCHERS = 4
ABSENT = "never written by anybody"


def measure_searches(options: argparse.Namespace) -> dict[str, Any]:
    """Four text searches without a match run for one workspace; another one asks for its labels."""
    with service(options.database) as running:
        facts = build(running.database, SECRET_KEY, options.messages, max(options.messages // 10, 1))
        b = Tenant.begin(running, "B", Gateway(0.0).url)
        _ask_labels(b, 20)
        alone = _ask_labels(b, options.count)
        ended = threading.Event()
        searched: list[float] = []
        threads = [
            threading.Thread(target=_search, args=(running.url, facts["token"], ended, searched))
            for _ in range(SEARCHERS)
        ]
        for thread in threads:
            thread.start()
        time.sleep(0.5)
        beside = _ask_labels(b, options.count)
        ended.set()
        for thread in threads:
            thread.join()
        return compare(
            "searches",
            alone,
            beside,
            messages=options.messages,
            searches=len(searched),
            slowest_search_seconds=max(searched),
        )


def _ask_labels(tenant: Tenant, count: int) -> list[float]:
    waits = []
    for _ in range(count):
        began = time.monotonic()
        answer = tenant.session.get(
            f"{tenant.running.url}/api/v2/labels.json", headers={"Authorization": f"Token {tenant.token}"}, timeout=120
        )
        answer.raise_for_status()
        waits.append(time.monotonic() - began)
        time.sleep(0.05)
    return waits


def _search(url: str, token: str, ended: threading.Event, searched: list[float]) -> None:
    while not ended.is_set():
        began = time.monotonic()
        requests.get(
            f"{url}/api/v1/messages.json",
            params={"text": ABSENT},
            headers={"Authorization": f"Token {token}"},
            timeout=120,
        )
        searched.append(round(time.monotonic() - began, 2))
