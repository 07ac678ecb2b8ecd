"""Connexion without its validation of documents at each start: tests validate ours before they are shipped."""

from collections.abc import Iterator
from contextlib import contextmanager

from connexion.spec import OpenAPISpecification


@contextmanager
def trusted_documents() -> Iterator[None]:
    """Connexion accepts every document meanwhile; validating ours takes it 0.4 seconds of CPU time."""
    schema = OpenAPISpecification.openapi_schema
    OpenAPISpecification.openapi_schema = {}
    try:
        yield
    finally:
        OpenAPISpecification.openapi_schema = schema
