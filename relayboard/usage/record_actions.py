"""The actions that all records have, and how they name a record."""

import click

from relayboard.usage.parts import Action, Part, argument, limit, option, workspace
from relayboard.usage.people import ID, IN


def named(text: str) -> click.Option:
    return option("--name", text, required=True)


def service(choices: tuple[str, ...]) -> click.Option:
    return option("--type", "the service behind it", choices=choices, required=True)


def creation(text: str, *parts: Part, examples: tuple[str, ...]) -> Action:
    return Action("create", "records.run_create", text, workspace(), parts, examples=examples)


def listing(what: str, listed: int = 250) -> Action:
    return Action("list", "records.run_list", what, workspace(), limit(listed), examples=(IN,))


NAMED = ("group", "label", "topic", "optin", "ticketer", "classifier", "template", "campaign", "flow")


def record(noun: str, key: str) -> click.Argument:
    if noun in NAMED:
        return argument(key, f"the UUID or the name of the {noun}", metavar=noun.upper())
    return argument(key, f"the {noun}, as `relayboard {noun} list` names it", metavar=key.upper())


def showing(noun: str, key: str = "uuid", example: str = ID) -> Action:
    return Action(
        "show", "records.run_show", f"one {noun}", workspace(), record(noun, key), examples=(f"{IN} {example}",)
    )


def renaming(noun: str) -> Action:
    return Action(
        "change",
        "records.run_change",
        f"rename a {noun}",
        workspace(),
        record(noun, "uuid"),
        named("the new name"),
        examples=(f"{IN} {ID} --name Others", f"{IN} Neighbors --name Others"),
    )


def deletion(noun: str, what: str, key: str = "uuid", example: str = ID) -> Action:
    return Action(
        "delete",
        "records.run_delete",
        f"delete a {noun}",
        workspace(),
        record(noun, key),
        destroys=f"the {noun} {{{key}}} is deleted{what}, which cannot be undone",
        examples=(f"{IN} {example} --yes",),
    )
