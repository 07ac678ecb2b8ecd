"""A run's visit of a node, with which actions and routers work (flow format, nodes).

Receives the messages that start and resume sessions (flow format, resuming).

When and how a run waits, and what ends a wait (flow format, waits).

Decides by which exit a node is left (flow format, routers).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple, TypeVar

from flows.definition import Case, Category, Flow, Node, Router, Wait, localize
from flows.definition.steps_14 import LONGEST_EXPIRATIONS_MINUTES
from flows.engine.context import ContextSource, build_context
from flows.engine.modifiers.editor import ContactEditor
from flows.engine.services import ServiceError
from flows.engine.sprint import Sprint
from flows.engine.state import Result, Run
from flows.environment import write_moment
from flows.expressions.conversions import ESCAPED_NUL, render, render_json, to_text
from flows.expressions.evaluation import Budget, Evaluation, ExpressionError, ExpressionTooComplexError
from flows.expressions.evaluator import TEXT_LIMIT, Template, TextResult, ValueResult, cut_text, evaluate_value
from flows.expressions.functions.registry import Outcome, find_function
from flows.expressions.values import Property, Value, XError, XObject, to_value
from flows.numbers import LARGEST_INTEGER, render_decimal
from flows.phones import parse_phone
from flows.words import cut_between_letters, replace_unpaired, snakify, storable

Service = TypeVar("Service")
Reply = TypeVar("Reply")

UNREAD = '@("")'
"""Stands for a template that the sprint cannot pay for any more: an expression, which it cannot pay for either."""

_KEPT = ("urn", "text", "external_id")

DIAL = "dial"
BACKGROUND = "messaging_background"
DIAL_LIMIT_SECONDS = 60
CALL_LIMIT_SECONDS = 7200
DIAL_GRACE_SECONDS = 30
MINUTES_PER_DAY = 24 * 60
_DEFAULT_EXPIRATION_MINUTES = {"messaging": 3 * MINUTES_PER_DAY, "voice": 5}

RANDOM = "random"


class Visit:
    """A run's visit of a node during a sprint; `log` collects events, `options` are the engine's settings."""

    __slots__ = ("_source", "flow", "log", "node", "options", "run", "sprint")

    def __init__(self, sprint: Sprint, run: Run, flow: Flow, node: Node) -> None:
        self.sprint = sprint
        self.run = run
        self.flow = flow
        self.node = node
        self.log = sprint.log
        self.options = sprint.options
        self._source: ContextSource | None = None

    @property
    def languages(self) -> Sequence[str]:
        """The languages to look for translations in, best first: the contact's, the workspace's, the flow's own."""
        return self.sprint.languages_of(self.flow)

    @property
    def may_be_translated(self) -> bool:
        """Whether texts may be in another language than the flow's own."""
        return self.languages[0] != self.flow.language

    def context(self) -> XObject:
        """What templates can refer to now; later changes are in the next context."""
        sprint = self.sprint
        environment = sprint.environment
        if self._source is None or self._source.environment is not environment:
            self._source = ContextSource(
                sprint.session,
                self.run,
                self.node,
                sprint.assets,
                environment,
                sprint.options,
                sprint.resume,
                partial(read_webhook, sprint, self.run),
                sprint.address_callback if sprint.services.callbacks else None,
            )
        return build_context(self._source)

    def evaluation(self) -> Evaluation:
        """The evaluation for functions that the engine itself calls."""
        sprint = self.sprint
        return Evaluation(sprint.environment, sprint.clock, sprint.resources, Budget(of=sprint.budget))

    def try_text(
        self, template: str, *, escape: Callable[[str], str] | None = None, is_whole: bool = False
    ) -> tuple[str, bool]:
        """A template as text, and whether it had no errors, which are logged. The text is cut to the limit of templates
        unless `is_whole`.
        """
        if "@" not in template and (is_whole or len(template) <= self.options.template_characters):
            return storable(template), True
        context, evaluation = self.context(), self.evaluation()
        text, errors = self._ready(template, context).write(context, evaluation, escape)
        text = cut_text(text, None if is_whole else self.options.template_characters)
        if errors or evaluation.warnings:
            self.log.report(TextResult(text, errors, evaluation.warnings))
        return storable(text), not errors

    def text(self, template: str) -> str:
        """A template as text, as far as it could be evaluated."""
        return self.try_text(template)[0]

    def value(self, template: str) -> ValueResult:
        """A template as a typed value; warnings are logged, errors are left to the caller."""
        if "@" not in template:
            return ValueResult(template.strip())
        context, sprint = self.context(), self.sprint
        ready = self._ready(template.strip(), context)
        budget = Budget(of=sprint.budget)
        return evaluate_value(
            ready, context, sprint.environment, sprint.clock, resources=sprint.resources, budget=budget
        )

    def _ready(self, template: str, context: XObject) -> Template:
        """A template, compiled once and kept with the flow that it is from."""
        key = (template if self.sprint.pays_for_reading(template) else UNREAD, context.roots())
        found: Template | None = self.flow.ready.get(key)
        if found is None:
            found = self.flow.ready[key] = Template(*key)
        return found

    def localize(
        self, item_uuid: str, name: str, base: Sequence[Any], languages: Sequence[str] | None = None
    ) -> tuple[list[Any], str]:
        """The values of a property in the best of the languages, by default the visit's, and that language."""
        wanted = languages or self.sprint.languages_of(self.flow)
        own = self.flow.language
        return (list(base), own) if wanted[0] == own else localize(self.flow, wanted, item_uuid, name, base)

    def localize_one(self, item_uuid: str, name: str, base: str) -> str:
        """Like localize for a property of one text."""
        texts, _ = self.localize(item_uuid, name, [base])
        return texts[0] if texts else ""

    def change_contact(self, change: Callable[[ContactEditor], bool]) -> None:
        """Applies a change; if anything changed, groups and settings are updated."""
        editor = self.sprint.edit_contact()
        if change(editor):
            editor.update_groups()
            self.sprint.forget_environment()
            self.sprint.pay_for_groups(self.run)

    def ask(self, name: str, service: Service | None, call: Callable[[Service], Reply]) -> Reply | None:
        """The result of a service of the host; None, with an error event, if there is no such service or it failed."""
        try:
            if service is None:
                raise ServiceError(f"No {name} service available")
            return call(service)
        except ServiceError as error:
            self.log.error(str(error))
            return None

    def save_result(
        self, name: str, value: str, category: str, *, localized: str = "", text_input: str = "", extra: object = None
    ) -> None:
        """Saves a result in the run and logs it; in generation 14 only if value or category changed."""
        key = snakify(name)
        value = cut_between_letters(storable(value), self.options.result_value_characters)
        previous = self.run.results.get(key)
        now = self.sprint.now()
        result = Result(name, value, category, localized, self.node.uuid, storable(text_input), extra, now)
        self.run.results[key] = result
        self.run.saved.append((len(self.run.path) - 1, result))
        self.run.modified_on = now
        fields: dict[str, Any] = {"name": name, "value": value, "category": category}
        if self.options.is_early:
            optional = {"category_localized": localized, "input": text_input}
            fields |= {field: text for field, text in optional.items() if text}
        elif previous is not None:
            if (previous.value, previous.category) == (value, category):
                return
            fields["previous"] = {"value": previous.value, "category": previous.category}
        if extra is not None:
            fields["extra"] = extra
        self.log.add("run_result_changed", fields)


def read_webhook(sprint: Sprint, run: Run) -> Value:
    """The last call of a run: complete in the sprint that made it, later only what was small enough to be stored."""
    if run.uuid in sprint.webhooks:
        return sprint.webhooks[run.uuid]
    if run.webhook is None or sprint.options.is_early:
        return to_value(run.webhook)
    shown = {"status": run.webhook.get("status"), "headers": run.webhook.get("headers") or {}}
    shown["json"] = run.webhook.get("json")
    properties: dict[str, Property] = {name: to_value(part) for name, part in shown.items()}
    return XObject(properties, default=describe_webhook(run.webhook.get("method"), run.webhook.get("url")))


def describe_webhook(method: str, url: str) -> str:
    """The text of a call."""
    return f"{method} {url}"


def receive_message(sprint: Sprint, cause: Mapping[str, Any], caused_on: str) -> None:
    """Makes the message of a trigger or resume the session's input and updates when the contact was last seen.

    The message is in `cause["event"]["msg"]` with the event's UUID, or before 14 in `cause["msg"]` with its own.
    """
    event = cause.get("event") or {}
    message = event.get("msg") or cause.get("msg") or {}
    received_on = str(event.get("created_on") or caused_on or sprint.now())
    channel = sprint.assets.channels.get((message.get("channel") or {}).get("uuid", ""))
    received: dict[str, Any] = {
        "type": "msg",
        "uuid": event.get("uuid") or message.get("uuid") or "",
        "created_on": received_on,
        "text": "",
        **{name: replace_unpaired(message[name]) for name in _KEPT if message.get(name)},
    }
    if channel is not None:
        received["channel"] = channel.reference
    if message.get("attachments"):
        received["attachments"] = list(message["attachments"])
    if message.get("payload"):
        received["payload"] = dict(message["payload"])
    sprint.session.input = received
    if sprint.options.is_early:
        sprint.log.add("msg_received", {"msg": {"text": "", **message}})
    sprint.session.contact.last_seen_on = received_on


def begin_wait(visit: Visit, wait: Wait) -> bool:
    """Begins a wait and logs its event; returns whether the run now waits."""
    if visit.flow.type == BACKGROUND:
        return False
    return _begin_dial(visit, wait) if wait.type == DIAL else _begin_msg(visit, wait)


def expiration_minutes(flow: Flow, generation: int) -> int:
    """How long a wait of a flow lasts at most; 0 without a limit, which in generation 14 only offline flows can
    have."""
    minutes = flow.expire_after_minutes
    if generation < 14:
        return minutes
    longest = LONGEST_EXPIRATIONS_MINUTES.get(flow.type, 0)
    return min(minutes, longest) if minutes > 0 else _DEFAULT_EXPIRATION_MINUTES.get(flow.type, 0)


def accepts(wait: Wait, resume_type: str) -> bool:
    """Whether a resume of that type can end a wait."""
    if wait.type == DIAL:
        return resume_type == "dial"
    if resume_type == "wait_timeout":
        return wait.timeout is not None
    return resume_type in ("wait_expiration", "msg" if wait.pause is None else wait.pause.ends_by)


class Choice(NamedTuple):
    """The chosen exit of a node; None if the router failed. `operand` is the value that was tested, as text."""

    exit_uuid: str
    operand: str = ""


class _Match(NamedTuple):
    category_uuid: str
    text: str
    extra: Any = None


def route(visit: Visit, router: Router, extra: Any = None) -> Choice:
    """Evaluates a router and saves its result, with `extra` if its test has none."""
    if router.type == RANDOM:
        return _route_randomly(visit, router)
    operand = _evaluate_operand(visit, router.operand)
    operand_text = _write(visit, operand)
    match = _find_match(visit, router, operand) or _default_match(visit, router, operand, operand_text)
    if match is None:
        return Choice("", operand_text)
    return _leave(visit, router, match if match.extra is not None else match._replace(extra=extra), operand_text)


def route_timeout(visit: Visit, router: Router, category_uuid: str) -> Choice:
    """Leaves by the category of a timeout, with an empty result; generation 13 saves the time."""
    value = render(visit.sprint.clock.now()) if visit.sprint.options.is_early else ""
    return _leave(visit, router, _Match(category_uuid, value), "")


def to_plain(value: Value) -> Any:
    """A value as plain data for JSON, whose writers have whole numbers of 64 bits: a larger one is a text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Decimal):
        return _read_whole(format(value, "f")) if value == value.to_integral_value() else float(value)
    return json.loads(ESCAPED_NUL.sub(r"\1", render_json(value)), parse_int=_read_whole)


def _read_whole(digits: str) -> int | str:
    number = int(Decimal(digits))
    return number if abs(number) <= LARGEST_INTEGER else str(number)


def _begin_msg(visit: Visit, wait: Wait) -> bool:
    if _is_answered(visit):
        return False
    fields: dict[str, Any] = {}
    if wait.timeout is not None:
        fields["timeout_seconds"] = wait.timeout.seconds
    minutes = expiration_minutes(visit.flow, visit.options.generation)
    if minutes:
        fields["expires_on"] = _after(visit, minutes * 60)
    if wait.hint:
        fields["hint"] = dict(wait.hint)
    visit.log.add("msg_wait", fields)
    return True


def _is_answered(visit: Visit) -> bool:
    # The message that started the flow answers its first question.
    session = visit.sprint.session
    return session.trigger.get("type") == "msg" and len(session.runs) == 1 and len(visit.run.path) == 1


def _begin_dial(visit: Visit, wait: Wait) -> bool:
    number = visit.text(wait.phone)
    phone = parse_phone(number.strip().removeprefix("tel:"), visit.sprint.environment.default_country)
    if not phone:
        visit.log.error(f"Can't dial '{number}' as it's not a possible phone number")
        return False
    dial_limit = wait.dial_limit_seconds or DIAL_LIMIT_SECONDS
    call_limit = wait.call_limit_seconds or CALL_LIMIT_SECONDS
    fields = {
        "urn": f"tel:{phone}",
        "dial_limit_seconds": dial_limit,
        "call_limit_seconds": call_limit,
        "expires_on": _after(visit, dial_limit + call_limit + DIAL_GRACE_SECONDS),
    }
    visit.log.add("dial_wait", fields)
    return True


def _after(visit: Visit, seconds: int) -> str:
    return write_moment(visit.sprint.clock.now() + timedelta(seconds=seconds))


def _route_randomly(visit: Visit, router: Router) -> Choice:
    drawn = visit.sprint.clock.random()
    index = int(drawn * len(router.categories))
    match = _Match(router.categories[index].uuid, str(index))
    return _leave(visit, router, match, render_decimal(drawn))


def _evaluate_operand(visit: Visit, template: str) -> Value:
    if "@" not in template:
        return template.strip()
    result = visit.value(template)
    # Errors within texts are logged; the error of a single expression is a value that tests can check.
    visit.log.report(result)
    return result.value


def _find_match(visit: Visit, router: Router, operand: Value) -> _Match | None:
    for case in router.cases:
        outcome = _apply_test(visit, case, operand)
        if isinstance(outcome, Outcome):
            if outcome.has_matched:
                return _Match(case.category_uuid, _write(visit, outcome.match), to_plain(outcome.extra))
        elif isinstance(outcome, XError):
            visit.log.error(_sentence(outcome.message))
    return None


def _apply_test(visit: Visit, case: Case, operand: Value) -> Value:
    values: Sequence[Value] | None = None if visit.may_be_translated else case.constants
    if values is None:
        values = _evaluate_arguments(visit, case)
    test = find_function(case.type)
    if test is None:
        return XError(f"{case.type} is not a function")
    evaluation = visit.evaluation()
    try:
        return test.call(evaluation, [operand, *values])
    except ExpressionTooComplexError as error:
        return XError(str(error))


def _evaluate_arguments(visit: Visit, case: Case) -> Sequence[Value]:
    arguments, _ = visit.localize(case.uuid, "arguments", case.arguments)
    if len(arguments) != len(case.arguments):
        arguments = list(case.arguments)
    return [_evaluate_operand(visit, argument) for argument in arguments]


def _default_match(visit: Visit, router: Router, operand: Value, operand_text: str) -> _Match | None:
    if not router.default_category_uuid:
        return None
    if isinstance(operand, XError):
        visit.log.report_expression(router.operand.strip(), operand.message)
    return _Match(router.default_category_uuid, operand_text)


def _leave(visit: Visit, router: Router, match: _Match, operand_text: str) -> Choice:
    category = _find_category(router, match.category_uuid)
    if category is None:
        return Choice("", operand_text)
    if router.result_name:
        texts, language = visit.localize(category.uuid, "name", [category.name])
        localized = texts[0] if language != visit.flow.language and texts else ""
        visit.save_result(
            router.result_name,
            match.text,
            category.name,
            localized=localized,
            text_input=operand_text,
            extra=match.extra,
        )
    return Choice(category.exit_uuid, operand_text)


def _find_category(router: Router, uuid: str) -> Category | None:
    for category in router.categories:
        if category.uuid == uuid:
            return category
    return None


def _write(visit: Visit, value: Value) -> str:
    if isinstance(value, str) and len(value) <= TEXT_LIMIT:
        return value
    if isinstance(value, Decimal):
        return render_decimal(value)
    if isinstance(value, XError):
        return ""
    try:
        return to_text(visit.evaluation(), value)
    except (ExpressionError, ExpressionTooComplexError):
        return ""


def _sentence(message: str) -> str:
    return message[:1].upper() + message[1:]
