"""Rule sets of old definitions as nodes with a router (flow format, versions and migrations).

Rules of old definitions as categories, exits and cases (flow format, versions and migrations).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from flows.definition.legacy.actions import list_items, write_call, write_reference
from flows.definition.legacy.conversion import Conversion, read_translations, write_text
from flows.definition.legacy.rule_tests import count_days_from_today, migrate_test
from flows.definition.legacy.templates import PLAIN, TemplateOptions
from flows.definition.raw_parts import JsonObject
from flows.expressions.syntax import quote_text
from flows.urns import SCHEMES
from flows.words import snakify, told

INPUT = "@input"
OR_ITSELF = TemplateOptions(default_to_self=True)

# The new actions need a result name, even if the rule set had none.
UNNAMED_RESULT = "Result"
_AMOUNT = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?")

HINTS: dict[str, tuple[JsonObject, str]] = {
    "wait_audio": ({"type": "audio"}, INPUT),
    "wait_digit": ({"type": "digits", "count": 1}, "@input.text"),
    "wait_digits": ({"type": "digits"}, "@input.text"),
    "wait_gps": ({"type": "location"}, INPUT),
    "wait_photo": ({"type": "image"}, INPUT),
    "wait_recording": ({"type": "audio"}, INPUT),
    "wait_video": ({"type": "video"}, INPUT),
}

SECONDS_PER_MINUTE = 60

# In rule sets of these types the last rule is for failures.
OUTCOME_TESTS = ("webhook_status", "airtime_status")


@dataclass(frozen=True, slots=True)
class Split:
    """A node made of a rule set: its router, perhaps an action before it, and what editors show."""

    router: JsonObject
    shown_type: str
    shown: JsonObject
    action: JsonObject | None = None


@dataclass(slots=True)
class Routes:
    """Where a rule set leads: parts of the new router, its exits, and what editors show of its cases."""

    categories: list[JsonObject] = field(default_factory=list)
    cases: list[JsonObject] = field(default_factory=list)
    exits: list[JsonObject] = field(default_factory=list)
    default_category_uuid: str = ""
    timeout: JsonObject = field(default_factory=dict)
    shown_cases: JsonObject = field(default_factory=dict)

    def write_router(self, operand: str) -> JsonObject:
        """A router that chooses by the cases."""
        return {
            "type": "switch",
            "operand": operand,
            "cases": self.cases,
            "categories": self.categories,
            "default_category_uuid": self.default_category_uuid,
        }


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


def migrate_rules(conversion: Conversion, rules: Sequence[Any]) -> Routes:
    """One category for rules of the same name, one case for each rule. Raises DefinitionError."""
    routes = Routes()
    named: dict[str, str] = {}
    chosen: list[tuple[Mapping[str, Any], str]] = []
    for rule in rules:
        if not isinstance(rule, Mapping):
            raise conversion.fail(f"a rule is an object, not {told(rule)}", "rules")
        test = rule.get("test")
        if not isinstance(test, Mapping):
            raise conversion.fail(f"a test is an object, not {told(test)}", "rules.test")
        translations = read_translations(rule.get("category"))
        name = conversion.pick_base(translations)
        category_uuid = named.get(name) if test.get("type") != "true" else None
        if category_uuid is None:
            category_uuid = _add_category(conversion, routes, name, rule)
        named[name] = category_uuid
        conversion.localize(translations, category_uuid, "name")
        chosen.append((test, category_uuid))
    for test, category_uuid in chosen:
        _add_test(conversion, routes, test, category_uuid)
    return routes


def migrate_case(
    conversion: Conversion, test: Mapping[str, Any], category_uuid: str
) -> tuple[JsonObject | None, int | None]:
    """The case for a test, if it is one, and the days from today that editors show for it."""
    uuid = conversion.new_uuid()
    written = migrate_test(conversion, test, uuid)
    if written is None:
        return None, None
    kind, arguments = written
    case: JsonObject = {"uuid": uuid, "type": kind, "category_uuid": category_uuid}
    return case | ({"arguments": arguments} if arguments else {}), count_days_from_today(test)


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


def _write_call(conversion: Conversion, rule_set: RuleSet) -> JsonObject:
    method = rule_set.config.get("webhook_action") or rule_set.given.get("webhook_action")
    call = write_call(conversion, rule_set.find_webhook(), method, rule_set.config.get("webhook_headers"))
    return {"type": "call_webhook", **call}


def _read_amount(conversion: Conversion, value: object) -> int | float | Decimal:
    """The amount as a number; it may have been written as a string."""
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return value
    text = value.strip() if isinstance(value, str) else ""
    if not _AMOUNT.fullmatch(text):
        raise conversion.fail(f"{told(value)} is not an amount", "config")
    return float(text) if "." in text else int(text)


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


def _add_category(conversion: Conversion, routes: Routes, name: str, rule: Mapping[str, Any]) -> str:
    # Stored runs refer to their rules, so the rule's UUID becomes that of the exit.
    exit_uuid = conversion.keep_uuid(rule.get("uuid"))
    routes.exits.append({"uuid": exit_uuid, **conversion.find_destination(rule.get("destination"))})
    category: JsonObject = {"uuid": conversion.new_uuid(), "exit_uuid": exit_uuid}
    routes.categories.append(category | ({"name": name} if name else {}))
    return str(category["uuid"])


def _add_test(conversion: Conversion, routes: Routes, test: Mapping[str, Any], category_uuid: str) -> None:
    kind = test.get("type")
    if kind == "true":
        routes.default_category_uuid = category_uuid
        return
    if kind == "timeout":
        _add_timeout(routes, test, category_uuid)
        return
    if kind in OUTCOME_TESTS:
        routes.default_category_uuid = category_uuid
    case, days = migrate_case(conversion, test, category_uuid)
    if case is None:
        return
    routes.cases.append(case)
    if days is not None:
        routes.shown_cases[case["uuid"]] = {"arguments": [str(days)]}


def _add_timeout(routes: Routes, test: Mapping[str, Any], category_uuid: str) -> None:
    minutes = write_text(test.get("minutes"))
    if minutes.isdecimal() and len(minutes) <= 9 and int(minutes):
        routes.timeout = {"seconds": SECONDS_PER_MINUTE * int(minutes), "category_uuid": category_uuid}
