"""What API and worker processes and commands import and build before they are forked: the program, and the API's
contract."""

import gc

import anyio._backends._asyncio
import psycopg2.extras
import sqlalchemy.dialects.postgresql.psycopg2
import uvicorn.lifespan.on
import uvicorn.loops.auto
import uvicorn.loops.uvloop
import uvloop

import handlers.app
import relayboard.api_server
import relayboard.cli
import relayboard.commands.backups
import relayboard.commands.doctor
import relayboard.commands.processes
import relayboard.commands.status
import relayboard.commands.workspaces
import relayboard.failures
import relayboard.worker_processes
import worker.process

__all__ = ["anyio", "handlers", "psycopg2", "relayboard", "sqlalchemy", "uvicorn", "uvloop", "worker"]

handlers.app._connexion_app()

# Each forked process would look through all of this for garbage, once when it has started and once when it ends.
gc.freeze()
gc.enable()
