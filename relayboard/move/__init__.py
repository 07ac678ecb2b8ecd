"""Copies a live workspace from a server with the same API, and reports on it."""
