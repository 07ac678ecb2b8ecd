"""Rules of old definitions as categories, exits and cases (flow format, versions and migrations)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flows.definition.legacy.conversion import Conversion, read_translations, write_text
from flows.definition.legacy.rule_tests import count_days_from_today, migrate_test
from flows.definition.raw_parts import JsonObject
from flows.words import told

SECONDS_PER_MINUTE = 60
# In rule sets of these types the last rule is for failures.
OUTCOME_TESTS = ("webhook_status", "airtime_status")


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


def _add_timeout(routes: Routes, test: Mapping[str, Any], category_uuid: str) -> None:
    minutes = write_text(test.get("minutes"))
    if minutes.isdecimal() and len(minutes) <= 9 and int(minutes):
        routes.timeout = {"seconds": SECONDS_PER_MINUTE * int(minutes), "category_uuid": category_uuid}
