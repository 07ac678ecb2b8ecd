"""Who changed what: the audit log."""
