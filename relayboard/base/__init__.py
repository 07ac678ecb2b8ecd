"""What every package may import: settings, logs, and files that only their owner reads. It imports nothing of ours."""
