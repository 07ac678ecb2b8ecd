"""Commands for developers of Relayboard; they are not installed."""
