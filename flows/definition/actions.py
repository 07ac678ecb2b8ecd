"""Which actions there are, and in which types of flow each may stand (flow format, definitions)."""

EVERYWHERE = frozenset(
    {
        *("add_contact_groups", "add_contact_urn", "enter_flow", "remove_contact_groups", "send_msg"),
        *("set_contact_field", "set_contact_language", "set_contact_name", "set_contact_status"),
        *("set_contact_timezone", "set_run_local", "set_run_result"),
    }
)
NOT_IN_BACKGROUND = frozenset({"add_input_labels"})
NOT_OFFLINE = frozenset(
    {
        *("call_classifier", "call_llm", "call_resthook", "call_webhook", "open_ticket", "request_optin"),
        *("send_broadcast", "send_email", "set_contact_channel", "start_session", "transfer_airtime"),
    }
)
VOICE_ONLY = frozenset({"play_audio", "say_msg"})
ACTION_TYPES = EVERYWHERE | NOT_IN_BACKGROUND | NOT_OFFLINE | VOICE_ONLY


def check_action_place(kind: str, flow_type: str) -> str:
    """Why an action may not stand in a flow of this type; an empty text when it may."""
    is_misplaced = (
        (kind in NOT_IN_BACKGROUND and flow_type == "messaging_background")
        or (kind in NOT_OFFLINE and flow_type == "messaging_offline")
        or (kind in VOICE_ONLY and flow_type != "voice")
    )
    return f"{kind} is not allowed in a flow of type {flow_type}" if is_misplaced else ""
