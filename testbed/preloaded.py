"""What API and worker processes and commands import and build before they are forked: the program, and the API's
contract."""

import gc

import anyio._backends._asyncio
import uvloop

import handlers.app
import relayboard.api_server
import relayboard.cli
import relayboard.commands.backups
import relayboard.commands.doctor
import relayboard.commands.processes
import relayboard.commands.status
import relayboard.commands.workspaces
import relayboard.doctor.examination
import relayboard.failures
import worker.process

__all__ = ["anyio", "handlers", "relayboard", "uvloop", "worker"]

handlers.app._connexion_app()

# Each forked process would look through all of this for garbage, once when it has started and once when it ends.
gc.freeze()
gc.enable()
