"""Copies of another server's records: what was carried, and how far."""
