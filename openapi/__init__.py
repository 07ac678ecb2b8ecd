"""The contract: hand-written OpenAPI 3.0.3 documents, one folder per API generation, bundled to one document each."""
