"""The steps from version 14.0 to 14.4.2 (flow format, versions and migrations)."""

from flows.definition.raw_parts import (
    JsonObject,
    NewUuid,
    drop_translation,
    find_translation,
    list_actions,
    list_cases,
    list_objects,
    list_routers,
    list_splits,
    list_translations,
    read_text,
    set_translation,
)
from flows.languages import is_language_of_translations

LONGEST_EXPIRATIONS_MINUTES = {"messaging": 20160, "voice": 15}
UNNAMED_CATEGORY = "Match"
MOST_QUICK_REPLIES = 10
CALLS = ("call_webhook", "call_resthook")
STATUS_OPERAND = "@webhook.status"
SAFE_STATUS_OPERAND = "@(default(webhook.status, 0))"
LOCALS = {"open_ticket": "_new_ticket", "transfer_airtime": "_new_transfer"}
TESTS_OF_ONE_TEXT = frozenset(
    {
        *("has_all_words", "has_any_word", "has_beginning", "has_only_phrase", "has_only_text"),
        *("has_pattern", "has_phrase"),
    }
)


def clamp_expirations(flow: JsonObject, new_uuid: NewUuid) -> None:
    """To 14.0: waits expire within what the flow's type allows, and every category has a name."""
    minutes = flow.get("expire_after_minutes")
    if isinstance(minutes, int) and not isinstance(minutes, bool):
        longest = LONGEST_EXPIRATIONS_MINUTES.get(read_text(flow, "type"), 0)
        flow["expire_after_minutes"] = max(0, min(minutes, longest))
    for router in list_routers(flow):
        for category in list_objects(router.get("categories")):
            category["name"] = read_text(category, "name") or UNNAMED_CATEGORY


def split_on_webhook_status(flow: JsonObject, new_uuid: NewUuid) -> None:
    """To 14.1: nodes that call a webhook check its status instead of a result; at most 10 quick replies."""
    for _, router in list_splits(flow, *CALLS):
        cases = _find_cases_of_result(router)
        if cases:
            _test_status(router, cases[0])
    for action in list_actions(flow, "send_msg", "send_broadcast"):
        replies = action.get("quick_replies")
        if isinstance(replies, list):
            action["quick_replies"] = replies[:MOST_QUICK_REPLIES]
        for _, items in list_translations(flow):
            translated = find_translation(items, action, "quick_replies")
            if translated is not None:
                set_translation(items, action, "quick_replies", translated[:MOST_QUICK_REPLIES])


def _find_cases_of_result(router: JsonObject) -> list[JsonObject]:
    is_by_result = read_text(router, "operand").startswith("@results.")
    return list_objects(router.get("cases")) if is_by_result else []


def _test_status(router: JsonObject, case: JsonObject) -> None:
    case |= {"type": "has_number_between", "arguments": ["200", "299"]}
    router |= {"operand": STATUS_OPERAND, "cases": [case]}


def name_ticket_notes(flow: JsonObject, new_uuid: NewUuid) -> None:
    """To 14.2: the body of a ticket is a note, and translations are in languages only."""
    for action in list_actions(flow, "open_ticket"):
        if "body" in action:
            body = action.pop("body")
            action["note"] = body or action.get("note") or ""
    localization = flow.get("localization")
    if isinstance(localization, dict):
        for language in [key for key in localization if not is_language_of_translations(key)]:
            del localization[language]


def split_on_locals(flow: JsonObject, new_uuid: NewUuid) -> None:
    """To 14.3.0: nodes that open tickets or send airtime check a local variable, and the router saves the result."""
    for action, router in list_splits(flow, *LOCALS):
        cases = _find_cases_of_result(router)
        if not cases:
            continue
        cases[0] |= {"type": "has_text", "arguments": []}
        router |= {"operand": f"@locals.{LOCALS[action['type']]}", "cases": [cases[0]]}
        result_name = action.pop("result_name", None)
        if result_name:
            router["result_name"] = result_name


def join_arguments(flow: JsonObject, new_uuid: NewUuid) -> None:
    """To 14.3.1: tests with one argument sometimes got it word by word."""
    for case in list_cases(flow):
        if read_text(case, "type") not in TESTS_OF_ONE_TEXT:
            continue
        arguments = case.get("arguments")
        if isinstance(arguments, list):
            case["arguments"] = _join(arguments)
        for _, items in list_translations(flow):
            translated = find_translation(items, case, "arguments")
            if translated is not None:
                set_translation(items, case, "arguments", _join(translated))


def _join(arguments: list[object]) -> list[object]:
    texts = [argument if isinstance(argument, str) else "" for argument in arguments]
    return [" ".join(texts)] if len(arguments) > 1 else arguments


def forget_all_urns(flow: JsonObject, new_uuid: NewUuid) -> None:
    """To 14.4.0: a message goes to only one URN."""
    for action in list_actions(flow, "send_msg"):
        action.pop("all_urns", None)


def straighten_webhook_splits(flow: JsonObject, new_uuid: NewUuid) -> None:
    """To 14.4.1: nodes that call a webhook test its status, even if their router was changed; the test needs no
    words."""
    for _, router in list_splits(flow, *CALLS):
        cases = list_objects(router.get("cases"))
        if not cases:
            continue
        _test_status(router, cases[0])
        for _, items in list_translations(flow):
            for case in cases:
                drop_translation(items, case, "arguments")


def expect_missing_status(flow: JsonObject, new_uuid: NewUuid) -> None:
    """To 14.4.2: a webhook that could not be called at all is not an error but a failure."""
    for _, router in list_splits(flow, *CALLS):
        if router.get("operand") == STATUS_OPERAND:
            router["operand"] = SAFE_STATUS_OPERAND
