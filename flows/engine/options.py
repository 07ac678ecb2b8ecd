"""The settings of the engine: its generation of the format, and its limits (flow format, limits)."""

from dataclasses import dataclass, field

GENERATIONS = (13, 14)


@dataclass(frozen=True, slots=True)
class Options:
    """Generation 13 is the behavior and the events of versions 13.x, 14 that of 14.0 and later.

    The generation decides the form of events and session state, the expression context and where actions store their
    outcomes: in results (13) or in local variables (14). Definitions are migrated to it on loading. With
    `interface_events` resthooks, and POSTs of flows without a body of their own, send the event bodies of this
    service's API, and each POST is followed by a `flow_event_made` event for the host. With `classifiers` a classifier
    service is also called in generation 14, where the format itself has removed classifiers. With `stable_transfers`
    the UUID of an airtime transfer is derived from the session, its sprint and the action: a host that runs a sprint
    again, because it could not record it, requests the same transfer. With `groups_see_urns` queries of groups can use
    URNs even if people may not see them; in the format itself such groups are empty when URNs are redacted. With
    `extra` templates of every version can use `@extra`, the name of the oldest versions for values given at the start.
    """

    generation: int = 14
    steps_per_sprint: int = 100
    sprints_per_session: int = 500
    runs_per_session: int = 500
    ancestors_since_input: int = 5
    template_characters: int = 10_000
    field_value_characters: int = 640
    result_value_characters: int = 640
    contact_name_characters: int = 128
    urns_per_contact: int = 50
    attachment_characters: int = 2048
    quick_reply_characters: int = 64
    quick_reply_extra_characters: int = 1000
    webhook_url_characters: int = 8192
    webhook_request_bytes: int = 262_144
    webhook_trace_characters: int = 10_000
    webhook_kept_bytes: int = 10_000
    interface_events: bool = False
    classifiers: bool = False
    stable_transfers: bool = False
    groups_see_urns: bool = False
    extra: bool = False
    is_early: bool = field(init=False)
    """Whether the engine behaves as generation 13."""

    def __post_init__(self) -> None:
        if self.generation not in GENERATIONS:
            raise ValueError(f"generation must be 13 or 14, not {self.generation!r}")
        object.__setattr__(self, "is_early", self.generation < 14)


DEFAULT_OPTIONS = Options()
