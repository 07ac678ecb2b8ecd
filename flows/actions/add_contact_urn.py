"""Adds a URN to the contact (flow format, add_contact_urn)."""

from flows.definition import Action
from flows.definition.action_types import action_type
from flows.definition.fields import one_of, template
from flows.engine.modifiers.editor import APPEND, change_routes
from flows.engine.visit import Visit
from flows.urn_schemes import SCHEMES
from flows.urns import Urn, UrnError, normalize

HAS_URN_LOCAL = "_has_urn"


@action_type(
    {"scheme": one_of(SCHEMES), "path": template(required=True)},
    sets_local=HAS_URN_LOCAL,
    drawn="Add address {scheme}:{path}",
    palette="contact",
)
def add_contact_urn(visit: Visit, action: Action) -> None:
    """Adds a URN; in generation 14 a local variable contains the URN that the contact now has, if any. In a path, an
    expression with an error becomes an empty string.
    """
    path = visit.text(action.fields["path"]).strip()
    if not path:
        visit.log.error("Can't add URN with empty path")
        return
    urn = _normalize(visit, Urn(action.fields["scheme"], path))
    visit.change_contact(lambda editor: change_routes(editor, [(str(urn), None)], APPEND))
    if not visit.options.is_early:
        has_urn = visit.sprint.session.contact.has_urn(urn)
        visit.run.locals[HAS_URN_LOCAL] = urn.identity if has_urn else ""


def _normalize(visit: Visit, urn: Urn) -> Urn:
    try:
        return normalize(urn, visit.sprint.environment.default_country)
    except UrnError:
        return urn
