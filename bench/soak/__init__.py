"""`python -m bench.soak`: a steady day's traffic for hours, and whether anything grows."""
