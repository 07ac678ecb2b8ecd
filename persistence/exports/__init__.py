"""Lists of a workspace as files: workbooks, CSV and JSON Lines."""
