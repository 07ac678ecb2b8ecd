"""Handlers of the relay generation, one module per resource."""
