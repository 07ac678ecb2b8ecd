"""The page for people: static ES modules, a client of the API and nothing else. See `handlers/asgi/console.py`."""
