"""A run's visit of a node, with which actions and routers work (flow format, nodes)."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from flows.definition import Flow, Node, localize
from flows.engine.context import ContextSource, build_context
from flows.engine.modifiers.editor import ContactEditor
from flows.engine.services import ServiceError
from flows.engine.sprint import Sprint
from flows.engine.state import Result, Run
from flows.expressions.budget import Budget
from flows.expressions.evaluation import Evaluation
from flows.expressions.templates import Template, TextResult, ValueResult, cut_text, evaluate_value
from flows.expressions.values import Property, Value, XObject, to_value
from flows.words import cut_between_letters, snakify, storable

Service = TypeVar("Service")
Reply = TypeVar("Reply")


UNREAD = '@("")'
"""Stands for a template that the sprint cannot pay for any more: an expression, which it cannot pay for either."""


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
