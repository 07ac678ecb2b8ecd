"""Backups in one file, restoring them, and moving an installation from SQLite to PostgreSQL."""
