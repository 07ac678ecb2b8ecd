"""Migrates definitions and expressions before version 13 to version 13.0 (flow format, versions and migrations)."""
