"""`python -m bench.costs`: what requests cost over rows, connections and processes."""
