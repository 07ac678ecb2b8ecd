"""Handlers of the v2 generation, one module per resource."""
