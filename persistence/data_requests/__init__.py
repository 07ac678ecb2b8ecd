"""The rights of a person whose data is stored: a copy of everything, and that it is erased for good."""
