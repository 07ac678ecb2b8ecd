"""What is loaded once is not examined again by the garbage collector."""

import gc
from collections.abc import Iterator

import pytest

from relayboard.base.collection import THRESHOLDS, loading, postpone_collection, settle_collection


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


@pytest.mark.usefixtures("usual_collection")
def test_loading_is_not_interrupted_and_what_is_loaded_is_left_out_at_once() -> None:
    with loading():
        loaded = [object(), {"a": [1]}]
        assert not gc.isenabled()
    assert gc.isenabled()
    assert not any(each is loaded for each in gc.get_objects())


@pytest.mark.usefixtures("usual_collection")
def test_collections_go_on_after_a_module_that_could_not_be_loaded() -> None:
    with pytest.raises(ImportError), loading():
        raise ImportError
    assert gc.isenabled()
