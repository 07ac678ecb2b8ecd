"""Texts for contacts outside of runs: broadcasts and messages of campaigns (flow format, expression context)."""

import re

from flows.engine.assets import Assets
from flows.engine.contact import Contact, localize_environment
from flows.engine.context import CONTACT_ROOTS, ContactSource, build_contact_context
from flows.engine.options import DEFAULT_OPTIONS, Options
from flows.environment import Clock, Environment
from flows.expressions.evaluation import Evaluation, Resources, bulk_budget
from flows.expressions.evaluator import Template, cut_text
from flows.expressions.scanner import TokenKind, scan_template
from flows.words import replace_unpaired

_WHOLE_CONTACT = re.compile(r"\bcontact\b(?!\s*\.\s*\w)")


class ContactTexts:
    """Evaluates templates for contacts of one workspace. Templates can use what a flow's templates can use of a
    contact: `@contact`, `@fields`, `@urns`, `@ticket` and `@globals`; names of runs are plain text.
    """

    def __init__(
        self, assets: Assets, environment: Environment, clock: Clock, options: Options = DEFAULT_OPTIONS
    ) -> None:
        self._assets = assets
        self._environment = environment
        self._clock = clock
        self._options = options
        self._resources = Resources(assets.places)
        self._ready: dict[str, Template] = {}

    def write(self, template: str, contact: Contact) -> str:
        """The template with its expressions evaluated; an expression with an error becomes an empty string."""
        environment = localize_environment(self._environment, contact, self._assets)
        context = build_contact_context(ContactSource(contact, self._assets, environment, self._options.is_early))
        limit = self._options.template_characters
        evaluation = Evaluation(environment, self._clock, self._resources, bulk_budget())
        ready = self._ready.get(template)
        if ready is None:
            ready = self._ready[template] = Template(template, context.roots())
        text, _ = ready.write(context, evaluation, None)
        return replace_unpaired(cut_text(text, limit))


def read_literal(template: str) -> str | None:
    """The text of a template without expressions, with `@@` read as `@`; None if it contains expressions."""
    tokens = list(scan_template(template, CONTACT_ROOTS))
    if any(token.kind is not TokenKind.BODY for token in tokens):
        return None
    return "".join(token.text for token in tokens)


def may_see(template: str, part: str) -> bool:
    """Whether a template may read properties with `part` in their name, like `group` in `@contact.groups`; in doubt,
    yes. It checks words. If an expression uses a contact as a whole, it may read any of its properties.
    """
    for token in scan_template(template, CONTACT_ROOTS):
        text = token.text.lower()
        if token.kind is not TokenKind.BODY and part in text:
            return True
        if token.kind is TokenKind.EXPRESSION and _WHOLE_CONTACT.search(text):
            return True
    return False
