"""What API and worker processes and commands import and build before they are forked: the program, and the API's
contract."""

import handlers.app
import relayboard.api_process
import relayboard.cli
import relayboard.commands.backups
import relayboard.commands.doctor
import relayboard.commands.processes
import relayboard.commands.status
import relayboard.commands.workspaces
import relayboard.doctor.examination
import relayboard.failures
import worker.process

__all__ = ["handlers", "relayboard", "worker"]

handlers.app._connexion_app()
