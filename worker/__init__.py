"""What happens after a request: everything that waits, retries or calls the outside."""
