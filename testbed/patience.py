"""How long tests wait: for what must happen long enough for a slow and busy machine, never near what it needs."""

PATIENCE_SECONDS = 180.0
