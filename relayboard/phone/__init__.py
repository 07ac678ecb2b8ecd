"""A simulated relayer phone that uses the real wire protocol."""
