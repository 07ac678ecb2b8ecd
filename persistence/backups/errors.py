class BackupError(Exception):
    """A backup cannot be made, read or restored, or a copy not made; the message says why and what to do."""
