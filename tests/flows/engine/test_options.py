"""The settings that a host has which sets nothing (flow format, limits)."""

from dataclasses import asdict

import pytest

from flows import Options

LIMITS = {
    "steps_per_sprint": 100,
    "sprints_per_session": 500,
    "runs_per_session": 500,
    "ancestors_since_input": 5,
    "template_characters": 10_000,
    "field_value_characters": 640,
    "result_value_characters": 640,
    "contact_name_characters": 128,
    "urns_per_contact": 50,
    "attachment_characters": 2048,
    "quick_reply_characters": 64,
    "quick_reply_extra_characters": 1000,
    "webhook_url_characters": 8192,
    "webhook_request_bytes": 256 * 1024,
    "webhook_trace_characters": 10_000,
    "webhook_kept_bytes": 10_000,
}


def test_a_host_that_sets_nothing_has_the_limits_of_the_format_and_nothing_beside_it() -> None:
    beside = dict.fromkeys(("interface_events", "classifiers", "stable_transfers", "groups_see_urns", "extra"), False)

    assert asdict(Options()) == {"generation": 14, **LIMITS, **beside, "is_early": False}


@pytest.mark.parametrize(("generation", "is_early"), [(13, True), (14, False)])
def test_generation_13_is_early(generation: int, is_early: bool) -> None:
    assert Options(generation=generation).is_early is is_early


@pytest.mark.parametrize("generation", [0, 12, 15])
def test_there_are_two_generations(generation: int) -> None:
    with pytest.raises(ValueError, match=f"^generation must be 13 or 14, not {generation}$"):
        Options(generation=generation)
