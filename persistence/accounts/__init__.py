"""People: how they sign in, and which browsers they are signed in with."""
