"""`python -m tests.fuzz`: many requests by Schemathesis, in rounds, until so many were made."""
