"""Workspaces, the owners of everything else."""
