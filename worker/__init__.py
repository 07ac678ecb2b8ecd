"""Background work: everything that waits, retries or calls other systems."""
