"""The channel types, a folder each, and pure: no database, no HTTP, no clock. `types.py` finds them."""
