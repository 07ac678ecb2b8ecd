"""How workspaces fare side by side."""
