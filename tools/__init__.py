"""Commands for people who work on Relayboard; nothing of it is installed."""
