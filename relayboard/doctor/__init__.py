"""`relayboard doctor`: looks at an installation and says in sentences what is wrong and what to do."""
