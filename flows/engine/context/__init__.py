"""What expressions of a running flow can refer to (flow format, expression context)."""

from flows.engine.context.contact_context import ContactSource, ContextSource
from flows.engine.context.root import CONTACT_ROOTS, RUN_ROOTS, build_contact_context, build_context

__all__ = ["CONTACT_ROOTS", "RUN_ROOTS", "ContactSource", "ContextSource", "build_contact_context", "build_context"]
