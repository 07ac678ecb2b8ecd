"""Handlers of the v1 generation, one module per resource."""
