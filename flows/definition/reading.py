"""Reading flow definitions of versions 13.0 to 14.4: types, limits and references are checked.

Versions 13.0 to 14.4 are read in the same way; the migrations handle their differences.

Loads definitions of any version: migrates and checks them.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Any
from uuid import UUID

from flows.definition.action_types import FLOW_TYPES, action_types, check_action
from flows.definition.errors import DefinitionError
from flows.definition.fields import NAME_LENGTH, CheckFailed
from flows.definition.localization import FIRST_WITH_LIMITS, check_localization, cut_translations
from flows.definition.migrating import NEWEST, OLDEST, Version, migrate, newer_version, read_version
from flows.definition.model import Action, Case, Category, Exit, Flow, Node, Pause, Router, Timeout, Wait
from flows.definition.raw_parts import OBJECT, NewUuid, is_larger, is_uuid
from flows.definition.references import Resolve, relink
from flows.expressions.functions.registry import find_function
from flows.words import told

MOST_NODES, MOST_ACTIONS, MOST_EXITS, MOST_CATEGORIES, MOST_CASES, MOST_ARGUMENTS = 1000, 100, 100, 100, 100, 10
LANGUAGE, UNDETERMINED = re.compile(r"[a-z]{3}\Z"), "und"

# The migration to this version gives every flow a language.
FIRST_WITH_LANGUAGE = (13, 2, 0)
MOST_UI_BYTES = 262_144
DIAL_SECONDS, CALL_SECONDS = 60, 7200
ROUTERS = {"random": (), "switch": ("operand", "cases", "default_category_uuid")}
WAITS = {"dial": ("phone", "dial_limit_seconds", "call_limit_seconds"), "msg": ("timeout", "hint", "pause")}
"""Types of routers and waits, with the properties of each beside those that all have."""
PAUSES = {"callback": (), "time": ("until",)}
"""What ends a pause, with the properties of each; an addition of this service to the format."""
TEMPLATE_LENGTH = 1000
HINTS, MOST_TERMINATORS = {"audio", "digits", "image", "location", "video"}, 8

# Names could be longer before; the migration to this version cuts them.
FIRST_WITH_SHORT_NAMES = (13, 6, 1)

# The migration to this version names categories without a name.
FIRST_WITH_NAMED_CATEGORIES = (14, 0, 0)


def read_flow(definition: Mapping[str, Any]) -> Flow:
    """The flow of a definition, without migrating it. DefinitionError names flow, node, action and field."""
    if not isinstance(definition, OBJECT):
        raise DefinitionError(f"a definition is an object, not {told(definition)}")
    return _FlowReader(definition).read()


class _FlowReader:
    def __init__(self, definition: Mapping[str, Any]) -> None:
        self.definition = definition
        uuid = definition.get("uuid")
        self.flow_uuid = uuid[:36] if isinstance(uuid, str) else ""
        self.node_uuid = ""
        self.action_uuid = ""
        self.longest_name = NAME_LENGTH
        self.requires_category_names = True
        self.seen: set[str] = set()

    def fail(self, message: str, field: str = "") -> DefinitionError:
        return DefinitionError(message, flow=self.flow_uuid, node=self.node_uuid, action=self.action_uuid, field=field)

    def read(self) -> Flow:
        definition = self.definition
        version = read_version(definition.get("spec_version"))
        if version < OLDEST:
            raise self.fail(f"version {definition['spec_version']} is older than 13", "spec_version")
        if version[:2] > NEWEST[:2]:
            raise self.fail(newer_version(version), "spec_version")
        self.longest_name = NAME_LENGTH if version >= FIRST_WITH_SHORT_NAMES else 2 * NAME_LENGTH
        self.requires_category_names = version >= FIRST_WITH_NAMED_CATEGORIES
        flow_type = definition.get("type")
        if not isinstance(flow_type, str) or flow_type not in FLOW_TYPES:
            raise self.fail(f"{told(flow_type)} is not a type of flow; there are {_listed(FLOW_TYPES)}", "type")
        if is_larger(definition.get("_ui"), MOST_UI_BYTES):
            raise self.fail(f"is larger than {MOST_UI_BYTES} bytes", "_ui")
        nodes = self._list(definition, "nodes", MOST_NODES)
        flow = Flow(
            uuid=self._uuid(definition, "uuid"),
            name=self._text(definition, "name", NAME_LENGTH),
            spec_version=str(definition["spec_version"]),
            language=self._language(version),
            type=flow_type,
            revision=self._integer(definition, "revision", 0),
            expire_after_minutes=self._integer(definition, "expire_after_minutes", 0),
            localization=self._object(definition, "localization"),
            nodes=tuple(self._node(node, flow_type, f"nodes[{at}]") for at, node in enumerate(nodes)),
            raw=definition,
        )
        self._check_destinations(flow)
        self.node_uuid = ""
        try:
            check_localization(flow.localization, version)
        except CheckFailed as failed:
            raise self.fail(failed.message, f"localization{failed.path}") from None
        return flow

    def _language(self, version: Version) -> str:
        language = self.definition.get("language")
        if isinstance(language, str) and LANGUAGE.match(language):
            return language
        if version >= FIRST_WITH_LANGUAGE:
            raise self.fail(f"{told(language)} is not a language: three small letters, such as eng", "language")
        return UNDETERMINED

    def _node(self, node: object, flow_type: str, place: str) -> Node:
        self.node_uuid = ""
        if not isinstance(node, OBJECT):
            raise self.fail(f"a node is an object, not {told(node)}", place)
        self.node_uuid = self._new_uuid(node, f"{place}.")
        listed = enumerate(self._list(node, "exits", MOST_EXITS))
        exits = tuple(self._exit(each, f"exits[{at}]") for at, each in listed)
        if not exits:
            raise self.fail("a node needs at least one exit", "exits")
        listed = enumerate(self._list(node, "actions", MOST_ACTIONS))
        actions = tuple(self._action(each, flow_type, f"actions[{at}]") for at, each in listed)
        router = node.get("router")
        routed = None if router is None else self._router(router, {each.uuid for each in exits}, flow_type)
        return Node(self.node_uuid, actions, routed, exits)

    def _exit(self, given: object, place: str) -> Exit:
        if not isinstance(given, OBJECT):
            raise self.fail(f"an exit is an object, not {told(given)}", place)
        destination = given.get("destination_uuid")
        has_none = destination is None or destination == ""
        within = f"{place}."
        return Exit(self._new_uuid(given, within), None if has_none else self._uuid(given, "destination_uuid", within))

    def _action(self, given: object, flow_type: str, place: str) -> Action:
        if not isinstance(given, OBJECT):
            raise self.fail(f"an action is an object, not {told(given)}", place)
        name = given.get("type")
        kind = action_types().get(name) if isinstance(name, str) else None
        if kind is None:
            raise self.fail(f"{told(name)} is not a type of action{_similar(name, action_types())}", f"{place}.type")
        if flow_type not in kind.allowed_in:
            raise self.fail(f"{kind.name} is not allowed in a flow of type {flow_type}", f"{place}.type")
        uuid = self._new_uuid(given, f"{place}.")
        self.action_uuid = uuid
        try:
            check_action(kind, given, self.longest_name)
        except CheckFailed as failed:
            raise self.fail(failed.message, f"{place}.{failed.path}") from None
        self.action_uuid = ""
        return Action(kind.name, uuid, given)

    def _router(self, given: object, exit_uuids: set[str], flow_type: str) -> Router:
        if not isinstance(given, OBJECT) or not _is_one_of(given.get("type"), ROUTERS):
            kind = given.get("type") if isinstance(given, OBJECT) else given
            raise self.fail(f"{told(kind)} is not a type of router; there are {_listed(ROUTERS)}", "router.type")
        listed = enumerate(self._list(given, "categories", MOST_CATEGORIES, "router."))
        categories = tuple(self._category(each, exit_uuids, f"router.categories[{at}]") for at, each in listed)
        if not categories:
            raise self.fail("a router needs at least one category", "router.categories")
        known = {category.uuid for category in categories}
        default = given.get("default_category_uuid")
        if default and not _is_one_of(default, known):
            raise self.fail(f"{told(default)} names no category of this router", "router.default_category_uuid")
        is_switch = given["type"] == "switch"
        operand = given.get("operand", "")
        if is_switch and not (isinstance(operand, str) and operand):
            raise self.fail(f"is {told(operand)}; a switch needs a text such as @input.text", "router.operand")
        return Router(
            type=str(given["type"]),
            wait=None if given.get("wait") is None else self._wait(given["wait"], known, flow_type),
            result_name=self._text(given, "result_name", self.longest_name, "router.", required=False),
            categories=categories,
            operand=str(operand) if is_switch else "",
            cases=self._cases(given, known) if is_switch else (),
            default_category_uuid=str(default) if default else None,
        )

    def _category(self, given: object, exit_uuids: set[str], place: str) -> Category:
        if not isinstance(given, OBJECT):
            raise self.fail(f"a category is an object, not {told(given)}", place)
        exit_uuid = given.get("exit_uuid")
        if not _is_one_of(exit_uuid, exit_uuids):
            category = f"the category {told(given.get('name'))}" if given.get("name") else "a category"
            raise self.fail(f"{category}: {told(exit_uuid)} names no exit of this node", f"{place}.exit_uuid")
        name = self._text(given, "name", self.longest_name, f"{place}.", required=self.requires_category_names)
        return Category(self._uuid(given, "uuid", f"{place}."), name or "Match", str(exit_uuid))

    def _cases(self, given: Mapping[str, Any], known: set[str]) -> tuple[Case, ...]:
        listed = enumerate(self._list(given, "cases", MOST_CASES, "router."))
        return tuple(self._case(each, known, f"router.cases[{at}]") for at, each in listed)

    def _case(self, given: object, known: set[str], place: str) -> Case:
        if not isinstance(given, OBJECT):
            raise self.fail(f"a case is an object, not {told(given)}", place)
        if not _is_one_of(given.get("category_uuid"), known):
            named = f"the case {told(given.get('type'))}: {told(given.get('category_uuid'))}"
            raise self.fail(f"{named} names no category of this router", f"{place}.category_uuid")
        arguments = self._list(given, "arguments", MOST_ARGUMENTS, f"{place}.")
        for at, argument in enumerate(arguments):
            if not isinstance(argument, str):
                raise self.fail(f"the arguments of a case are texts, not {told(argument)}", f"{place}.arguments[{at}]")
        kind = self._text(given, "type", NAME_LENGTH, f"{place}.")
        if not kind.lower().startswith("has_") or find_function(kind) is None:
            tests = "their names begin with has_, such as has_any_word"
            raise self.fail(f"{told(kind)} is not a test; {tests}", f"{place}.type")
        uuid = self._uuid(given, "uuid", f"{place}.") if given.get("uuid") else ""
        return Case(uuid, kind, tuple(arguments), str(given["category_uuid"]))

    def _wait(self, given: object, known: set[str], flow_type: str) -> Wait:
        if not isinstance(given, OBJECT) or not _is_one_of(given.get("type"), WAITS):
            kind = given.get("type") if isinstance(given, OBJECT) else given
            raise self.fail(f"{told(kind)} is not a type of wait; there are {_listed(WAITS)}", "router.wait.type")
        kind = str(given["type"])
        if flow_type == "messaging_background" or (kind == "dial" and flow_type != "voice"):
            raise self.fail(f"a wait of type {kind} is not allowed in a flow of type {flow_type}", "router.wait.type")
        timeout = given.get("timeout")
        return Wait(
            type=kind,
            timeout=None if timeout is None else self._timeout(timeout, known),
            hint=self._hint(given.get("hint")),
            phone=self._text(given, "phone", TEMPLATE_LENGTH, "router.wait.", required=kind == "dial"),
            dial_limit_seconds=self._integer(given, "dial_limit_seconds", DIAL_SECONDS, "router.wait."),
            call_limit_seconds=self._integer(given, "call_limit_seconds", CALL_SECONDS, "router.wait."),
            pause=None if given.get("pause") is None else self._pause(given, flow_type),
        )

    def _pause(self, wait: Mapping[str, Any], flow_type: str) -> Pause:
        given, field = wait["pause"], "router.wait.pause"
        if not isinstance(given, OBJECT) or not _is_one_of(given.get("ends_by"), PAUSES):
            kind = given.get("ends_by") if isinstance(given, OBJECT) else given
            raise self.fail(f"{told(kind)} ends no pause; there are {_listed(PAUSES)}", f"{field}.ends_by")
        if wait["type"] != "msg" or flow_type != "messaging":
            raise self.fail("a pause is a wait of type msg in a flow of type messaging", field)
        if given["ends_by"] == "time" and wait.get("timeout") is None:
            raise self.fail("a pause for a time needs a timeout: its seconds, and by which category it ends", field)
        return Pause(given["ends_by"], self._text(given, "until", TEMPLATE_LENGTH, f"{field}.", required=False))

    def _hint(self, given: object) -> Mapping[str, Any] | None:
        if given is None:
            return None
        if not isinstance(given, OBJECT) or not _is_one_of(given.get("type"), HINTS):
            kind = given.get("type") if isinstance(given, OBJECT) else given
            raise self.fail(f"{told(kind)} is not a type of hint; there are {_listed(HINTS)}", "router.wait.hint.type")
        self._text(given, "terminated_by", MOST_TERMINATORS, "router.wait.hint.", required=False)
        self._integer(given, "count", 0, "router.wait.hint.")
        return given

    def _timeout(self, given: object, known: set[str]) -> Timeout:
        if not isinstance(given, OBJECT) or not _is_one_of(given.get("category_uuid"), known):
            named = given.get("category_uuid") if isinstance(given, OBJECT) else given
            raise self.fail(f"{told(named)} names no category of this router", "router.wait.timeout.category_uuid")
        seconds = self._integer(given, "seconds", 0, "router.wait.timeout.")
        if not seconds:
            raise self.fail("is 0; a timeout needs a number of seconds", "router.wait.timeout.seconds")
        return Timeout(seconds, str(given["category_uuid"]))

    def _check_destinations(self, flow: Flow) -> None:
        known = {node.uuid for node in flow.nodes}
        for node in flow.nodes:
            for at, each in enumerate(node.exits):
                if each.destination_uuid is not None and each.destination_uuid not in known:
                    self.node_uuid = node.uuid
                    named = told(each.destination_uuid)
                    raise self.fail(f"{named} names no node of this flow", f"exits[{at}].destination_uuid")

    def _new_uuid(self, given: Mapping[str, Any], within: str) -> str:
        uuid = self._uuid(given, "uuid", within)
        if uuid in self.seen:
            raise self.fail(f"{uuid} is used twice", f"{within}uuid")
        self.seen.add(uuid)
        return uuid

    def _uuid(self, given: Mapping[str, Any], field: str, within: str = "") -> str:
        value = given.get(field)
        try:
            if isinstance(value, str) and len(value) == 36 and (is_uuid(value) or UUID(value)):
                return value
        except ValueError:
            pass
        raise self.fail(f"{told(value)} is not a UUID", within + field)

    def _text(
        self, given: Mapping[str, Any], field: str, length: int, within: str = "", *, required: bool = True
    ) -> str:
        value = given.get(field)
        if value is None and not required:
            return ""
        if not isinstance(value, str) or (required and not value) or len(value) > length:
            given_here = f"has {len(value)} characters" if isinstance(value, str) and value else f"is {told(value)}"
            raise self.fail(f"{given_here}; a text of up to {length} characters is needed", within + field)
        return value

    def _integer(self, given: Mapping[str, Any], field: str, default: int, within: str = "") -> int:
        value = given.get(field)
        value = default if value is None else value
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.fail(f"{told(value)} is not a whole number", within + field)
        return value

    def _list(self, given: Mapping[str, Any], field: str, most: int, within: str = "") -> list[Any]:
        value = given.get(field)
        value = [] if value is None else value
        if not isinstance(value, list) or len(value) > most:
            given_here = f"has {len(value)} entries" if isinstance(value, list) else f"is {told(value)}"
            raise self.fail(f"{given_here}; a list of up to {most} is needed", within + field)
        return value

    def _object(self, given: Mapping[str, Any], field: str) -> Mapping[str, Any]:
        value = given.get(field)
        if value is not None and not isinstance(value, OBJECT):
            raise self.fail(f"is {told(value)}; an object is needed", field)
        return value or {}


def load(
    definition: Mapping[str, Any],
    *,
    to: str | None = None,
    new_uuid: NewUuid | None = None,
    media_url: str = "",
    resolve: Resolve | None = None,
    is_own: bool = False,
) -> Flow:
    """The flow of a definition of any version, in version `to` or the newest one; see `migrate`.

    In flows before version 14, translations beyond today's limits are cut. With `resolve` the references are changed,
    see `relink`. Raises DefinitionError, which names flow, node, action and field. The given definition is not changed
    unless the caller gives it away (`is_own`); `Flow.raw` is the migrated one.

    >>> load({"uuid": "50c3706e-fedb-42c0-8eab-dda3335714b7", "name": "Ask", "spec_version": "14.4.2",
    ...       "language": "eng", "type": "messaging", "nodes": []}).name
    'Ask'
    """
    migrated = migrate(definition, to=to, new_uuid=new_uuid, media_url=media_url, is_own=is_own)
    if resolve is not None:
        relink(migrated, resolve)
    if _is_unlimited(definition):
        cut_translations(migrated)
    return read_flow(migrated)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _similar(given: object, known: Iterable[str]) -> str:
    """A question after a word that may be misspelt."""
    found = get_close_matches(given, known, 1) if isinstance(given, str) else []
    return f"; did you mean {found[0]}?" if found else ""


def _is_one_of(value: object, known: Collection[str]) -> bool:
    return isinstance(value, str) and value in known


def _is_unlimited(definition: Mapping[str, Any]) -> bool:
    try:
        return read_version(definition.get("spec_version")) < FIRST_WITH_LIMITS
    except DefinitionError:
        # The property for the version had another name before 13, and the oldest definitions have none.
        return True
