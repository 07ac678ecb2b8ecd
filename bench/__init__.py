"""Benchmarks, run by one command: `make bench` or `python -m bench`; they print ratios."""
