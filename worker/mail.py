"""The job that hands letters about accounts to the mail server."""

import logging
from collections.abc import Callable

from flows.engine.services import ServiceError
from persistence.accounts.letters import write_letter
from persistence.accounts.mail import claim_letter, finish_letter, postpone_letter
from worker.flows.services.email import FlowEmail
from worker.runtime import Runtime

logger = logging.getLogger("relayboard.worker")


def begin_mail(runtime: Runtime) -> Callable[[], bool]:
    """The step that sends one letter. A letter that the mail server does not take is tried again later."""
    server, database = runtime.settings.smtp_url, runtime.database
    if server is None:
        return lambda: False
    sender = FlowEmail(runtime, server, lambda: None)

    def step() -> bool:
        letter = database.write(claim_letter)
        if letter is None:
            return False
        writing = database.write(lambda tx: write_letter(tx, letter, runtime.settings.secret_key))
        try:
            if writing is not None:
                sender.send([writing.recipient], writing.subject, writing.text)
        except ServiceError as error:
            due_on = database.write(lambda tx: postpone_letter(tx, letter.id))
            logger.warning("a letter about an account could not be sent: %s; again at %s", error, due_on)
        else:
            database.write(lambda tx: finish_letter(tx, letter.id))
        return True

    return step
