"""The service does not have Connexion validate its own documents at each start; these tests do."""

import pytest
from connexion.exceptions import InvalidSpecification
from connexion.spec import Specification

from handlers.app import _document
from handlers.contract.trusted import trusted_documents
from openapi.bundle import GENERATIONS

INVALID = {"openapi": "3.0.3", "info": {"title": "no version"}, "paths": {}}


@pytest.mark.parametrize("generation", GENERATIONS)
def test_connexion_accepts_each_document_as_the_service_gives_it(generation: str) -> None:
    Specification.load(_document(generation))


def test_documents_are_validated_again_after_ours_are_loaded() -> None:
    with trusted_documents():
        Specification.load(dict(INVALID))
    with pytest.raises(InvalidSpecification):
        Specification.load(dict(INVALID))
