"""What expressions of a running flow can refer to (flow format, expression context)."""

from flows.engine.context.root import ContextSource, build_context

__all__ = ["ContextSource", "build_context"]
