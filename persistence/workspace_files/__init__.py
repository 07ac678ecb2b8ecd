"""A whole workspace in one file: JSON Lines for each table, and the files of its media store
(docs/workspace-file.md)."""
