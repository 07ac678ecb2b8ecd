"""What commands do: functions that get what was given (`relayboard/usage/` declares it) and write to stdout."""
