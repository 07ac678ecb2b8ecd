"""What every package may import: settings, logs, and files that only their owner can read. It imports none of our
packages."""
