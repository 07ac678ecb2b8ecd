"""The bare application on an inherited socket: `python -m bench.serve_bare FD`."""

import socket
import sys

import uvicorn

from bench.bare_app import app

if __name__ == "__main__":
    config = uvicorn.Config(app, access_log=False, log_level="warning", lifespan="off")
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(sys.argv[1]))])
