"""`make sdks`: clients in Python, TypeScript and Go for both generations, generated from the contract into build/sdks,
compiled, and tried against a service."""
