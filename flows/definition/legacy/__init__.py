"""Definitions and expressions of before version 13, brought to version 13.0 (flow format, versions and migrations)."""
