"""Handlers of what the chat of a site calls, one module per tag of its contract."""
