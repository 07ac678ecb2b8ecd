"""The service as a whole: the work that waits in all workspaces, and what the doctor asks."""
