"""How records are created, changed and deleted, apart from their kinds: reading needs none of it."""
