"""Rule sets of old definitions as nodes with a router (flow format, versions and migrations)."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from flows.definition.legacy.conversion import Conversion, write_text
from flows.definition.legacy.references import list_items, write_reference
from flows.definition.legacy.rules import Routes, migrate_rules
from flows.definition.legacy.templates import PLAIN, TemplateOptions
from flows.definition.legacy.webhooks import write_call
from flows.definition.raw_parts import JsonObject
from flows.expressions.syntax import quote_text
from flows.urns import SCHEMES
from flows.words import snakify, told

INPUT = "@input"
OR_ITSELF = TemplateOptions(default_to_self=True)
# The new actions need a result name, even if the rule set had none.
UNNAMED_RESULT = "Result"
_AMOUNT = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?")


@dataclass(frozen=True, slots=True)
class Split:
    """A node made of a rule set: its router, perhaps an action before it, and what editors show."""

    router: JsonObject
    shown_type: str
    shown: JsonObject
    action: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class RuleSet:
    """A rule set with its parts in their usual shapes."""

    given: Mapping[str, Any]
    label: str
    operand: str
    config: Mapping[str, Any]
    routes: Routes

    def find_webhook(self) -> Any:
        """The URL to call: from the configuration, or from the place in the oldest definitions."""
        return self.config.get("webhook") or self.given.get("webhook")


def migrate_rule_set(conversion: Conversion, given: Mapping[str, Any]) -> tuple[JsonObject, str, JsonObject]:
    """The node, and the type and configuration that editors show it with. Raises DefinitionError."""
    config = given.get("config")
    rule_set = RuleSet(
        given,
        write_text(given.get("label")),
        write_text(given.get("operand")),
        config if isinstance(config, Mapping) else {},
        migrate_rules(conversion, list_items(given.get("rules"))),
    )
    split = _find_writer(conversion, rule_set)(conversion, rule_set)
    actions = [] if split.action is None else [{"uuid": conversion.new_uuid(), **split.action}]
    node: JsonObject = {"uuid": conversion.node_uuid, "router": split.router, "exits": rule_set.routes.exits}
    shown_cases = rule_set.routes.shown_cases
    shown = split.shown | ({"cases": shown_cases} if shown_cases else {})
    return node | ({"actions": actions} if actions else {}), split.shown_type, shown


def _find_writer(conversion: Conversion, rule_set: RuleSet) -> Callable[[Conversion, RuleSet], Split]:
    kind = rule_set.given.get("ruleset_type")
    if not kind:
        # In the oldest definitions only the operand says whether to wait.
        waits = not rule_set.operand or rule_set.operand.startswith("@step")
        return _write_wait if waits else _write_expression
    if not isinstance(kind, str) or kind not in _WRITERS:
        raise conversion.fail(f"{told(kind)} is not a type of rule set", "ruleset_type")
    return _WRITERS[kind]


def _name_result(router: JsonObject, name: str) -> JsonObject:
    return router | ({"result_name": name} if name else {})


def _write_wait(conversion: Conversion, rule_set: RuleSet) -> Split:
    kind = rule_set.given.get("ruleset_type")
    hint, operand = HINTS.get(kind if isinstance(kind, str) else "", ({}, INPUT))
    if kind == "wait_digits":
        hint = hint | {"terminated_by": write_text(rule_set.given.get("finished_key"))}
    wait: JsonObject = {"type": "msg"}
    if rule_set.routes.timeout:
        wait["timeout"] = rule_set.routes.timeout
    if hint:
        wait["hint"] = hint
    router = rule_set.routes.write_router(operand) | {"wait": wait}
    return Split(_name_result(router, rule_set.label), "wait_for_response", {})


HINTS: dict[str, tuple[JsonObject, str]] = {
    "wait_audio": ({"type": "audio"}, INPUT),
    "wait_digit": ({"type": "digits", "count": 1}, "@input.text"),
    "wait_digits": ({"type": "digits"}, "@input.text"),
    "wait_gps": ({"type": "location"}, INPUT),
    "wait_photo": ({"type": "image"}, INPUT),
    "wait_recording": ({"type": "audio"}, INPUT),
    "wait_video": ({"type": "video"}, INPUT),
}


def _write_subflow(conversion: Conversion, rule_set: RuleSet) -> Split:
    action = {"type": "enter_flow", "flow": write_reference(rule_set.config.get("flow"))}
    router = rule_set.routes.write_router("@child.status")
    return Split(_name_result(router, rule_set.label), "split_by_subflow", {}, action)


def _write_webhook(conversion: Conversion, rule_set: RuleSet) -> Split:
    name = rule_set.label or UNNAMED_RESULT
    return Split(
        rule_set.routes.write_router(f"@results.{snakify(name)}.category"),
        "split_by_webhook",
        {},
        _write_call(conversion, rule_set) | {"result_name": name},
    )


def _write_call(conversion: Conversion, rule_set: RuleSet) -> JsonObject:
    method = rule_set.config.get("webhook_action") or rule_set.given.get("webhook_action")
    call = write_call(conversion, rule_set.find_webhook(), method, rule_set.config.get("webhook_headers"))
    return {"type": "call_webhook", **call}


def _write_resthook(conversion: Conversion, rule_set: RuleSet) -> Split:
    name = rule_set.label or UNNAMED_RESULT
    resthook = write_text(rule_set.config.get("resthook"))
    return Split(
        rule_set.routes.write_router(f"@results.{snakify(name)}.category"),
        "split_by_resthook",
        {},
        {"type": "call_resthook", "resthook": resthook, "result_name": name},
    )


def _write_airtime(conversion: Conversion, rule_set: RuleSet) -> Split:
    amounts: JsonObject = {}
    for country in rule_set.config.values():
        if not isinstance(country, Mapping):
            continue
        currency, amount = write_text(country.get("currency_code")), _read_amount(conversion, country.get("amount"))
        if amounts.setdefault(currency, amount) != amount:
            raise conversion.fail(f"{currency} has different amounts in different countries", "config")
    name = rule_set.label or UNNAMED_RESULT
    return Split(
        rule_set.routes.write_router(f"@results.{snakify(name)}"),
        "split_by_airtime",
        {},
        {"type": "transfer_airtime", "amounts": amounts, "result_name": name},
    )


def _read_amount(conversion: Conversion, value: object) -> int | float | Decimal:
    """The amount as a number; it may have been written as a string."""
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return value
    text = value.strip() if isinstance(value, str) else ""
    if not _AMOUNT.fullmatch(text):
        raise conversion.fail(f"{told(value)} is not an amount", "config")
    return float(text) if "." in text else int(text)


def _write_group(conversion: Conversion, rule_set: RuleSet) -> Split:
    router = rule_set.routes.write_router("@contact.groups")
    return Split(_name_result(router, rule_set.label), "split_by_groups", {})


def _write_random(conversion: Conversion, rule_set: RuleSet) -> Split:
    router = {"type": "random", "categories": rule_set.routes.categories}
    return Split(_name_result(router, rule_set.label), "split_by_random", {})


def _write_form_field(conversion: Conversion, rule_set: RuleSet) -> Split:
    delimiter = write_text(rule_set.config.get("field_delimiter"))
    given_index = rule_set.config.get("field_index")
    index = given_index if isinstance(given_index, int) and not isinstance(given_index, bool) else 0
    field = conversion.migrate(rule_set.operand).removeprefix("@")
    router = rule_set.routes.write_router(f"@(field({field}, {index}, {quote_text(delimiter)}))")
    key = _find_last_key(rule_set.operand)
    shown = {"operand": {"id": key}, "delimiter": delimiter, "index": index} if key else {}
    return Split(_name_result(router, rule_set.label), "split_by_run_result_delimited", shown)


def _write_result_field(conversion: Conversion, rule_set: RuleSet) -> Split:
    key = _find_last_key(rule_set.operand)
    shown = {"operand": {"id": key}} if key else {}
    return _write_operand(conversion, rule_set, "split_by_run_result", shown)


def _write_contact_field(conversion: Conversion, rule_set: RuleSet) -> Split:
    key = _find_last_key(rule_set.operand)
    if key == "groups":
        return _write_operand(conversion, rule_set, "split_by_expression", {})
    operand = {"type": "scheme" if key in SCHEMES else "field", "id": key}
    if key == "name":
        operand = {"type": "property", "id": "name", "name": "Name"}
    return _write_operand(conversion, rule_set, "split_by_contact_field", {"operand": operand} if key else {})


def _write_expression(conversion: Conversion, rule_set: RuleSet) -> Split:
    action = _write_call(conversion, rule_set) if rule_set.find_webhook() else None
    return _write_operand(conversion, rule_set, "split_by_expression", {}, OR_ITSELF, action)


def _write_operand(
    conversion: Conversion,
    rule_set: RuleSet,
    shown_type: str,
    shown: JsonObject,
    options: TemplateOptions = PLAIN,
    action: JsonObject | None = None,
) -> Split:
    router = rule_set.routes.write_router(conversion.migrate(rule_set.operand, options) or INPUT)
    return Split(_name_result(router, rule_set.label), shown_type, shown, action)


def _find_last_key(operand: str) -> str:
    return operand.rpartition(".")[2] if "." in operand else ""


_WRITERS: dict[str, Callable[[Conversion, RuleSet], Split]] = {
    "airtime": _write_airtime,
    "contact_field": _write_contact_field,
    "expression": _write_expression,
    "flow_field": _write_result_field,
    "form_field": _write_form_field,
    "group": _write_group,
    "random": _write_random,
    "resthook": _write_resthook,
    "subflow": _write_subflow,
    "wait_message": _write_wait,
    **dict.fromkeys(HINTS, _write_wait),
    "webhook": _write_webhook,
}
