"""The kinds of records that have the commands `list`, `show`, `create`, `change` and `delete`: a module for each, named
by its noun in the plural and loaded only by its own commands, with a `KIND`."""
