"""Many nodes on one database: killed at random under the load of many workspaces."""
