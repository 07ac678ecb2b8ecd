"""A simulated relayer phone that speaks the real wire protocol."""
