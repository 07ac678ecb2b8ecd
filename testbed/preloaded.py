"""What API and worker processes import and build before they are forked: the program, and the API's contract."""

import handlers.app
import relayboard.api_process
import relayboard.cli
import relayboard.commands.processes
import worker.process

__all__ = ["handlers", "relayboard", "worker"]

handlers.app._connexion_app()
