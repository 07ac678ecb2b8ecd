"""Tables, queries and writes: one module per resource. It depends on neither HTTP nor Huey."""
