"""What the expression context is made from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flows.definition import Flow, Node
from flows.engine.assets import Assets
from flows.engine.options import Options
from flows.engine.state import Run, Session
from flows.environment import Environment
from flows.expressions.values import Deprecated, Property, Value, XObject


@dataclass(frozen=True, slots=True)
class ContextSource:
    """A run and where it stands. `webhook` is the last call as it can be seen, which may be more than is stored."""

    session: Session
    run: Run
    flow: Flow
    node: Node | None
    assets: Assets
    environment: Environment
    options: Options
    resume: Mapping[str, Any] | None = None
    webhook: Value = None

    def deprecated(self, value: Value, path: str, instead: str) -> Property:
        """A property that later generations warn about."""
        if self.options.is_early:
            return value
        return Deprecated(value, f"@{path} is deprecated, use @{instead} instead")


def lines(pairs: list[tuple[str, str]]) -> str:
    """What stands for a collection of named values as text."""
    return "\n".join(f"{name}: {text}" for name, text in sorted(pairs))


def named(uuid: str, name: str) -> XObject:
    """A reference as a value; its name stands for it."""
    return XObject({"uuid": uuid, "name": name}, default=name)
