"""Texts for contacts that are in no run: broadcasts and the messages of campaigns (flow format, expression context)."""

import re

from flows.clock import Clock
from flows.engine.assets import Assets
from flows.engine.contact import Contact, localize_environment
from flows.engine.context import CONTACT_ROOTS, ContactSource, build_contact_context
from flows.engine.options import DEFAULT_OPTIONS, Options
from flows.environment import Environment
from flows.expressions.evaluation import Resources
from flows.expressions.scanner import TokenKind, scan_template
from flows.expressions.templates import evaluate_text
from flows.words import replace_unpaired

_WHOLE_CONTACT = re.compile(r"\bcontact\b(?!\s*\.\s*\w)")


class ContactTexts:
    """Writes templates for contacts of one workspace, which see there what a flow's templates see of a contact.

    That is `@contact`, `@fields`, `@urns`, `@ticket` and `@globals`; names that belong to a run are plain text.
    """

    def __init__(
        self, assets: Assets, environment: Environment, clock: Clock, options: Options = DEFAULT_OPTIONS
    ) -> None:
        self._assets = assets
        self._environment = environment
        self._clock = clock
        self._options = options
        self._resources = Resources(assets.places)

    def write(self, template: str, contact: Contact) -> str:
        """The template with the texts of its expressions in place; those in error leave nothing behind."""
        environment = localize_environment(self._environment, contact, self._assets)
        context = build_contact_context(ContactSource(contact, self._assets, environment, self._options.is_early))
        limit = self._options.template_characters
        result = evaluate_text(template, context, environment, self._clock, limit=limit, resources=self._resources)
        return replace_unpaired(result.text)


def read_literal(template: str) -> str | None:
    """What a template says to everybody, with `@@` read as `@`; None when there are expressions in it."""
    tokens = list(scan_template(template, CONTACT_ROOTS))
    if any(token.kind is not TokenKind.BODY for token in tokens):
        return None
    return "".join(token.text for token in tokens)


def may_see(template: str, part: str) -> bool:
    """Whether a template may look at what has `part` in its name, like `group` in `@contact.groups`; if in doubt, yes.

    It goes by words. A contact that is used as a whole in an expression may have any of its properties looked at.
    """
    for token in scan_template(template, CONTACT_ROOTS):
        text = token.text.lower()
        if token.kind is not TokenKind.BODY and part in text:
            return True
        if token.kind is TokenKind.EXPRESSION and _WHOLE_CONTACT.search(text):
            return True
    return False
