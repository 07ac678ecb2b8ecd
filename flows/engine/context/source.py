"""The sources of the expression context."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flows.definition import Node
from flows.engine.assets import Assets
from flows.engine.contact import Contact
from flows.engine.options import Options
from flows.engine.state import Run, Session
from flows.environment import Environment
from flows.expressions.values import Deprecated, Property, Value, XObject


@dataclass(slots=True)
class ContactSource:
    """A contact, with what decides how it is shown."""

    contact: Contact
    assets: Assets
    environment: Environment
    is_early: bool


@dataclass(slots=True)
class ContextSource:
    """A run and its current node. `read_webhook` returns the last call, possibly with more than is stored."""

    session: Session
    run: Run
    node: Node | None
    assets: Assets
    environment: Environment
    options: Options
    resume: Mapping[str, Any] | None
    read_webhook: Callable[[], Value]
    own_contact: ContactSource = field(init=False)

    def __post_init__(self) -> None:
        self.own_contact = self.show_contact(self.session.contact)

    def show_contact(self, contact: Contact) -> ContactSource:
        """A contact in the form that is shown."""
        return ContactSource(contact, self.assets, self.environment, self.options.is_early)

    def deprecated(self, value: Value, path: str, instead: str) -> Property:
        """A deprecated property, which later generations warn about."""
        if self.options.is_early:
            return value
        return Deprecated(value, f"@{path} is deprecated, use @{instead} instead")


def lines(pairs: list[tuple[str, str]]) -> str:
    """The text of a collection of named values."""
    return "\n".join(f"{name}: {text}" for name, text in sorted(pairs))


def named(uuid: str, name: str) -> XObject:
    """A reference as a value; as text its name."""
    return XObject({"uuid": uuid, "name": name}, default=name)
