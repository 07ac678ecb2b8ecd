"""HTTP in: translation between requests and persistence, nothing else."""
