"""Tables, queries and writes: one module per resource. Knows neither HTTP nor Huey."""
