"""Benchmarks of fairness between workspaces."""
