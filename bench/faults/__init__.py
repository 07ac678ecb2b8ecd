"""`python -m bench.faults`: events for webhooks while everything around them is hit again and again."""
