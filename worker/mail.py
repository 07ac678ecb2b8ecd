"""The job that hands letters about accounts to the mail server."""

import logging
from collections.abc import Callable

from flows.engine.services import ServiceError
from persistence.accounts.letters import Writing, write_letter
from persistence.accounts.mail import claim_letter, finish_letter, postpone_letter, read_letter
from persistence.database import Transaction
from worker.flows.services.email import FlowEmail
from worker.metrics import letters
from worker.runtime import Runtime

logger = logging.getLogger("relayboard.worker")


def begin_mail(runtime: Runtime) -> Callable[[], bool]:
    """The step that sends one letter. A letter that the mail server does not take is tried again later."""
    server, database = runtime.settings.smtp_url, runtime.database
    if server is None:
        return lambda: False
    sender = FlowEmail(runtime, server, lambda: None)
    sent: list[int] = []

    def finish(tx: Transaction) -> None:
        for each in sent:
            finish_letter(tx, each)

    def record() -> None:
        """Also what could not be recorded when it was sent, because the database was away: nobody gets it twice."""
        database.write(finish)
        sent.clear()

    def step() -> bool:
        if sent:
            record()
        letter_id = database.write(claim_letter)
        if letter_id is None:
            return False

        def write(tx: Transaction) -> Writing | None:
            return write_letter(tx, read_letter(tx, letter_id), runtime.settings.secret_key)

        writing = database.write(write)
        try:
            if writing is not None:
                sender.send([writing.recipient], writing.subject, writing.text)
        except ServiceError as error:
            reason = str(error)
            due_on = database.write(lambda tx: postpone_letter(tx, letter_id, reason))
            letters.labels("given_up" if due_on is None else "postponed").inc()
            logger.warning("a letter about an account could not be sent: %s; again at %s", reason, due_on)
        else:
            letters.labels("sent").inc()
            sent.append(letter_id)
            record()
        return True

    return step
