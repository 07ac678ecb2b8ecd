"""What is loaded once is not examined again by the garbage collector."""

import gc
from collections.abc import Iterator

import pytest

from relayboard.base.collection import THRESHOLDS, postpone_collection, settle_collection


@pytest.fixture
def usual_collection() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.enable()


@pytest.mark.usefixtures("usual_collection")
def test_a_started_process_leaves_what_it_has_loaded_out_of_collections() -> None:
    loaded = [object(), {"a": [1]}]
    postpone_collection()
    assert not gc.isenabled()
    settle_collection()
    assert gc.isenabled()
    assert gc.get_threshold() == THRESHOLDS
    examined = gc.get_objects()
    assert not any(each is loaded for each in examined)
    fresh = [{}]
    assert any(each is fresh for each in gc.get_objects())
