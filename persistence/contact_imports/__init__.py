"""Contacts from files of spreadsheets: reading files, what their columns mean, and the import itself."""
