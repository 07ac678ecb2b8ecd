"""`python -m tools.mutants`: small changes to the code that tests should notice, in a sample."""
