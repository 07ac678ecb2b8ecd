"""One sprint of a session, from one wait to the next, and everything it needs (flow format, a sprint)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flows.definition import Flow
from flows.engine.assets import Assets
from flows.engine.contact import localize_environment
from flows.engine.modifiers.editor import ContactEditor
from flows.engine.options import Options
from flows.engine.services import Services
from flows.engine.state import ACTIVE, COMPLETED, FAILED, WAITING, EventLog, Run, Session
from flows.environment import Clock, Environment, write_moment
from flows.expressions.evaluation import Budget, ExpressionTooComplexError, Resources, sprint_budget
from flows.expressions.values import Value

FREE_CHARACTERS = 1000
UNITS_PER_CHARACTER = 5
"""Of work, for parsing."""
QUERY_CHARACTERS_PER_UNIT = 4


@dataclass(frozen=True, slots=True)
class PushedFlow:
    """A flow that is entered once the actions of the current node are done."""

    flow: Flow
    is_terminal: bool


@dataclass(slots=True)
class Sprint:
    """The state of a session during a sprint. Everything is changed in place, on the engine's copy."""

    session: Session
    assets: Assets
    clock: Clock
    services: Services
    options: Options
    log: EventLog
    resume: Mapping[str, Any] | None = None
    segments: list[dict[str, Any]] = field(default_factory=list)
    pushed: PushedFlow | None = None
    steps: int = 0
    webhooks: dict[str, Value] = field(default_factory=dict)
    transfers: Counter[str] = field(default_factory=Counter)
    first_run_uuid: str = ""
    budget: Budget = field(default_factory=sprint_budget)
    group_budget: Budget = field(default_factory=sprint_budget)
    _flows: dict[str, Flow | None] = field(default_factory=dict)
    _languages: dict[str, Sequence[str]] = field(default_factory=dict)
    _environment: Environment | None = None
    _resources: Resources | None = None
    _group_work: int | None = None

    @property
    def environment(self) -> Environment:
        """The workspace's settings, replaced by those of the contact."""
        if self._environment is None:
            self._environment = localize_environment(self.session.environment, self.session.contact, self.assets)
        return self._environment

    @property
    def resources(self) -> Resources:
        """The host's resources for functions."""
        if self._resources is None:
            finds_intents = self.options.is_early or self.has_classifiers
            self._resources = Resources(self.assets.places, self.services.prompts, finds_intents=finds_intents)
        return self._resources

    @property
    def has_classifiers(self) -> bool:
        """Whether the host still has classifiers, although the format has removed them."""
        return self.options.classifiers and self.services.classifier is not None

    def find_flow(self, uuid: str) -> Flow | None:
        """The flow of a UUID; None if there is none that can be read."""
        if uuid not in self._flows:
            self._flows[uuid] = self.assets.find_readable_flow(uuid)
        return self._flows[uuid]

    def now(self) -> str:
        """The current time in the form of state and events."""
        return write_moment(self.clock.now())

    def address_callback(self) -> str:
        """The URL that ends the session's next wait for a callback; empty if the host gives none."""
        service, session = self.services.callbacks, self.session
        if service is None:
            return ""
        return service.address(session.contact.uuid, session.uuid, session.created_on, session.callbacks)

    def edit_contact(self) -> ContactEditor:
        """An editor for the session's contact."""
        return ContactEditor(
            self.session.contact,
            self.assets,
            self.environment,
            self.clock,
            self.log,
            self.services,
            self.options,
            self.session.environment,
            typed_text=str((self.session.input or {}).get("text", "")).strip(),
        )

    def forget_environment(self) -> None:
        """Clears the cached settings, which may have changed with the contact."""
        self._environment = None
        self._languages.clear()

    def languages_of(self, flow: Flow) -> Sequence[str]:
        """The languages to look for a flow's texts in, best first: the contact's, the workspace's, the flow's own."""
        found = self._languages.get(flow.language)
        if found is None:
            allowed = self.session.environment.allowed_languages
            wanted = [self.session.contact.language] if self.session.contact.language in allowed else []
            found = self._languages[flow.language] = list(dict.fromkeys([*wanted, *allowed[:1], flow.language]))
        return found

    def start_run(self, flow: Flow, parent: Run | None, parent_uuid: str, *, is_terminal: bool) -> Run:
        """Begins a run of a flow."""
        now = self.now()
        reference: dict[str, Any] = {"uuid": flow.uuid, "name": flow.name}
        if flow.revision:
            reference["revision"] = flow.revision
        uuid = (self.first_run_uuid if not self.session.runs else "") or self.clock.uuid()
        run = Run(uuid, reference, now, now, parent_uuid=parent.uuid if parent else "")
        run.had_input = parent is None and self.session.trigger.get("type") == "msg"
        self.session.runs.append(run)
        if not self.options.is_early:
            started = {"flow": reference, "run_uuid": run.uuid}
            started |= {"parent_uuid": parent_uuid} if parent_uuid else {}
            self.log.add("run_started", {**started, "terminal": True} if is_terminal else started)
        return run

    def end_run(self, run: Run, status: str) -> None:
        """Ends a run that has not ended yet."""
        run.status = status
        run.exited_on = run.modified_on = self.now()
        if not self.options.is_early:
            self.log.add("run_ended", {"run_uuid": run.uuid, "flow": dict(run.flow), "status": status})

    def fail(self, run: Run, text: str) -> None:
        """Fails a run and all its parents; the loop then fails the session."""
        self.log.failure(text)
        failing: Run | None = run
        while failing is not None and not failing.is_over:
            self.end_run(failing, FAILED)
            failing = self.session.find_run(failing.parent_uuid)

    def fail_session(self, text: str) -> None:
        """Fails the session with all of its runs that have not ended."""
        self.log.failure(text)
        for run in self.session.runs:
            if run.status in (ACTIVE, WAITING):
                self.end_run(run, FAILED)
        self.session.status = FAILED

    def pays_for_reading(self, template: str) -> bool:
        """Pays for parsing a long template, also one that is kept: what a sprint does must not depend on those before.
        False if there is not enough left.
        """
        if len(template) <= FREE_CHARACTERS:
            return True
        try:
            self.budget.spend(len(template) * UNITS_PER_CHARACTER)
        except ExpressionTooComplexError:
            return False
        return True

    def pay_for_groups(self, run: Run) -> None:
        """Pays for asking every group with a query whether the contact belongs to it. A sprint that does it too often
        fails.
        """
        if self._group_work is None:
            self._group_work = (
                sum(len(group.query) for group in self.assets.groups.values()) // QUERY_CHARACTERS_PER_UNIT
            )
        try:
            self.group_budget.spend(self._group_work)
        except ExpressionTooComplexError:
            self.fail(run, "Reached maximum number of changes of groups per sprint")

    def complete_runs(self) -> None:
        """Completes every run, because a flow replaces them."""
        for run in self.session.runs:
            if not run.is_over:
                self.end_run(run, COMPLETED)
