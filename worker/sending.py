"""Handing messages to HTTP gateways."""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from persistence.gateway_sends import GatewaySend, lease_sends, record_sends
from worker.gateway_request import make_requests
from worker.safe_http import SafeHttp
from worker.send_failed import SendFailed
from worker.services import Services

logger = logging.getLogger("relayboard.sending")

BATCH = 32
HANDS = 8


def begin_sending(services: Services) -> Callable[[], bool]:
    """The step that leases a batch of messages, calls their gateways outside any transaction, and records outcomes."""
    pool = ThreadPoolExecutor(HANDS, thread_name_prefix="gateway")
    services.closing.callback(pool.shutdown)

    def step() -> bool:
        with services.database.writing() as tx:
            sends = lease_sends(tx, BATCH)
        if not sends:
            return False
        accepted = list(pool.map(lambda send: is_accepted(services.http, send), sends))
        with services.database.writing() as tx:
            wired = [send for send, ok in zip(sends, accepted, strict=True) if ok]
            failed = [send for send, ok in zip(sends, accepted, strict=True) if not ok]
            record_sends(tx, wired, failed)
        return len(sends) == BATCH

    return step


def is_accepted(http: SafeHttp, send: GatewaySend) -> bool:
    """Whether the gateway took every part of the message: a 2xx answer, holding the check text if one is set."""
    wanted = str(send.config.get("mt_response_check") or "")
    for request in make_requests(send):
        try:
            answer = http.send(request.method, request.url, headers=request.headers, body=request.body)
        except SendFailed as error:
            logger.warning("message %s could not be handed over: %s", send.message_id, error)
            return False
        if not 200 <= answer.status < 300 or wanted.encode() not in answer.body:
            logger.warning("message %s was refused with status %s", send.message_id, answer.status)
            return False
    return True
