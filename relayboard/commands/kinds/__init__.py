"""The kinds of records that have the commands `list`, `show`, `create`, `change` and `delete`: a table, of which each
command loads only its own kind."""
