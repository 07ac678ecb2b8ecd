"""The cost of every list and filter of the API on a large data set."""
